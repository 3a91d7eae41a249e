// kube/runtime/controller.h — runs a Reconciler for the keys of a work queue, a limited number at
// once.
//
// Threads: one Executor. Destroy it there; running reconciles are dropped then.
#pragma once

#include <memory>
#include <vector>

#include "base/executor.h"
#include "kube/runtime/reconciler.h"
#include "kube/runtime/sweep.h"
#include "kube/runtime/work_queue.h"

namespace berth::kube {

struct ControllerOptions {
  bool enabled = true;  // false: the controller never starts and accepts no key
  std::size_t max_concurrent = 1;
  // The longest timer for a later reconcile: timers cannot be cancelled, and the reconciler's clock
  // may jump.
  Duration longest_sleep = std::chrono::minutes(10);
  // The number of reconciles in one task of the Executor; then its other tasks have their turn. Set
  // 1 if reconciles block.
  int looks_in_a_row = 256;
  // After a reconcile its object rests for the time that the reconcile took, at most a second, so
  // that one reconcile sees several changes. Null: no rest. The clock must outlive the Controller.
  const Clock* rest_clock = nullptr;
  ControllerStats* stats = nullptr;  // null: nothing is counted; must outlive the Controller
  WorkQueueOptions queue;
};

class Controller {
 public:
  Controller(Executor& executor, Reconciler& reconciler, ControllerOptions options);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Reconciles every key of `sweep` after each start; added keys have their turns in between. A key
  // that Add left to the sweep is not reconciled if its object goes before the sweep reaches the
  // key. If the Reconciler has work for deleted objects, a handler must Add the key on deletion
  // (the sweep does not cover the key of a deleted object, so the key enters the queue).
  void AddSweep(Sweep sweep);
  // May be called before Start and after Stop; the key waits for the next Start. A key that a sweep
  // covers is left to the sweep.
  void Add(const api::ObjectKey& key);
  void AddAfter(const api::ObjectKey& key, Duration delay) { queue_.AddAfter(key, delay); }

  void Start();
  void Stop() { running_ = false; }  // takes no further key

  std::size_t in_flight() const { return in_flight_; }
  bool idle() const {
    return in_flight_ == 0 && queue_.waiting() == 0 && sweeps_done_ == sweeps_.size();
  }
  Reconciler& reconciler() { return reconciler_; }

 private:
  class OpenLook;

  void WakeUp();
  void Run();
  void Look(const api::ObjectKey& key);
  enum class Left { kNone, kSome };
  Left SweepOn();  // one step of the sweep
  void Finish(const api::ObjectKey& key, SteadyTime begin, const Result<NextLook>& result);
  SteadyTime Now() const;  // for rests and stats; a fixed instant without both

  Executor& executor_;
  Reconciler& reconciler_;
  ControllerOptions options_;
  bool running_ = false;
  bool woken_ = false;
  std::size_t in_flight_ = 0;
  std::vector<Sweep> sweeps_;  // run one after the other
  std::size_t sweeps_done_ = 0;
  api::ObjectKey place_;  // position of the running sweep
  std::shared_ptr<Controller*> self_;
  WorkQueue queue_;
};

}  // namespace berth::kube
