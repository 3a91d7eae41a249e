// local/cluster/objects/looks.h — the ControllerOptions of the local cluster: one reconcile per
// task of the Executor, since it may block on the disk; an object rests as long as its reconcile
// took.
#pragma once

#include "kube/runtime/function_controller.h"

namespace berth::local::cluster {

using kube::FunctionController;
using kube::LookAt;
using kube::NextLook;

inline kube::ControllerOptions LookOptions(const Clock& clock) {
  return {.longest_sleep = std::chrono::minutes(5),
          .looks_in_a_row = 1,
          .rest_clock = &clock,
          .queue = {.first_backoff = std::chrono::milliseconds(10),
                    .longest_backoff = std::chrono::seconds(30)}};
}

}  // namespace berth::local::cluster
