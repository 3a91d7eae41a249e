// local/cluster/pod_lifecycle.h — the life of a pod on its node: what to start, stop and report.
//
//     pod + what its containers did + now  --PlanPod-->  start / signal / phase / look again
//
// kubelet's rules: init containers in order, restart policy with back-off, grace on deletion, a
// terminal phase that never changes, and the terminal status before the final delete.
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
  std::string restart_policy;  // its own, or the pod's
  std::string waiting_reason;  // kWaiting: "ContainerCreating", "ErrImagePull", …
  std::string waiting_message;
  std::optional<WallTime> not_before;  // kWaiting: back-off; nothing is tried earlier
  std::optional<WallTime> started_at;
  std::optional<WallTime> ended_at;
  int exit_code = 0;
  int signal = 0;
  std::string end_reason;  // other than Completed and Error; "ContainerCannotRun"
  std::string end_message;
  int restarts = 0;
  std::optional<Json> last_end;  // lastState.terminated
  bool is_sidecar() const { return is_init && restart_policy == "Always"; }
  bool is_running() const { return state == State::kRunning; }
  bool has_ended_well() const { return state == State::kEnded && exit_code == 0; }
};

// What the executor knows of one pod beside the object.
struct PodRun {
  std::vector<ContainerRun> containers;  // init containers first, in order
  WallTime started_at;
  std::optional<WallTime> stop_asked_at;  // SIGTERM was sent
  std::string stop_reason;                // of a stop that nobody asked for by deletion
  bool kill_sent = false;
  bool node_is_gone = false;
};

PodRun NewRun(const Json& pod, WallTime now);

struct PodStep {
  std::vector<std::size_t> start;    // positions in PodRun::containers
  bool terminate = false;            // SIGTERM to all that run
  bool kill = false;                 // SIGKILL to all that run
  std::string stop_reason;           // with terminate: "DeadlineExceeded", "" on deletion
  std::vector<std::size_t> restart;  // ended; wait for their back-off and start again
  std::string phase;
  bool is_over = false;  // nothing runs, nothing will
  std::optional<WallTime> look_again;
};
PodStep PlanPod(const Json& pod, const PodRun& run, WallTime now);

// Turns an ended container into one that waits for its next start.
void PrepareRestart(ContainerRun& container, WallTime now);

// The pod's next status: phase, conditions and container statuses; other fields stay.
Json MakePodStatus(const Json& pod, const PodRun& run, const std::string& phase, WallTime now);

// The status of a pod that was not seen to its end.
Json MakeLostStatus(const Json& pod, const std::string& reason, const std::string& message,
                    WallTime now);

}  // namespace berth::local::cluster
