#include "integrations/kind_hold.h"

#include <algorithm>
#include <string>
#include <utility>

namespace berth::integrations {
namespace {

constexpr char kFirstReplicas[] = "podSets[0].replicas";

Error WrongHold(const std::string& field, const std::string& message) {
  return {ErrorCode::kInvalid, field + ": " + message};
}

// A pod set without a number would run its pods while the job is held.
Result<ObjectHoldPtr> ReplicasHoldOf(const KindDescription& kind) {
  if (kind.hook != nullptr) return WrongHold(kFirstReplicas, "a kind with a hook must not have it");
  std::vector<ReplicasField> fields;
  for (const PodSetRule& rule : kind.pod_sets) {
    if (rule.replicas.empty()) {
      return WrongHold("podSets[" + std::to_string(fields.size()) + "].replicas",
                       "is missing: name the number of pods of every pod set, or of none");
    }
    fields.push_back({rule.each, rule.keys, rule.replicas});
  }
  return HoldByReplicas(std::move(fields));
}

}  // namespace

Result<ObjectHoldPtr> HoldOf(const KindDescription& kind) {
  const bool by_pods = kind.pods.has_value() || kind.hold.has_value();
  const bool by_replicas =
      std::any_of(kind.pod_sets.begin(), kind.pod_sets.end(),
                  [](const PodSetRule& rule) { return !rule.replicas.empty(); });
  if (by_replicas && (by_pods || !kind.suspend.empty())) {
    return WrongHold(
        kFirstReplicas,
        "not allowed: `suspend`, or the scheduling gates of the pods, hold the job already");
  }
  if (by_replicas) return ReplicasHoldOf(kind);
  if (kind.suspend.empty() == !by_pods) {
    return WrongHold("suspend", "the path of the field that holds a job is missing");
  }
  if (kind.hold) return HoldByPods(std::string(kind.kind.framework));
  return kind.pods ? HoldByParent() : HoldBySuspend(kind.suspend);
}

}  // namespace berth::integrations
