// local/cluster/policies/quota_controller.h — counts the objects that ResourceQuotas limit, and
// gives back the amounts of objects that are deleted or have ended.
//
// The API adds new objects to status.used in the transaction that stores them
// (registry/quota_charges.h). This controller counts all objects again: when a quota is created or
// changes, and when one of its objects is deleted or a pod ends. If a new object was counted
// meanwhile, the API refuses the write by the resourceVersion, and the count is made again. All
// kinds are watched from the first quota on.
//
// Threads: as ObjectCache.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/executor.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

class QuotaController {
 public:
  // Registers its listeners; call before the cache tracks pods and ResourceQuotas.
  QuotaController(WholeApi& api, ObjectCache& cache, Executor& executor, const Clock& clock);
  QuotaController(const QuotaController&) = delete;
  QuotaController& operator=(const QuotaController&) = delete;

  // Reconciles all present quotas. Call after the cache is filled.
  void Start();

 private:
  struct Inbox {
    std::mutex mutex;
    std::set<std::string> namespaces;  // namespaces in which an object was deleted
    bool drain_is_posted = false;
  };

  void OnPod(const ObjectChange& change);
  void WatchDeletions();
  void Drain();
  void AddQuotasOf(const std::string& namespace_name);
  Result<NextLook> Look(const ObjectKey& key);
  // The amounts that exist, by the names of spec.hard.
  ApiResult<Json> Count(const Json& quota);

  WholeApi& api_;
  ObjectCache& cache_;
  Executor& executor_;
  Writer writer_;
  FunctionController quotas_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<WatchHandle> deletions_;  // null: there was no quota yet
};

}  // namespace berth::local::cluster
