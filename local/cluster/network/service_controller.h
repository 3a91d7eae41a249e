// local/cluster/network/service_controller.h — watches Services and pods; writes Endpoints and
// EndpointSlices, and gives routes and names to the PodNetwork.
//
// Threads: as ObjectCache.
#pragma once

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/network/pod_network.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

class ServiceController {
 public:
  // Registers its indexes and listeners; call before the cache tracks pods, Services, Endpoints and
  // EndpointSlices. `network` may be null: then only objects are written.
  ServiceController(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                    const Clock& clock, PodNetwork* network);
  ServiceController(const ServiceController&) = delete;
  ServiceController& operator=(const ServiceController&) = delete;

  // Reconciles all present Services. Call after the cache is filled.
  void Start();

 private:
  void OnPod(const ObjectChange& change);
  Result<NextLook> Look(const ObjectKey& key);
  Status WriteEndpoints(const Json& service, const Json& subsets);
  Status WriteSlices(const Json& service, const Json& subsets);
  Status WriteObject(const ResourceId& resource, const Json& object);
  Status WriteIngress(const Json& service);

  ObjectCache& cache_;
  Writer writer_;
  ObjectEvents events_;
  PodNetwork* network_;
  FunctionController services_;
};

}  // namespace berth::local::cluster
