// local/cluster/objects/object_cache.h — the controllers' copy of the API: the newest known state
// of each tracked kind, with indexes. Objects are in the store of informers
// (kube/client/object_store.h), as the JSON of the API's own cache, so that they take no further
// memory.
//
//     Api ──watch (its thread)──▶ inbox ──(executor)──▶ cache ──▶ listeners, which only queue keys
//      ▲                                                  ▲
//      └──────────────── Writer ──── results of writes ───┘
//
// A controller reads its own writes at once: the Writer puts the API's answer into the cache, which
// drops older watch events of the object. So no controller needs "expectations".
//
// Threads: tasks of one Executor (and code before its first task); watch callbacks only fill the
// inbox. Destroy it when the executor has stopped, or in one of its tasks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/executor.h"
#include "kube/client/object_store.h"
#include "local/apiserver/api.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {

// `previous` is null for a new object, `current` for a deleted one.
struct ObjectChange {
  const ResourceId& resource;
  Object previous;
  Object current;
  const Json& any() const { return current ? *current : *previous; }
};

class ObjectCache {
 public:
  using Listener = std::function<void(const ObjectChange&)>;
  using IndexFunction = std::function<std::vector<std::string>(const Json&)>;

  ObjectCache(Api& api, Executor& executor);
  ~ObjectCache();
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // Lists and watches `resource`; on return the cache has all its objects. A second call does
  // nothing. Errors: those of the list; then nothing is tracked, and the call can be repeated.
  ApiResult<bool> Track(const ResourceId& resource);
  // Listeners hear of later changes of `resource`; the cache keeps no objects of it.
  void Follow(const ResourceId& resource);
  bool tracks(const ResourceId& resource) const;

  // Calls `listener` for every later change. Listeners must not change the cache.
  void Listen(const ResourceId& resource, Listener listener);
  // `values` returns the index values of an object.
  void AddIndex(const ResourceId& resource, const std::string& index, IndexFunction values);

  Object Get(const ResourceId& resource, const ObjectKey& key) const;  // null if there is none
  // The objects in the order of keys.
  std::vector<Object> All(const ResourceId& resource) const;
  std::vector<Object> ByIndex(const ResourceId& resource, const std::string& index,
                              const std::string& value) const;

  // For the Writer: stores the result of a write.
  void Put(const ResourceId& resource, Object object);
  void Remove(const ResourceId& resource, const ObjectKey& key, const std::string& uid);

 private:
  struct Cached {
    ObjectKey meta;
    std::int64_t version = 0;
    Object object;
  };
  struct Kind {
    kube::ObjectStore<Cached> store;
    std::vector<Listener> listeners;
    std::set<std::string> removed_uids;  // deleted by the Writer; their late events are dropped
    std::int64_t listed_at = 0;          // the list has events up to this resourceVersion
    bool keeps_objects = false;
    std::unique_ptr<WatchHandle> watch;
  };
  struct Inbox {
    std::mutex mutex;
    std::vector<std::pair<ResourceId, WatchEvent>> events;
    bool drain_is_posted = false;
  };

  std::unique_ptr<WatchHandle> WatchChanges(const ResourceId& resource);
  void Drain();
  void Handle(const ResourceId& resource, const WatchEvent& event);
  static void Store(const ResourceId& resource, Kind& kind, const Object& object);
  static void Drop(const ResourceId& resource, Kind& kind, const ObjectKey& key);

  Api& api_;
  Executor& executor_;
  std::map<ResourceId, Kind> kinds_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::local::cluster
