// local/cluster/looks.h — how the controllers of the local cluster look at objects: one look a task
// of the Executor, since a look may wait for the disk; an object that takes long rests as long.
#pragma once

#include "kube/runtime/function_controller.h"

namespace berth::local::cluster {

using kube::FunctionController;
using kube::LookAt;
using kube::NextLook;

inline kube::ControllerOptions LookOptions(const Clock& clock) {
  return {.longest_refusal_backoff = std::chrono::seconds(30),
          .longest_sleep = std::chrono::minutes(5),
          .looks_in_a_row = 1,
          .rest_clock = &clock,
          .queue = {.first_backoff = std::chrono::milliseconds(10),
                    .longest_backoff = std::chrono::seconds(30)}};
}

}  // namespace berth::local::cluster
