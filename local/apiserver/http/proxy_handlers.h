// local/apiserver/http/proxy_handlers.h — pods/proxy and services/proxy: passes an HTTP request on
// to a program of a pod, and its answer back.
//
//     /api/v1/namespaces/NS/pods/[http:]NAME[:PORT]/proxy/PATH?QUERY
//         ──▶ http://pod:PORT/PATH?QUERY
//     /api/v1/namespaces/NS/services/[http:]NAME[:PORT]/proxy/PATH
//         ──▶ the same path of a ready pod of the Service
//
// PodStreams gives the address of a program of the pod, so that only programs of pods are reached;
// an endpoint that is no pod is refused. The caller needs the right to the method's verb on
// pods/proxy or services/proxy. The token and the impersonation of the caller are not passed on.
// Bodies are read whole, within AnswerLimits; upgrades and HTTPS are refused.
//
// Threads: Handle on any worker thread.
// Source: k8s.io/kubernetes pkg/registry/core/{pod,service}, apimachinery pkg/util/proxy.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "local/apiserver/http/exchange.h"
#include "local/apiserver/http/passed_calls.h"
#include "local/apiserver/pod_streams.h"
#include "local/apiserver/registry/registry.h"
#include "net/io_pool.h"

namespace berth::local {

// "http:web:80" of a path; `port` may be a name.
struct ProxyName {
  std::string scheme;  // "", "http" or "https"
  std::string name;
  std::string port;
};
// nullopt: the text has another form.
std::optional<ProxyName> ParseProxyName(std::string_view text);

// The part of a request target behind …/NAME/proxy, as on the wire, from its slash or '?' on; "" if
// there is none.
std::string_view ProxyRest(std::string_view target);

class ProxyHandlers {
 public:
  explicit ProxyHandlers(Registry& registry);
  ~ProxyHandlers();
  ProxyHandlers(const ProxyHandlers&) = delete;
  ProxyHandlers& operator=(const ProxyHandlers&) = delete;

  static bool Serves(const std::string& subresource) { return subresource == "proxy"; }
  // `streams`: null if no component runs pods.
  void Handle(Exchange& exchange, RequestContext& context, std::shared_ptr<PodStreams> streams,
              net::IoPool* pool);

 private:
  struct Endpoint {
    PodPlace place;
    std::uint16_t port = 0;
  };
  ApiResult<Endpoint> PodEndpoint(const RequestContext& context, const ProxyName& name);
  ApiResult<Endpoint> ServiceEndpoint(const RequestContext& context, const ProxyName& name);
  ApiResult<Object> Find(const RequestContext& context, const ResourceId& resource,
                         const std::string& name);

  Registry& registry_;
  const std::shared_ptr<PassedCalls> calls_;
};

}  // namespace berth::local
