#include "local/apiserver/registry/watch_hub.h"

#include <utility>

#include "base/threads/guarded.h"

namespace berth::local {

namespace {

constexpr std::size_t kMaxQueued = 65'536;  // then writers wait for watchers
constexpr std::size_t kStatePiece = 256;    // objects of states that are told at a time

}  // namespace

class WatchHub::Handle final : public WatchHandle {
 public:
  Handle(WatchHub& hub, int id) : hub_(hub), id_(id) {}
  ~Handle() override { hub_.Remove(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  WatchHub& hub_;
  const int id_;
};

WatchHub::WatchHub(Store& store, Executor* deliver_on) : store_(store), deliver_on_(deliver_on) {
  listener_ = store_.AddListener([this](const std::vector<EventPtr>& events) {
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [this] {
        return stopping_ || deliver_on_ != nullptr || queue_.size() < kMaxQueued;
      });
      for (const EventPtr& event : events) {
        Change change{event->object->key(), event->revision, {}};
        change.event.type = event->type;
        change.event.object = event->object->json();
        if (event->previous != nullptr) change.event.previous = event->previous->json();
        queue_.push_back(std::move(change));
      }
    }
    WakeUp();
  });
  if (deliver_on_ != nullptr) return;
  thread_ = StartThread("the thread of the watches in the process failed", [this] { Run(); });
}

WatchHub::~WatchHub() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  room_.notify_all();
  store_.RemoveListener(listener_);
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<WatchHandle> WatchHub::Add(std::string resource, WatchFrom from,
                                           Callback on_event) {
  auto watcher = std::make_shared<Watcher>();
  watcher->on_event = std::move(on_event);
  int id = 0;
  {
    // Delivered events are in the snapshot; later events wait for the lock.
    const std::lock_guard lock(delivery_mutex_);
    if (from == WatchFrom::kNow) {
      watcher->seen = store_.cache().revision();
    } else {
      WatchCache::Snapshot snapshot =
          resource.empty() ? store_.cache().ListEverything() : store_.cache().List(resource, "");
      watcher->seen = snapshot.revision;
      watcher->state = std::move(snapshot.objects);
      watcher->whole = from == WatchFrom::kState;
    }
    watcher->resource = std::move(resource);
    id = next_id_++;
    watchers_[id] = std::move(watcher);
  }
  {
    const std::lock_guard lock(mutex_);
    new_watchers_ = true;
  }
  WakeUp();
  return std::make_unique<Handle>(*this, id);
}

void WatchHub::Remove(int id) {
  // Recursive: a callback may end its own watch.
  const std::lock_guard lock(delivery_mutex_);
  watchers_.erase(id);
}

void WatchHub::WakeUp() {
  if (deliver_on_ == nullptr) return work_.notify_one();
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(run_is_posted_, true)) return;
  }
  deliver_on_->Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) RunOnce();
  });
}

void WatchHub::Run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return stopping_ || new_watchers_ || !queue_.empty(); });
      if (stopping_) return;
    }
    RunOnce();
  }
}

void WatchHub::RunOnce() {
  bool start = false;
  std::deque<Change> changes;
  {
    const std::lock_guard lock(mutex_);
    run_is_posted_ = false;
    start = std::exchange(new_watchers_, false);
    changes.swap(queue_);
  }
  room_.notify_all();
  const bool all_started = !start || StartNew();
  for (const Change& change : changes) Deliver(change);
  if (all_started) return;
  {
    const std::lock_guard lock(mutex_);
    new_watchers_ = true;
  }
  WakeUp();
}

// On the hub's thread a callback that throws misses what it was told, and the others go on.
void WatchHub::Tell(const Watcher& watcher, const Change& change) {
  if (deliver_on_ != nullptr) return watcher.on_event(change.key, change.event);
  RunGuarded("a watch in the process failed", [&] { watcher.on_event(change.key, change.event); });
}

// Whether every watcher has started.
bool WatchHub::StartNew() {
  const std::lock_guard lock(delivery_mutex_);
  std::vector<int> ids;
  for (const auto& [id, watcher] : watchers_) {
    if (!watcher->started) ids.push_back(id);
  }
  std::size_t most = kStatePiece;
  for (const int id : ids) {
    const auto it = watchers_.find(id);
    if (it == watchers_.end()) continue;
    const std::shared_ptr<Watcher> watcher = it->second;  // callbacks may end watches
    if (!TellState(id, *watcher, most)) return false;
    watcher->started = true;
    for (const Change& change : std::exchange(watcher->early, {})) {
      if (watchers_.contains(id)) Tell(*watcher, change);
    }
  }
  return true;
}

// Tells at most `most` objects, and takes them off. Whether the whole state is told.
bool WatchHub::TellState(int id, Watcher& watcher, std::size_t& most) {
  while (watcher.told < watcher.state.size()) {
    if (!watchers_.contains(id)) return true;
    if (most == 0) return false;
    --most;
    const StoredPtr object = std::move(watcher.state[watcher.told++]);
    Change change{object->key(), object->revision(), {}};
    change.event.object = object->ReadOnce(watcher.whole ? StoredObject::Part::kWhole
                                                         : StoredObject::Part::kMetadata);
    if (change.event.object != nullptr) Tell(watcher, change);
  }
  watcher.state = {};
  return true;
}

void WatchHub::Deliver(const Change& change) {
  const std::lock_guard lock(delivery_mutex_);
  // A copy: callbacks may end watches.
  const std::map<int, std::shared_ptr<Watcher>> watchers = watchers_;
  for (const auto& [id, watcher] : watchers) {
    if (!watchers_.contains(id) || change.revision <= watcher->seen) continue;
    if (!watcher->resource.empty() && watcher->resource != change.key.resource) continue;
    if (!watcher->started) {
      watcher->early.push_back(change);
      continue;
    }
    Tell(*watcher, change);
  }
}

}  // namespace berth::local
