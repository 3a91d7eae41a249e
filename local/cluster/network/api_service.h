// local/cluster/network/api_service.h — the Service `kubernetes` in the namespace default, by which
// programs of pods find the API as https://kubernetes.default.svc.
//
//     Service kubernetes:443 ──▶ Endpoints and EndpointSlice: the API's own address and port
//
// The objects are made again when they are deleted, and follow the API's port.
//
// Threads: as ObjectCache.
// Source: Kubernetes, the apiserver's controller of the Service kubernetes.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/network/service_plan.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

inline constexpr char kApiNamespace[] = "default";
inline constexpr char kApiService[] = "kubernetes";

// The address of IPv4 in the API's URL that connections of this machine take; nullopt: there is
// none.
std::optional<ServiceBackend> ApiBackend(const std::string& url);

// Whether this process may listen on port 443 in the network (a LoopbackNetwork's prefix).
bool MayServeHttps(const std::string& network);

class ApiService {
 public:
  // Registers its listeners; call before the cache tracks Services, Endpoints and EndpointSlices.
  ApiService(Api& api, ObjectCache& cache, Executor& executor, const Clock& clock,
             ServiceBackend backend);
  ApiService(const ApiService&) = delete;
  ApiService& operator=(const ApiService&) = delete;

  // Call after the cache is filled.
  void Start();

 private:
  Result<NextLook> Look();
  Status Keep(const ResourceId& resource, const Json& object);

  ObjectCache& cache_;
  Writer writer_;
  const ServiceBackend backend_;
  FunctionController looks_;
};

}  // namespace berth::local::cluster
