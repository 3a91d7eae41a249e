#include "local/cluster/kubelet/pod_lifecycle.h"

#include <algorithm>

#include "base/seconds.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

bool WantsRestart(const ContainerRun& container) {
  if (container.state != ContainerRun::State::kEnded) return false;
  if (container.restart_policy == "Always") return true;
  return container.restart_policy == "OnFailure" && container.exit_code != 0;
}

bool AnyRuns(const PodRun& run) {
  return std::any_of(run.containers.begin(), run.containers.end(),
                     [](const ContainerRun& one) { return one.is_running(); });
}

class PodPlanner {
 public:
  PodPlanner(const Json& pod, const PodRun& run, WallTime now) : pod_(pod), run_(run), now_(now) {}

  PodStep Run() {
    step_.phase = StringAt(pod_, {"status", "phase"}, "Pending");
    if (step_.phase == "Succeeded" || step_.phase == "Failed") {
      step_.is_over = !AnyRuns(run_);
      return std::move(step_);
    }
    if (MustStop()) {
      Stop();
    } else if (AdvanceInit()) {
      AdvanceMain();
    }
    return std::move(step_);
  }

 private:
  bool MustStop() {
    if (run_.node_is_gone || IsDeleting(pod_) || run_.stop_asked_at) return true;
    const auto seconds = OptionalIntAt(pod_, {"spec", "activeDeadlineSeconds"});
    if (!seconds) return false;
    const WallTime deadline = run_.started_at + BoundedSeconds(*seconds);
    if (deadline > now_) {
      LookAgain(deadline);
      return false;
    }
    step_.stop_reason = "DeadlineExceeded";
    return true;
  }

  Duration Grace() const {
    std::int64_t grace = IntAt(pod_, {"spec", "terminationGracePeriodSeconds"}, 30);
    grace = IntAt(pod_, {"metadata", "deletionGracePeriodSeconds"}, grace);
    return BoundedSeconds(run_.node_is_gone ? 0 : grace);
  }

  void Stop() {
    if (!AnyRuns(run_)) return End();
    const Duration grace = Grace();
    if (grace <= Duration::zero()) {
      step_.kill = !run_.kill_sent;
      return;
    }
    if (!run_.stop_asked_at) {
      step_.terminate = true;
      return LookAgain(now_ + grace);
    }
    const WallTime last = *run_.stop_asked_at + grace;
    if (last > now_) return LookAgain(last);
    step_.kill = !run_.kill_sent;
  }

  // All containers have ended.
  void End() {
    step_.is_over = true;
    const bool stopped = !run_.stop_reason.empty() || !step_.stop_reason.empty();
    bool well = !stopped && !run_.node_is_gone;
    for (const ContainerRun& container : run_.containers) {
      if (!container.is_sidecar() && !container.has_ended_well()) well = false;
    }
    step_.phase = well ? "Succeeded" : "Failed";
  }

  // Returns whether the main containers may run.
  bool AdvanceInit() {
    for (std::size_t at = 0; at < run_.containers.size(); ++at) {
      const ContainerRun& container = run_.containers[at];
      if (!container.is_init) return true;
      if (container.is_sidecar()) {
        KeepUp(at);
        if (container.state == ContainerRun::State::kWaiting) return false;
        continue;
      }
      if (container.has_ended_well()) continue;
      step_.phase = "Pending";
      if (container.state == ContainerRun::State::kEnded && !WantsRestart(container)) {
        StopSidecarsAndEnd();
      } else {
        KeepUp(at);
      }
      return false;
    }
    return true;
  }

  void AdvanceMain() {
    bool any_began = false;
    bool all_over = true;
    for (std::size_t at = 0; at < run_.containers.size(); ++at) {
      const ContainerRun& container = run_.containers[at];
      if (container.is_init) continue;
      KeepUp(at);
      any_began =
          any_began || container.state != ContainerRun::State::kWaiting || container.restarts > 0;
      const bool is_over =
          container.state == ContainerRun::State::kEnded && !WantsRestart(container);
      all_over = all_over && is_over;
    }
    step_.phase = any_began ? "Running" : "Pending";
    if (all_over) StopSidecarsAndEnd();
  }

  void StopSidecarsAndEnd() {
    step_.start.clear();
    step_.restart.clear();
    if (AnyRuns(run_)) {
      step_.kill = !run_.kill_sent;
    } else {
      End();
    }
  }

  void KeepUp(std::size_t at) {
    const ContainerRun& container = run_.containers[at];
    if (container.state == ContainerRun::State::kWaiting) {
      if (container.not_before && now_ < *container.not_before) {
        if (*container.not_before != WallTime::max()) LookAgain(*container.not_before);
      } else {
        step_.start.push_back(at);
      }
    } else if (WantsRestart(container)) {
      step_.restart.push_back(at);
    }
  }

  void LookAgain(WallTime at) {
    if (!step_.look_again || at < *step_.look_again) step_.look_again = at;
  }

  const Json& pod_;
  const PodRun& run_;
  const WallTime now_;
  PodStep step_;
};

}  // namespace

PodRun NewRun(const Json& pod, WallTime now) {
  PodRun run;
  run.started_at = now;
  const std::string policy = StringAt(pod, {"spec", "restartPolicy"}, "Always");
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& container : ArrayAt(pod, {"spec", list})) {
      ContainerRun one;
      one.name = StringAt(container, {"name"});
      one.image = StringAt(container, {"image"});
      one.is_init = std::string_view(list) == "initContainers";
      // An ordinary init container of an Always pod is retried until it succeeds.
      const bool retries = one.is_init && policy == "Always";
      one.restart_policy =
          StringAt(container, {"restartPolicy"}, retries ? std::string("OnFailure") : policy);
      one.waiting_reason = "ContainerCreating";
      run.containers.push_back(std::move(one));
    }
  }
  return run;
}

const Json* DeclarationOf(const Json& pod, const ContainerRun& run) {
  for (const Json& container :
       ArrayAt(pod, {"spec", run.is_init ? "initContainers" : "containers"})) {
    if (StringAt(container, {"name"}) == run.name) return &container;
  }
  return nullptr;
}

PodStep PlanPod(const Json& pod, const PodRun& run, WallTime now) {
  return PodPlanner(pod, run, now).Run();
}

}  // namespace berth::local::cluster
