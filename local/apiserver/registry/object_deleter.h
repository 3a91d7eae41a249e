// local/apiserver/registry/object_deleter.h — DELETE of one object and of a collection, and the end
// of a CustomResourceDefinition with its instances.
//
//   stored object → preconditions → validating admission → strategy
//                 → deletionTimestamp, finalizers of the propagation policy → commit
//
// An object without finalizers and grace period is removed at once; another object stays, with a
// deletionTimestamp, until an update removes its last finalizer or a deletion without a grace
// period follows. A CRD stays until its last instance is gone.
//
// Threads: any; blocks until the disk has the deletion, and on webhooks.
// Errors: 404, 405, 409 Conflict for a precondition, 403, 422, and those of admission.
// Source: k8s.io/apiserver registry/generic (store.go, Delete), restated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/catalog.h"
#include "local/apiserver/registry/object_updater.h"
#include "local/apiserver/registry/read_query.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/write_stages.h"

namespace berth::local {

class ObjectDeleter {
 public:
  ObjectDeleter(const WriteStages& stages, const Catalog& catalog, ObjectUpdater& updater)
      : stages_(stages), catalog_(catalog), updater_(updater) {}

  ApiResult<DeleteResult> Delete(RequestContext& context, const DeleteOptions& options);
  // Returns the deleted objects. The first refusal other than NotFound ends the deletion.
  ApiResult<std::vector<Object>> DeleteCollection(RequestContext& context, const ReadQuery& query,
                                                  const DeleteOptions& options);
  // Removes the finalizer of a CRD that is being deleted and has no instances left.
  void FinishCrdDeletion(const std::string& crd_name);

 private:
  // nullopt: another client wrote in between; retry on the newer state.
  std::optional<ApiResult<DeleteResult>> DeleteOnce(RequestContext& context,
                                                    const DeleteOptions& options);
  void DeleteInstances(RequestContext& context, const Json& crd);

  const WriteStages stages_;
  const Catalog& catalog_;
  ObjectUpdater& updater_;
};

}  // namespace berth::local
