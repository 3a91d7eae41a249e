#include <algorithm>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "local/cluster/kubelet/pod_lifecycle.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

constexpr char kHostAddress[] = "127.0.0.1";
constexpr Duration kFirstRestartBackoff = std::chrono::seconds(10);
constexpr Duration kLongestRestartBackoff = std::chrono::minutes(5);
constexpr Duration kBackoffForgotten = std::chrono::minutes(10);

Json EndOf(const ContainerRun& container) {
  Json end = {{"exitCode", container.exit_code}};
  end["reason"] = !container.end_reason.empty() ? container.end_reason
                  : container.exit_code == 0    ? "Completed"
                                                : "Error";
  if (container.signal != 0) end["signal"] = container.signal;
  if (!container.end_message.empty()) end["message"] = container.end_message;
  if (container.started_at) end["startedAt"] = FormatTime(*container.started_at);
  if (container.ended_at) end["finishedAt"] = FormatTime(*container.ended_at);
  return end;
}

bool IsReady(const ContainerRun& container) {
  if (container.is_init && !container.is_sidecar()) return container.has_ended_well();
  return container.is_running() && container.has_started && container.passes_readiness;
}

Json ContainerStatus(const Json& pod, const ContainerRun& container) {
  Json status = {{"name", container.name},
                 {"image", container.image},
                 {"imageID", ""},
                 {"restartCount", container.restarts},
                 {"ready", IsReady(container)},
                 {"started", container.is_running() && container.has_started},
                 {"lastState", Json::object()}};
  switch (container.state) {
    case ContainerRun::State::kRunning:
      status["state"]["running"]["startedAt"] = FormatTime(*container.started_at);
      break;
    case ContainerRun::State::kEnded: status["state"]["terminated"] = EndOf(container); break;
    case ContainerRun::State::kWaiting:
      status["state"]["waiting"]["reason"] = container.waiting_reason;
      if (!container.waiting_message.empty()) {
        status["state"]["waiting"]["message"] = container.waiting_message;
      }
      break;
  }
  if (container.last_end) status["lastState"]["terminated"] = *container.last_end;
  if (container.started_at) {
    status["containerID"] =
        fmt::format("berth://{}/{}/{}", UidOf(pod), container.name, container.restarts);
  }
  return status;
}

std::string UnreadyNames(const PodRun& run, bool init) {
  std::string names;
  for (const ContainerRun& container : run.containers) {
    if (container.is_init != init || IsReady(container)) continue;
    names += (names.empty() ? "" : " ") + container.name;
  }
  return names;
}

ConditionValue Initialized(const PodRun& run, bool is_over, const std::string& phase) {
  const std::string waiting = UnreadyNames(run, true);
  if (is_over && phase == "Succeeded") return {"Initialized", "True", "PodCompleted", ""};
  if (is_over || waiting.empty()) return {"Initialized", "True", "", ""};
  return {"Initialized", "False", "ContainersNotInitialized",
          "containers with incomplete status: [" + waiting + "]"};
}

ConditionValue Ready(const std::string& type, const PodRun& run, bool is_over,
                     const std::string& phase) {
  if (is_over) return {type, "False", phase == "Succeeded" ? "PodCompleted" : "PodFailed", ""};
  const std::string waiting = UnreadyNames(run, false);
  if (waiting.empty()) return {type, "True", "", ""};
  return {type, "False", "ContainersNotReady", "containers with unready status: [" + waiting + "]"};
}

// In kubelet's order; conditions of other writers (PodScheduled, DisruptionTarget) follow.
void SetConditions(Json& status, const PodRun& run, const std::string& phase, WallTime now) {
  const bool is_over = phase == "Succeeded" || phase == "Failed";
  const std::vector<ConditionValue> values = {
      {"PodReadyToStartContainers", is_over ? "False" : "True", "", ""},
      Initialized(run, is_over, phase),
      Ready("Ready", run, is_over, phase),
      Ready("ContainersReady", run, is_over, phase)};
  for (const ConditionValue& value : values) SetCondition(status, value, now);
  const auto rank = [&](const Json& condition) {
    const auto found = std::find_if(values.begin(), values.end(), [&](const ConditionValue& value) {
      return value.type == StringAt(condition, {"type"});
    });
    return found - values.begin();
  };
  Json& conditions = status["conditions"];
  std::stable_sort(conditions.begin(), conditions.end(),
                   [&](const Json& a, const Json& b) { return rank(a) < rank(b); });
  for (Json& condition : conditions) {
    for (const char* text : {"reason", "message"}) {
      if (StringAt(condition, {text}).empty()) condition.erase(text);
    }
  }
}

}  // namespace

void PrepareRestart(ContainerRun& container, WallTime now) {
  const Duration ran = container.started_at && container.ended_at
                           ? *container.ended_at - *container.started_at
                           : Duration::zero();
  // The first restart is immediate, as in kubelet.
  const bool is_fresh = container.restarts == 0 || ran >= kBackoffForgotten;
  const int doublings = std::min(container.restarts, 6) - 1;
  const Duration backoff =
      is_fresh ? Duration::zero()
               : std::min(kFirstRestartBackoff * (1 << doublings), kLongestRestartBackoff);
  container.last_end = EndOf(container);
  container.not_before = container.ended_at.value_or(now) + backoff;
  container.state = ContainerRun::State::kWaiting;
  container.waiting_reason = is_fresh ? "ContainerCreating" : "CrashLoopBackOff";
  container.waiting_message.clear();
  ++container.restarts;
}

Json MakePodStatus(const Json& pod, const PodRun& run, const std::string& phase, WallTime now) {
  Json status = pod.value("status", Json::object());
  status["phase"] = phase;
  if (!status.contains("startTime")) status["startTime"] = FormatTime(run.started_at);
  status["hostIP"] = kHostAddress;
  status["hostIPs"] = Json::array({{{"ip", kHostAddress}}});
  status["podIP"] = run.address;
  status["podIPs"] = Json::array({{{"ip", run.address}}});
  Json init = Json::array();
  Json main = Json::array();
  for (const ContainerRun& container : run.containers) {
    (container.is_init ? init : main).push_back(ContainerStatus(pod, container));
  }
  if (!init.empty()) status["initContainerStatuses"] = std::move(init);
  status["containerStatuses"] = std::move(main);
  SetConditions(status, run, phase, now);
  if (run.stop_reason == "DeadlineExceeded" && phase == "Failed") {
    status["reason"] = "DeadlineExceeded";
    status["message"] = "Pod was active on the node longer than the specified deadline";
  }
  return status;
}

Json MakeLostStatus(const Json& pod, const std::string& reason, const std::string& message,
                    WallTime now) {
  Json status = pod.value("status", Json::object());
  status["phase"] = "Failed";
  status["reason"] = reason;
  status["message"] = message;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    if (!status.contains(list)) continue;
    for (Json& container : status[list]) {
      container["ready"] = false;
      container["started"] = false;
      const std::string started = StringAt(container, {"state", "running", "startedAt"});
      if (started.empty()) continue;
      container["state"] = {{"terminated",
                             {{"exitCode", 137},
                              {"reason", "ContainerStatusUnknown"},
                              {"message", message},
                              {"startedAt", started},
                              {"finishedAt", FormatTime(now)}}}};
    }
  }
  SetCondition(status, {"DisruptionTarget", "True", reason, message}, now);
  for (const char* type : {"Ready", "ContainersReady"}) {
    SetCondition(status, {type, "False", "PodFailed", ""}, now);
  }
  return status;
}

}  // namespace berth::local::cluster
