// local/apiserver/store/watch_cache.h — all objects in memory, and the latest changes of each
// resource.
//
//   Publish ─▶ objects (newest state) ─▶ Get, List
//        └──▶ window per resource ─────▶ EventsAfter (each watcher keeps its own position)
//
// A watcher is a position in the window: a slow watcher costs no memory of its own; its position
// expires when the window moves past it.
//
// Threads: every function may be called from any thread; Publish by one thread at a time.
// Units: revisions are the store's global counter; sizes are bytes of JSON text.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/store/stored_object.h"

namespace berth::local {

struct StoreEvent {
  WatchEvent::Type type = WatchEvent::Type::kAdded;
  std::int64_t revision = 0;
  WallTime time;       // when it was written
  StoredPtr object;    // kDeleted: the last state, with the deletion's revision
  StoredPtr previous;  // null for kAdded, and if unknown
};
using EventPtr = std::shared_ptr<const StoreEvent>;

// Limits of one resource. Changes younger than `keep_for` are kept beyond the first two limits, up
// to kYoungFactor times as much.
struct WindowLimits {
  static constexpr std::size_t kYoungFactor = 8;
  std::size_t max_events = 10'000;
  std::size_t max_bytes = 16 * 1024 * 1024;
  Duration keep_for{};
};

class WatchCache {
 public:
  struct Snapshot {
    std::vector<StoredPtr> objects;  // by namespace, then name
    std::int64_t revision = 0;       // revision of the state
  };
  // A part of a list.
  struct Range {
    std::string_view namespace_name;            // empty: all namespaces
    std::pair<std::string, std::string> after;  // namespace and name; empty: all
    std::size_t most = 0;                       // objects; 0: all
  };
  struct Part {
    enum class State { kOk, kExpired };
    State state = State::kOk;
    std::int64_t revision = 0;  // the revision of the state
    std::vector<StoredPtr> objects;
    std::size_t more = 0;  // objects of the range behind `objects`
  };
  struct Changes {
    enum class State { kOk, kExpired };
    State state = State::kOk;
    std::vector<EventPtr> events;
    std::int64_t through = 0;  // the resource has no other change up to this revision
  };

  explicit WatchCache(WindowLimits limits) : limits_(limits) {}

  // Sets the initial state: `revision` is the newest, watches below `floor` expire. For resources
  // that are not logged (`unlogged`) watches below `revision` expire.
  void Reset(std::vector<StoredPtr> objects, const std::vector<EventPtr>& log,
             std::int64_t revision, std::int64_t floor,
             const std::vector<std::string>& unlogged = {});
  // Makes `events`, in the order of revisions, visible at once.
  void Publish(const std::vector<EventPtr>& events);

  StoredPtr Get(const ObjectKey& key) const;
  // An empty namespace lists all namespaces.
  Snapshot List(std::string_view resource, std::string_view namespace_name) const;
  // The objects of the range as they were at `revision`: present ones, with later changes undone. A
  // negative revision is the present one. kExpired: the window lacks a later change. The time grows
  // with the sizes of the range and of the window.
  Part ListAt(std::string_view resource, const Range& range, std::int64_t revision) const;
  // Returns at most `max_events` changes of `resource` after `revision`.
  Changes EventsAfter(std::string_view resource, std::int64_t revision,
                      std::size_t max_events) const;
  std::int64_t revision() const;
  // Frees the parsed form of every object.
  void DropParsed() const;
  // Every object, by resource.
  Snapshot ListEverything() const;
  // The number of objects by resource; one whose last object is gone is listed with zero.
  std::map<std::string, std::size_t> Counts() const;

 private:
  using ObjectMap = std::map<std::pair<std::string, std::string>, StoredPtr>;  // namespace, name
  struct Resource {
    ObjectMap objects;
    std::deque<EventPtr> window;
    std::size_t window_bytes = 0;
    std::int64_t floor = 0;  // the window has every change after this revision
  };

  void Append(Resource& resource, const EventPtr& event);
  bool MustShrink(const Resource& resource) const;
  Resource& ResourceOf(const std::string& name);

  const WindowLimits limits_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, Resource, std::less<>> resources_;
  std::int64_t revision_ = 1;
  std::int64_t start_floor_ = 1;
};

}  // namespace berth::local
