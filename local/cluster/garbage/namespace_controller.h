// local/cluster/garbage/namespace_controller.h — empties a namespace that is being deleted, kind by
// kind, then finalizes it.
//
// Threads: as ObjectCache.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

// The content of a namespace after one round of deletions.
struct NamespaceRemains {
  std::map<std::string, std::int64_t> count_by_resource;  // "jobs.batch" → 2
  std::map<std::string, std::int64_t> count_by_finalizer;
  std::string failure;  // the first deletion that was refused
};

// The namespace's conditions, in the words of Kubernetes' controller. Pure.
void SetNamespaceConditions(Json& status, const NamespaceRemains& remains, WallTime now);

class NamespaceController {
 public:
  // Registers its listener; call before the cache tracks namespaces.
  NamespaceController(WholeApi& api, ObjectCache& cache, Executor& executor, const Clock& clock);
  NamespaceController(const NamespaceController&) = delete;
  NamespaceController& operator=(const NamespaceController&) = delete;

  void Start();

 private:
  Result<NextLook> Look(const ObjectKey& key);
  Result<NamespaceRemains> Empty(const std::string& namespace_name);
  // Deletes the objects of one kind, and counts those that remain.
  Status EmptyOf(const ResourceId& kind, const std::string& namespace_name,
                 NamespaceRemains& remains);

  WholeApi& api_;
  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  FunctionController namespaces_;
};

}  // namespace berth::local::cluster
