// local/cluster/objects/owned_tasks.h — posts tasks that are dropped once their owner is gone.
//
// Threads: any, while the owner lives; the tasks run on the executor.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/executor.h"

namespace berth::local::cluster {

class OwnedTasks {
 public:
  // `owner`: a token of the owner, which must drop it in a task of the executor, or while no task
  // runs.
  OwnedTasks(Executor& executor, std::weak_ptr<bool> owner)
      : executor_(executor), owner_(std::move(owner)) {}

  void Post(std::function<void()> task) const { PostAfter(Duration::zero(), std::move(task)); }
  void PostAfter(Duration delay, std::function<void()> task) const {
    executor_.PostAfter(delay, [task = std::move(task), owner = owner_] {
      if (!owner.expired()) task();
    });
  }

 private:
  Executor& executor_;
  const std::weak_ptr<bool> owner_;
};

}  // namespace berth::local::cluster
