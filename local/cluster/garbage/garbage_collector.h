// local/cluster/garbage/garbage_collector.h — deletes objects whose owners are gone; completes
// foreground and orphaning deletions. For every kind, custom ones included.
//
// Keeps a graph of owners and dependents, by uid, from a watch of everything but events. An owner
// that the graph lacks is requested from the API before any deletion.
//
// Threads: as ObjectCache.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/garbage/garbage_plan.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

class GarbageCollector {
 public:
  GarbageCollector(WholeApi& api, ObjectCache& cache, Executor& executor, const Clock& clock);
  GarbageCollector(const GarbageCollector&) = delete;
  GarbageCollector& operator=(const GarbageCollector&) = delete;

  void Start();

 private:
  // The graph's record of an object; the object itself is read when there is work to do.
  struct Member {
    ResourceId resource;
    ObjectKey key;
    bool waits_for_dependents = false;            // foreground deletion is under way
    std::map<std::string, bool> blocks_by_owner;  // by owner's uid: blockOwnerDeletion
  };
  // What the graph needs of a change. The object may be large, and many may wait.
  struct News {
    std::string uid;
    bool is_gone = false;
    bool finishes = false;  // a foreground or orphaning deletion is under way
    Member member;          // set unless is_gone
  };
  struct Inbox {
    std::mutex mutex;
    std::vector<News> news;
    bool drain_is_posted = false;
  };

  void Drain();
  static News NewsOf(const ResourceId& resource, const WatchEvent& event);
  void Handle(News news);
  void Remember(const std::string& uid, Member next);
  void Forget(const std::string& uid);
  void QueueDependents(const std::string& uid);
  Result<NextLook> Look(const std::string& uid);
  bool IsInCircle(const std::string& uid) const;
  Result<NextLook> LookAtOwners(const ResourceId& resource, const Json& object);
  Result<OwnerState> StateOf(const Json& object, const Json& owner);
  Result<NextLook> FinishForeground(const ResourceId& resource, const Json& object);
  Result<NextLook> FinishOrphaning(const ResourceId& resource, const Json& object);
  Status TakeFinalizer(const ResourceId& resource, const Json& object, const char* finalizer);

  WholeApi& api_;
  Executor& executor_;
  Writer writer_;
  FunctionController members_;  // keys are uids
  std::map<std::string, Member> member_by_uid_;
  std::map<std::string, std::set<std::string>> dependents_by_owner_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<WatchHandle> watch_;
};

}  // namespace berth::local::cluster
