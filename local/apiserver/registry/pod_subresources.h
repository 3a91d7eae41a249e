// local/apiserver/registry/pod_subresources.h — POST to pods/binding and pods/eviction.
//
//   eviction: PodDisruptionBudgets → condition DisruptionTarget → deletion
//
// Threads: any; may block (webhooks, the disk).
// Errors: 404, 409 for a pod that has a node, 429 for a budget that allows no disruption, and those
// of object_updater.h and object_deleter.h.
// Source: Kubernetes "API-initiated Eviction"; k8s.io/kubernetes pkg/registry/core/pod, restated.
#pragma once

#include <optional>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/object_deleter.h"
#include "local/apiserver/registry/object_updater.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/write_stages.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

class PodSubresources {
 public:
  // `store`: the store of `stages`; the statuses of budgets are written to it directly.
  PodSubresources(Store& store, const WriteStages& stages, ObjectUpdater& updater,
                  ObjectDeleter& deleter)
      : store_(store), stages_(stages), updater_(updater), deleter_(deleter) {}

  ApiResult<Json> Bind(RequestContext& context, const Json& binding);
  ApiResult<Json> Evict(RequestContext& context, const Json& eviction);

 private:
  // nullopt: the budget, if any, allows the eviction and has counted it.
  std::optional<ApiError> SpendBudget(const RequestContext& context, const Json& pod);

  Store& store_;
  const WriteStages stages_;
  ObjectUpdater& updater_;
  ObjectDeleter& deleter_;
};

}  // namespace berth::local
