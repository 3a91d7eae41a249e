// local/apiserver/http/resource_handlers.h — handles verbs on resources over HTTP: decodes the
// request, calls the registry, encodes the result.
//
// Threads: Handle may be called on any worker thread; it may block.
#pragma once

#include "local/apiserver/auth/authenticator.h"
#include "local/apiserver/http/exchange.h"
#include "local/apiserver/http/proxy_handlers.h"
#include "local/apiserver/http/stream_handlers.h"
#include "local/apiserver/http/watch_manager.h"
#include "local/apiserver/log_source.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {

inline constexpr int kOk = 200;
inline constexpr int kCreated = 201;

class ResourceHandlers {
 public:
  // `logs`: null where no component runs pods; …/log then answers 503.
  ResourceHandlers(Registry& registry, WatchManager& watches, const Authenticator& authenticator,
                   LogSource* logs)
      : registry_(registry),
        watches_(watches),
        authenticator_(authenticator),
        logs_(logs),
        streams_(registry),
        proxies_(registry) {}

  void Handle(Exchange& exchange, const ApiPath& path);
  StreamHandlers& streams() { return streams_; }

 private:
  void HandleCollection(Exchange& exchange, RequestContext& context);
  void HandleObject(Exchange& exchange, RequestContext& context);
  void HandleSubresource(Exchange& exchange, RequestContext& context);
  void HandleScale(Exchange& exchange, RequestContext& context);

  void Get(Exchange& exchange, RequestContext& context);
  void List(Exchange& exchange, RequestContext& context);
  void Watch(Exchange& exchange, RequestContext& context);
  void Create(Exchange& exchange, RequestContext& context);
  void Update(Exchange& exchange, RequestContext& context);
  void Patch(Exchange& exchange, RequestContext& context);
  void Delete(Exchange& exchange, RequestContext& context);
  void DeleteCollection(Exchange& exchange, RequestContext& context);
  void PostSubresource(Exchange& exchange, RequestContext& context);
  void ReadLog(Exchange& exchange, RequestContext& context);
  void FollowLog(Exchange& exchange, const LogRequest& request);

  void SendWritten(Exchange& exchange, const RequestContext& context, const WriteResult& result);

  Registry& registry_;
  WatchManager& watches_;
  const Authenticator& authenticator_;  // for TokenReviews
  LogSource* logs_;
  StreamHandlers streams_;
  ProxyHandlers proxies_;
};

}  // namespace berth::local
