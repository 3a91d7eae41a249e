// kube/runtime/write_steps.h — runs writes one after the other, none after a failure.
//
// Threads: none of its own; a step may call `next` inside its call or later, once.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::kube {

using Step = std::function<void(std::function<void(Status)> next)>;

// Calls `done` with the first failure, or OK after the last step. Steps that are dropped uncalled
// (their client is gone) end the run without `done`.
inline void RunSteps(std::vector<Step> steps, std::function<void(Status)> done) {
  struct Run {
    std::vector<Step> steps;
    std::function<void(Status)> done;
    std::size_t at = 0;

    static void Go(const std::shared_ptr<Run>& run) {
      if (run->at == run->steps.size()) return run->done(OkStatus());
      const Step step = std::move(run->steps[run->at++]);
      step([run](Status status) {
        if (!status) return run->done(std::move(status));
        Go(run);
      });
    }
  };
  Run::Go(std::make_shared<Run>(Run{std::move(steps), std::move(done)}));
}

}  // namespace berth::kube
