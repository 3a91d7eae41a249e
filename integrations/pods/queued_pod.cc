#include "integrations/pods/queued_pod.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/parts.h"
#include "api/labels.h"
#include "api/pod_groups.h"
#include "integrations/pods/role_hash.h"

namespace berth::integrations {
namespace {

QueuedPod::Phase PhaseNamed(std::string_view name) {
  if (name == "Running") return QueuedPod::Phase::kRunning;
  if (name == "Succeeded") return QueuedPod::Phase::kSucceeded;
  if (name == "Failed") return QueuedPod::Phase::kFailed;
  return QueuedPod::Phase::kPending;  // also Unknown: the node is lost, the pod may come back
}

void ReadStatus(const api::Reader& status, QueuedPod& out) {
  std::string phase;
  status.Field("phase").Get(phase);
  out.phase = PhaseNamed(phase);
  status.Field("message").Get(out.message);
  std::vector<api::Condition> conditions;
  api::ReadConditions(status.Field("conditions"), conditions);
  out.ready = api::IsTrue(conditions, "Ready");
  const api::Condition* containers = api::FindCondition(conditions, "ContainersReady");
  if (containers != nullptr && containers->status == api::ConditionStatus::kFalse &&
      containers->reason == "PodFailed") {
    out.failed_at = containers->last_transition_time;
  }
}

}  // namespace

Result<QueuedPod> DecodeQueuedPod(const api::JsonSource& object) {
  return api::ReadAs<QueuedPod>(object, [](const api::Reader& in, QueuedPod& out) {
    api::Read(in.Field("metadata"), out.meta);
    const api::Reader spec = in.Field("spec");
    api::Read(spec, out.pod_template.spec);
    const std::string text = spec.present() ? spec.Text() : "{}";
    out.pod_template.json = std::make_shared<const std::string>("{\"spec\":" + text + "}");
    const std::string* role = api::FindValue(out.meta.annotations, api::kRoleHashAnnotation);
    out.role = role != nullptr ? *role : RoleHash(api::ParseJsonOrNull(text));
    const api::Reader status = in.Field("status");
    ReadStatus(status, out);
  });
}

bool IsGated(const QueuedPod& pod) {
  const auto& gates = pod.pod_template.spec.scheduling_gates;
  return std::find(gates.begin(), gates.end(), api::kAdmissionGate) != gates.end();
}

bool HasEnded(const QueuedPod& pod) {
  return pod.phase == QueuedPod::Phase::kSucceeded || pod.phase == QueuedPod::Phase::kFailed;
}

bool IsRunnable(const QueuedPod& pod) {
  if (pod.meta.deletion_timestamp && pod.pod_template.spec.node_name.empty()) return false;
  return pod.phase != QueuedPod::Phase::kFailed;
}

bool IsHeld(const QueuedPod& pod) { return api::HasFinalizer(pod.meta, api::kManagedFinalizer); }

bool IsRunning(const QueuedPod& pod, WallTime now) {
  if (pod.phase != QueuedPod::Phase::kRunning) return false;
  return !pod.meta.deletion_timestamp || now <= *pod.meta.deletion_timestamp;
}

bool HasToStop(const QueuedPod& pod) {
  return !pod.meta.deletion_timestamp && !IsGated(pod) && !HasEnded(pod);
}

std::string PodGroupOf(const api::ObjectMeta& pod) {
  const std::string* name = api::FindValue(pod.annotations, api::kPodGroupNameLabel);
  if (name == nullptr) name = api::FindValue(pod.labels, api::kPodGroupNameLabel);
  return name == nullptr ? "" : *name;
}

}  // namespace berth::integrations
