// kube/runtime/extension_api.h — an API group that a controller program serves behind the
// aggregation layer of kube-apiserver: its resources, its discovery documents, its requests.
//
//     GET /apis, /apis/GROUP, /apis/GROUP/VERSION, /openapi/…   ─▶ documents
//     GET /apis/GROUP/VERSION/[namespaces/NS/]RESOURCE/NAME/SUBRESOURCE ─▶ Read
//
// Resources have one readable subresource each and nothing else.
//
// Threads: immutable; any thread. Errors: a Status in the answer (400, 404, 405).
// Source: Kubernetes aggregation layer, aggregated discovery (apidiscovery.k8s.io), OpenAPI.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "net/http.h"

namespace berth::kube {

struct ExtensionResource {
  std::string name;      // "clusterqueues"
  std::string singular;  // "clusterqueue"
  std::string kind;
  bool namespaced = false;
  std::string subresource;       // "pendingworkloads"
  std::string subresource_kind;  // the kind of its answers
};

struct ExtensionGroup {
  std::string name;
  std::vector<std::string> versions;  // the preferred one first
  std::vector<ExtensionResource> resources;
};

// A GET of a subresource.
struct ExtensionRequest {
  std::string version;
  std::string namespace_name;
  std::string resource;
  std::string name;
  std::string subresource;
  std::map<std::string, std::string> query;
};

class ExtensionApi {
 public:
  // Makes the answer; takes time, and may run on any thread.
  using Answer = std::function<net::Response()>;
  // Must not block; `done` may come on any thread.
  using Read =
      std::function<void(const ExtensionRequest& request, std::function<void(Answer)> done)>;

  ExtensionApi(ExtensionGroup group, Read read);

  const ExtensionGroup& group() const { return group_; }
  // Exactly one member is set: an answer that contains no secrets (documents, errors), or a request
  // for Read.
  struct Route {
    std::optional<net::Response> answer;
    std::optional<ExtensionRequest> request;
  };
  Route RouteOf(const net::Request& request) const;
  void Handle(const ExtensionRequest& request, std::function<void(Answer)> done) const {
    read_(request, std::move(done));
  }

 private:
  std::optional<net::Response> DocumentFor(const std::string& path, std::string_view accept) const;

  ExtensionGroup group_;
  Read read_;
};

// A Status of Kubernetes as an answer. `reason`: "NotFound".
net::Response StatusAnswer(int code, const std::string& reason, const std::string& message);

}  // namespace berth::kube
