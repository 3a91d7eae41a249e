// local/apiserver/registry/watch_hub.h — delivers changes of the store to in-process callbacks, on
// one thread, without a gap.
//
//   store writer ─▶ queue ─▶ hub thread ─▶ callbacks (each skips what its snapshot already had)
//                        └─▶ tasks of an Executor, where one is given (virtual time)
//
// Threads: Add may be called from any thread; callbacks run on the hub's thread or as tasks of the
// Executor. A watcher's destructor waits for a running callback, unless that callback is its
// caller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/executor.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

class WatchHub {
 public:
  using Callback = std::function<void(const ObjectKey& key, const WatchEvent& event)>;

  // Null `deliver_on`: the hub has a thread of its own. An Executor must outlive the hub; destroy
  // the hub in one of its tasks, or while none runs. Writers never wait for watchers.
  explicit WatchHub(Store& store, Executor* deliver_on = nullptr);
  ~WatchHub();
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  // Delivers the state and the changes of `resource` (empty: of every resource). A state is told
  // in pieces, between which other watchers are told their changes.
  std::unique_ptr<WatchHandle> Add(std::string resource, WatchFrom from, Callback on_event);

 private:
  struct Change {
    ObjectKey key;
    std::int64_t revision = 0;
    WatchEvent event;
  };
  struct Watcher {
    std::string resource;
    Callback on_event;
    std::vector<StoredPtr> state;  // is told first; parsed when it is told
    std::size_t told = 0;          // objects of the state
    bool whole = true;             // false: the metadata of the state's objects is enough
    std::vector<Change> early;     // changes that came before the whole state was told
    std::int64_t seen = 0;         // the snapshot's revision
    bool started = false;          // the state and the early changes are told
  };
  class Handle;

  void Run();
  void RunOnce();
  void WakeUp();
  void Deliver(const Change& change);
  bool StartNew();
  bool TellState(int id, Watcher& watcher, std::size_t& most);
  void Tell(const Watcher& watcher, const Change& change);
  void Remove(int id);

  Store& store_;
  Executor* const deliver_on_;
  int listener_ = 0;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable room_;
  std::deque<Change> queue_;
  bool new_watchers_ = false;
  bool stopping_ = false;
  bool run_is_posted_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::recursive_mutex delivery_mutex_;  // held while callbacks run
  std::map<int, std::shared_ptr<Watcher>> watchers_;
  int next_id_ = 1;

  std::thread thread_;
};

}  // namespace berth::local
