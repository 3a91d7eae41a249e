// local/cluster/kubelet/pod_lifecycle.h — plans the life of a pod on its node: start, stop, report.
//
//     pod + states of its containers + now  --PlanPod-->  start / signal / phase / next time
//
// kubelet's rules: init containers in order, restart policy with backoff, grace on deletion, an
// immutable terminal phase, and the terminal status before the final delete.
//
// Pure. Source: Kubernetes "Pod Lifecycle", "Init Containers".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

struct ContainerRun {
  enum class State { kWaiting, kRunning, kEnded };
  State state = State::kWaiting;
  std::string name;
  std::string image;
  bool is_init = false;
  std::string restart_policy;  // the container's, else the pod's
  std::string waiting_reason;  // kWaiting: "ContainerCreating", "ErrImagePull", …
  std::string waiting_message;
  std::optional<WallTime> not_before;  // kWaiting: end of the backoff
  std::optional<WallTime> started_at;
  std::optional<WallTime> ended_at;
  int exit_code = 0;
  int signal = 0;
  std::string end_reason;  // if neither Completed nor Error: "ContainerCannotRun"
  std::string end_message;
  bool has_started = true;       // its startup probe has passed, or there is none
  bool passes_readiness = true;  // its readiness probe passes, or there is none
  int restarts = 0;
  std::optional<Json> last_end;  // lastState.terminated
  bool is_sidecar() const { return is_init && restart_policy == "Always"; }
  bool is_running() const { return state == State::kRunning; }
  bool has_ended_well() const { return state == State::kEnded && exit_code == 0; }
};

// The executor's state of one pod.
struct PodRun {
  std::vector<ContainerRun> containers;  // init containers first, in order
  std::string address = "127.0.0.1";
  WallTime started_at;
  std::optional<WallTime> stop_asked_at;  // when SIGTERM was sent
  std::string stop_reason;                // reason of a stop without a deletion
  bool kill_sent = false;
  bool node_is_gone = false;
};

PodRun NewRun(const Json& pod, WallTime now);

// The container in the pod's spec; null: the spec has none of this name.
const Json* DeclarationOf(const Json& pod, const ContainerRun& run);

struct PodStep {
  std::vector<std::size_t> start;    // positions in PodRun::containers
  bool terminate = false;            // send SIGTERM to all running containers
  bool kill = false;                 // send SIGKILL to all running containers
  std::string stop_reason;           // set with `terminate`: "DeadlineExceeded"; "" on deletion
  std::vector<std::size_t> restart;  // ended containers to restart after their backoff
  std::string phase;
  bool is_over = false;  // no container runs or will run
  std::optional<WallTime> look_again;
};
PodStep PlanPod(const Json& pod, const PodRun& run, WallTime now);

// Changes an ended container to one that waits for its restart.
void PrepareRestart(ContainerRun& container, WallTime now);

// The pod's next status: phase, conditions, container statuses; other fields do not change.
Json MakePodStatus(const Json& pod, const PodRun& run, const std::string& phase, WallTime now);

// The status of a pod whose end was not observed.
Json MakeLostStatus(const Json& pod, const std::string& reason, const std::string& message,
                    WallTime now);

}  // namespace berth::local::cluster
