#include "local/apiserver/http/table_cells.h"

#include <algorithm>

#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "local/apiserver/http/table_texts.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/printer_columns.h"

namespace berth::local {
namespace {

std::string JoinField(const Json& containers, std::string_view field) {
  std::string joined;
  for (const Json& container : containers) {
    joined += (joined.empty() ? "" : ",") + TextAt(container, {field});
  }
  return OrNone(joined);
}

std::string LabelsText(const Json* labels) {
  std::string joined;
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      joined += (joined.empty() ? "" : ",") + key + "=" +
                (value.is_string() ? value.get<std::string>() : api::FormatJson(value));
    }
  }
  return OrNone(joined);
}

std::size_t CountOf(const Json& object, std::string_view field) {
  const Json* value = Member(object, field);
  return value == nullptr ? 0 : value->size();
}

// The reason of the pod that a waiting or ended container gives.
std::string ContainerReason(const Json& status) {
  std::string waiting = TextAt(status, {"state", "waiting", "reason"});
  if (!waiting.empty()) return waiting;
  const Json* ended = At(status, {"state", "terminated"});
  if (ended == nullptr) return "";
  std::string reason = TextAt(*ended, {"reason"});
  if (!reason.empty()) return reason;
  const std::int64_t signal = IntAt(*ended, {"signal"}, 0);
  if (signal != 0) return "Signal:" + std::to_string(signal);
  return "ExitCode:" + std::to_string(IntAt(*ended, {"exitCode"}, 0));
}

std::string InitReason(const Json& pod) {
  const Json& statuses = ArrayAt(pod, {"status", "initContainerStatuses"});
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const Json* ended = At(statuses[i], {"state", "terminated"});
    if (ended != nullptr && IntAt(*ended, {"exitCode"}, 0) == 0) continue;
    const std::string reason = ContainerReason(statuses[i]);
    if (!reason.empty() && reason != "PodInitializing") return "Init:" + reason;
    return "Init:" + std::to_string(i) + "/" +
           std::to_string(ArrayAt(pod, {"spec", "initContainers"}).size());
  }
  return "";
}

std::string PodStatus(const Json& pod) {
  std::string reason = TextAt(pod, {"status", "reason"});
  if (reason.empty()) reason = TextAt(pod, {"status", "phase"});
  const Json* scheduled = FindCondition(pod, "PodScheduled");
  if (scheduled != nullptr && TextAt(*scheduled, {"reason"}) == "SchedulingGated") {
    reason = "SchedulingGated";
  }
  if (const std::string init = InitReason(pod); !init.empty()) {
    reason = init;
  } else {
    const Json& statuses = ArrayAt(pod, {"status", "containerStatuses"});
    for (auto it = statuses.rbegin(); it != statuses.rend(); ++it) {
      if (const std::string why = ContainerReason(*it); !why.empty()) reason = why;
    }
  }
  if (IsBeingDeleted(pod)) {
    const std::string phase = TextAt(pod, {"status", "phase"});
    if (phase != "Succeeded" && phase != "Failed") reason = "Terminating";
  }
  return reason;
}

std::string JobStatus(const Json& job) {
  const auto holds = [&](std::string_view type) {
    const Json* condition = FindCondition(job, type);
    return condition != nullptr && TextAt(*condition, {"status"}) == "True";
  };
  if (holds("Complete")) return "Complete";
  if (holds("Failed")) return "Failed";
  if (IsBeingDeleted(job)) return "Terminating";
  for (const char* type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (holds(type)) return type;
  }
  return "Running";
}

std::string JobCompletions(const Json& job) {
  const std::string succeeded = std::to_string(IntAt(job, {"status", "succeeded"}, 0));
  if (const Json* completions = At(job, {"spec", "completions"})) {
    return succeeded + "/" + api::FormatJson(*completions);
  }
  const std::int64_t parallelism = IntAt(job, {"spec", "parallelism"}, 0);
  if (parallelism > 1) return succeeded + "/1 of " + std::to_string(parallelism);
  return succeeded + "/1";
}

std::string JobDuration(const Json& job, WallTime now) {
  const auto started = ParseTime(TextAt(job, {"status", "startTime"}));
  if (!started) return "";
  std::string end = TextAt(job, {"status", "completionTime"});
  if (end.empty()) {
    const Json* failed = FindCondition(job, "Failed");
    if (failed != nullptr && TextAt(*failed, {"status"}) == "True") {
      end = TextAt(*failed, {"lastTransitionTime"});
    }
  }
  return HumanDuration(ParseTime(end).value_or(now) - *started);
}

std::string NodeStatus(const Json& node) {
  const Json* ready = FindCondition(node, "Ready");
  std::string status = "Unknown";
  if (ready != nullptr) status = TextAt(*ready, {"status"}) == "True" ? "Ready" : "NotReady";
  if (BoolAt(node, {"spec", "unschedulable"}, false)) status += ",SchedulingDisabled";
  return status;
}

std::string NodeRoles(const Json& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::string roles;
  if (const Json* labels = At(node, {"metadata", "labels"})) {
    for (const auto& [key, value] : labels->items()) {
      if (key.rfind(kPrefix, 0) != 0) continue;
      roles += (roles.empty() ? "" : ",") + key.substr(kPrefix.size());
    }
  }
  return OrNone(roles);
}

std::string NodeAddress(const Json& node, std::string_view type) {
  for (const Json& address : ArrayAt(node, {"status", "addresses"})) {
    if (TextAt(address, {"type"}) == type) return TextAt(address, {"address"});
  }
  return "<none>";
}

std::string OrUnknown(std::string text) { return text.empty() ? "<unknown>" : text; }

}  // namespace

Json PodCells(const Json& pod, WallTime now) {
  std::int64_t restarts = 0;
  std::size_t ready = 0;
  for (const Json& status : ArrayAt(pod, {"status", "containerStatuses"})) {
    restarts += IntAt(status, {"restartCount"}, 0);
    if (BoolAt(status, {"ready"}, false)) ++ready;
  }
  const std::size_t total = ArrayAt(pod, {"spec", "containers"}).size();
  return Json::array({NameOf(pod), std::to_string(ready) + "/" + std::to_string(total),
                      PodStatus(pod), std::to_string(restarts), Age(pod, now),
                      OrNone(TextAt(pod, {"status", "podIP"})),
                      OrNone(TextAt(pod, {"spec", "nodeName"})),
                      OrNone(TextAt(pod, {"status", "nominatedNodeName"})), "<none>"});
}

Json JobCells(const Json& job, WallTime now) {
  const Json& containers = ArrayAt(job, {"spec", "template", "spec", "containers"});
  return Json::array({NameOf(job), JobStatus(job), JobCompletions(job), JobDuration(job, now),
                      Age(job, now), JoinField(containers, "name"), JoinField(containers, "image"),
                      SelectorText(At(job, {"spec", "selector"}))});
}

Json DeploymentCells(const Json& deployment, WallTime now) {
  const auto count = [&](std::string_view name) { return IntAt(deployment, {"status", name}, 0); };
  const Json& containers = ArrayAt(deployment, {"spec", "template", "spec", "containers"});
  return Json::array({NameOf(deployment),
                      std::to_string(count("readyReplicas")) + "/" +
                          std::to_string(IntAt(deployment, {"spec", "replicas"}, 0)),
                      count("updatedReplicas"), count("availableReplicas"), Age(deployment, now),
                      JoinField(containers, "name"), JoinField(containers, "image"),
                      SelectorText(At(deployment, {"spec", "selector"}))});
}

Json ReplicaSetCells(const Json& set, WallTime now) {
  const Json& containers = ArrayAt(set, {"spec", "template", "spec", "containers"});
  return Json::array(
      {NameOf(set), IntAt(set, {"spec", "replicas"}, 0), IntAt(set, {"status", "replicas"}, 0),
       IntAt(set, {"status", "readyReplicas"}, 0), Age(set, now), JoinField(containers, "name"),
       JoinField(containers, "image"), SelectorText(At(set, {"spec", "selector"}))});
}

Json ReplicationControllerCells(const Json& controller, WallTime now) {
  Json cells = ReplicaSetCells(controller, now);
  cells.back() = LabelsText(At(controller, {"spec", "selector"}));
  return cells;
}

Json StatefulSetCells(const Json& set, WallTime now) {
  const Json& containers = ArrayAt(set, {"spec", "template", "spec", "containers"});
  return Json::array({NameOf(set),
                      std::to_string(IntAt(set, {"status", "readyReplicas"}, 0)) + "/" +
                          std::to_string(IntAt(set, {"spec", "replicas"}, 0)),
                      Age(set, now), JoinField(containers, "name"),
                      JoinField(containers, "image")});
}

Json DaemonSetCells(const Json& set, WallTime now) {
  const auto count = [&](std::string_view name) { return IntAt(set, {"status", name}, 0); };
  const Json& containers = ArrayAt(set, {"spec", "template", "spec", "containers"});
  return Json::array({NameOf(set), count("desiredNumberScheduled"), count("currentNumberScheduled"),
                      count("numberReady"), count("updatedNumberScheduled"),
                      count("numberAvailable"),
                      LabelsText(At(set, {"spec", "template", "spec", "nodeSelector"})),
                      Age(set, now), JoinField(containers, "name"), JoinField(containers, "image"),
                      SelectorText(At(set, {"spec", "selector"}))});
}

Json CronJobCells(const Json& cron_job, WallTime now) {
  const Json& containers =
      ArrayAt(cron_job, {"spec", "jobTemplate", "spec", "template", "spec", "containers"});
  const Json* last = At(cron_job, {"status", "lastScheduleTime"});
  return Json::array({NameOf(cron_job), TextAt(cron_job, {"spec", "schedule"}),
                      OrNone(TextAt(cron_job, {"spec", "timeZone"})),
                      BoolAt(cron_job, {"spec", "suspend"}, false) ? "True" : "False",
                      ArrayAt(cron_job, {"status", "active"}).size(),
                      last == nullptr ? std::string("<none>") : AgeText(*last, now),
                      Age(cron_job, now), JoinField(containers, "name"),
                      JoinField(containers, "image"),
                      SelectorText(At(cron_job, {"spec", "jobTemplate", "spec", "selector"}))});
}

Json ControllerRevisionCells(const Json& revision, WallTime now) {
  std::string controller = "<none>";
  for (const Json& owner : ArrayAt(revision, {"metadata", "ownerReferences"})) {
    if (!BoolAt(owner, {"controller"}, false)) continue;
    std::string kind = TextAt(owner, {"kind"});
    std::transform(kind.begin(), kind.end(), kind.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const std::string version = TextAt(owner, {"apiVersion"});
    const std::string group = version.substr(0, version.find('/'));
    controller = kind + "." + group + "/" + TextAt(owner, {"name"});
  }
  return Json::array(
      {NameOf(revision), controller, IntAt(revision, {"revision"}, 0), Age(revision, now)});
}

Json DisruptionBudgetCells(const Json& budget, WallTime now) {
  const auto amount = [&](std::string_view name) {
    const Json* value = At(budget, {"spec", name});
    if (value == nullptr) return std::string("N/A");
    return value->is_string() ? value->get<std::string>() : api::FormatJson(*value);
  };
  return Json::array({NameOf(budget), amount("minAvailable"), amount("maxUnavailable"),
                      IntAt(budget, {"status", "disruptionsAllowed"}, 0), Age(budget, now)});
}

Json ResourceQuotaCells(const Json& quota, WallTime now) {
  std::string requests;
  std::string limits;
  if (const Json* hard = At(quota, {"status", "hard"})) {
    for (const auto& [name, value] : hard->items()) {
      std::string& text = name.rfind("limits", 0) == 0 ? limits : requests;
      const std::string used = TextAt(quota, {"status", "used", name});
      text += (text.empty() ? "" : ", ") + name + ": " + (used.empty() ? "0" : used) + "/" +
              (value.is_string() ? value.get<std::string>() : api::FormatJson(value));
    }
  }
  return Json::array({NameOf(quota), requests, limits, Age(quota, now)});
}

Json NodeCells(const Json& node, WallTime now) {
  const auto info = [&](std::string_view field) {
    return OrUnknown(TextAt(node, {"status", "nodeInfo", field}));
  };
  return Json::array({NameOf(node), NodeStatus(node), NodeRoles(node), Age(node, now),
                      TextAt(node, {"status", "nodeInfo", "kubeletVersion"}),
                      NodeAddress(node, "InternalIP"), NodeAddress(node, "ExternalIP"),
                      info("osImage"), info("kernelVersion"), info("containerRuntimeVersion")});
}

Json NamespaceCells(const Json& object, WallTime now) {
  return Json::array({NameOf(object), TextAt(object, {"status", "phase"}), Age(object, now)});
}

Json EventCells(const Json& event, WallTime now) {
  const auto ago = [&](std::string time) {
    return AgeText(time.empty() ? Json() : Json(time), now);
  };
  std::string first = TextAt(event, {"firstTimestamp"});
  if (first.empty()) first = TextAt(event, {"eventTime"});
  std::string last = TextAt(event, {"series", "lastObservedTime"});
  if (last.empty()) last = TextAt(event, {"lastTimestamp"});
  if (last.empty()) last = first;
  std::int64_t count = IntAt(event, {"series", "count"}, 0);
  if (count == 0) count = IntAt(event, {"count"}, 1);
  std::string kind = TextAt(event, {"involvedObject", "kind"});
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  std::string source = TextAt(event, {"source", "component"});
  if (source.empty()) source = TextAt(event, {"reportingComponent"});
  if (const std::string host = TextAt(event, {"source", "host"}); !host.empty()) {
    source += ", " + host;
  }
  return Json::array({ago(last), TextAt(event, {"type"}), TextAt(event, {"reason"}),
                      kind + "/" + TextAt(event, {"involvedObject", "name"}),
                      TextAt(event, {"involvedObject", "fieldPath"}), source,
                      TextAt(event, {"message"}), ago(first), std::to_string(count),
                      NameOf(event)});
}

Json ConfigMapCells(const Json& object, WallTime now) {
  return Json::array(
      {NameOf(object), CountOf(object, "data") + CountOf(object, "binaryData"), Age(object, now)});
}

Json SecretCells(const Json& object, WallTime now) {
  return Json::array(
      {NameOf(object), TextAt(object, {"type"}), CountOf(object, "data"), Age(object, now)});
}

Json ServiceAccountCells(const Json& object, WallTime now) {
  return Json::array({NameOf(object), CountOf(object, "secrets"), Age(object, now)});
}

Json ServiceCells(const Json& object, WallTime now) {
  std::string ports;
  for (const Json& port : ArrayAt(object, {"spec", "ports"})) {
    ports += (ports.empty() ? "" : ",") + std::to_string(IntAt(port, {"port"}, 0)) + "/" +
             TextAt(port, {"protocol"});
  }
  return Json::array({NameOf(object), TextAt(object, {"spec", "type"}),
                      OrNone(TextAt(object, {"spec", "clusterIP"})), "<none>", OrNone(ports),
                      Age(object, now), LabelsText(At(object, {"spec", "selector"}))});
}

Json PodTemplateCells(const Json& object, WallTime /*now*/) {
  const Json& containers = ArrayAt(object, {"template", "spec", "containers"});
  return Json::array({NameOf(object), JoinField(containers, "name"), JoinField(containers, "image"),
                      LabelsText(At(object, {"template", "metadata", "labels"}))});
}

Json LeaseCells(const Json& object, WallTime now) {
  return Json::array(
      {NameOf(object), TextAt(object, {"spec", "holderIdentity"}), Age(object, now)});
}

Json PriorityClassCells(const Json& object, WallTime now) {
  return Json::array({NameOf(object), IntAt(object, {"value"}, 0),
                      BoolAt(object, {"globalDefault"}, false), Age(object, now),
                      TextAt(object, {"preemptionPolicy"})});
}

Json CrdCells(const Json& object, WallTime /*now*/) {
  return Json::array({NameOf(object), TextAt(object, {"metadata", "creationTimestamp"})});
}

Json WebhookCells(const Json& object, WallTime now) {
  return Json::array({NameOf(object), ArrayAt(object, {"webhooks"}).size(), Age(object, now)});
}

}  // namespace berth::local
