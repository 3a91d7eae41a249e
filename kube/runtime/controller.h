// kube/runtime/controller.h — a Reconciler, its work queue, and how many looks run at once.
//
// Threads: one Executor. Destroy it there; looks that are under way are then forgotten.
#pragma once

#include <memory>
#include <vector>

#include "base/executor.h"
#include "kube/runtime/reconciler.h"
#include "kube/runtime/sweep.h"
#include "kube/runtime/work_queue.h"

namespace berth::kube {

struct ControllerOptions {
  std::size_t max_concurrent = 1;
  // The longest backoff after a refusal (kInvalid, kForbidden): the cause, such as a right that is
  // missing, a token that has run out or another program's webhook, may go without an event.
  Duration longest_refusal_backoff = std::chrono::minutes(1);
  // A later look is taken in steps of this: timers cannot be taken back, and the clock that the
  // reconciler reckons with may jump.
  Duration longest_sleep = std::chrono::minutes(10);
  // Looks of one task; then whatever else waits for the Executor has its turn. One, where looks
  // block.
  int looks_in_a_row = 256;
  // An object rests after its look as long as the look took, at most a second: one look sees all
  // that changes meanwhile. Null: no rest. The clock outlives the Controller.
  const Clock* rest_clock = nullptr;
  WorkQueueOptions queue;
};

class Controller {
 public:
  Controller(Executor& executor, Reconciler& reconciler, ControllerOptions options);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Looks at everything that `sweep` comes to, from each start on; what is added takes its turn in
  // between. A key that Add left to the sweep and that the sweep then does not come to, since its
  // object has gone, is not looked at. Where the Reconciler has something to do for what has gone,
  // a handler must Add the key when it goes (it is covered no longer, so it waits in the queue).
  void AddSweep(Sweep sweep);
  // May be called before Start and after Stop; the keys wait for the next Start, but for those that
  // a sweep covers, which are left to it.
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
  Left SweepOn();  // one step
  void Finish(const api::ObjectKey& key, SteadyTime begin, const Result<NextLook>& result);
  SteadyTime RestTime() const;

  Executor& executor_;
  Reconciler& reconciler_;
  ControllerOptions options_;
  bool running_ = false;
  bool woken_ = false;
  std::size_t in_flight_ = 0;
  std::vector<Sweep> sweeps_;  // one after the other
  std::size_t sweeps_done_ = 0;
  api::ObjectKey place_;  // of the one under way
  std::shared_ptr<Controller*> self_;
  WorkQueue queue_;
};

}  // namespace berth::kube
