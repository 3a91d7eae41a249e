#include "local/cluster/replicas/replica_set_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/rfc3339.h"
#include "base/seconds.h"
#include "base/strings.h"
#include "local/cluster/objects/cluster_limits.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/ownership.h"

namespace berth::local::cluster {
namespace {

constexpr char kDeletionCost[] = "controller.kubernetes.io/pod-deletion-cost";

bool IsActive(const Json& pod) { return !HasEnded(pod) && !IsDeleting(pod); }

bool IsReady(const Json& pod) { return ConditionIs(pod, "Ready", "True"); }

WallTime ReadySince(const Json& pod) {
  const Json* ready = FindCondition(pod, "Ready");
  if (ready == nullptr) return WallTime();
  return TimeAt(*ready, {"lastTransitionTime"}).value_or(WallTime());
}

std::int64_t RestartsOf(const Json& pod) {
  std::int64_t restarts = 0;
  for (const Json& container : ArrayAt(pod, {"status", "containerStatuses"})) {
    restarts = std::max(restarts, IntAt(container, {"restartCount"}));
  }
  return restarts;
}

// Whether the pod has all labels of the template; one of an adopted pod may be missing.
bool IsFullyLabeled(const Json& set, const Json& pod) {
  const Json* labels = Find(set, {"spec", "template", "metadata", "labels"});
  if (labels == nullptr) return true;
  for (const auto& [key, value] : labels->items()) {
    if (LabelOf(pod, key) != StringAt(value, {})) return false;
  }
  return true;
}

class ReplicaSetPlanner {
 public:
  ReplicaSetPlanner(const ReplicaSetView& view, WallTime now)
      : view_(view), set_(*view.set), now_(now), wanted_(IntAt(set_, {"spec", "replicas"}, 1)) {}

  ReplicaSetPlan Run() {
    Claims claims = Claim(set_, view_.pods);
    if (!claims.adopt.empty() || !claims.release.empty()) {
      plan_.adopt = std::move(claims.adopt);
      plan_.release = std::move(claims.release);
      plan_.look_again = now_;  // once they are owned, or not
      return std::move(plan_);
    }
    for (const std::size_t at : claims.mine) {
      if (IsActive(*view_.pods[at])) active_.push_back(at);
      if (IsDeleting(*view_.pods[at]) && !HasEnded(*view_.pods[at])) ++terminating_;
    }
    if (!IsDeleting(set_)) ManagePods();
    WriteStatus();
    return std::move(plan_);
  }

 private:
  void ManagePods() {
    const auto have = static_cast<std::int64_t>(active_.size());
    if (have < wanted_) {
      if (view_.create_not_before && now_ < *view_.create_not_before) {
        return LookAgain(*view_.create_not_before);
      }
      plan_.create = std::min(kMostPodsAtOnce, static_cast<std::size_t>(wanted_ - have));
    } else if (have > wanted_) {
      const auto surplus = std::min(kMostPodsAtOnce, static_cast<std::size_t>(have - wanted_));
      plan_.remove = RankForDeletion();
      plan_.remove.resize(surplus);
    }
  }

  // Unassigned pods first, then pending before running, not ready before ready, low deletion cost,
  // nodes with many pods of the set, pods that are ready for a short time, many restarts, newer.
  std::vector<std::size_t> RankForDeletion() const {
    std::map<std::string, std::int64_t> count_by_node;
    for (const std::size_t at : active_) {
      ++count_by_node[StringAt(*view_.pods[at], {"spec", "nodeName"})];
    }
    const auto rank = [&](std::size_t at) {
      const Json& pod = *view_.pods[at];
      const std::string node = StringAt(pod, {"spec", "nodeName"});
      const WallTime created = TimeAt(pod, {"metadata", "creationTimestamp"}).value_or(WallTime());
      return std::tuple(!node.empty(), StringAt(pod, {"status", "phase"}) == "Running",
                        IsReady(pod), ParseInt64(AnnotationOf(pod, kDeletionCost)).value_or(0),
                        -count_by_node[node], -ReadySince(pod).time_since_epoch().count(),
                        -RestartsOf(pod), -created.time_since_epoch().count(), NameOf(pod));
    };
    std::vector<std::size_t> ranked = active_;
    std::sort(ranked.begin(), ranked.end(),
              [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    return ranked;
  }

  // Counts the pods of before the plan, as upstream: the changed pods lead to the next reconcile.
  void WriteStatus() {
    const Duration settle = BoundedSeconds(IntAt(set_, {"spec", "minReadySeconds"}));
    std::int64_t labeled = 0;
    std::int64_t ready = 0;
    std::int64_t available = 0;
    for (const std::size_t at : active_) {
      const Json& pod = *view_.pods[at];
      if (IsFullyLabeled(set_, pod)) ++labeled;
      if (!IsReady(pod)) continue;
      ++ready;
      const WallTime settled = ReadySince(pod) + settle;
      if (settle <= Duration::zero() || settled <= now_) {
        ++available;
      } else {
        LookAgain(settled);
      }
    }
    const Json old = set_.value("status", Json::object());
    Json status = old;
    status["replicas"] = active_.size();
    SetCount(status, "fullyLabeledReplicas", labeled);
    SetCount(status, "readyReplicas", ready);
    SetCount(status, "availableReplicas", available);
    if (StringAt(set_, {"kind"}) == "ReplicaSet") status["terminatingReplicas"] = terminating_;
    status["observedGeneration"] = IntAt(set_, {"metadata", "generation"});
    WriteFailure(status);
    if (status != old) plan_.status = std::move(status);
  }

  void WriteFailure(Json& status) const {
    // Without a pod to create there is no failure.
    const bool is_short = wanted_ > static_cast<std::int64_t>(active_.size());
    if (is_short && !view_.create_failure.empty()) {
      SetCondition(status, {"ReplicaFailure", "True", "FailedCreate", view_.create_failure}, now_);
      return;
    }
    Json kept = Json::array();
    for (const Json& condition : ArrayAt(set_, {"status", "conditions"})) {
      if (StringAt(condition, {"type"}) != "ReplicaFailure") kept.push_back(condition);
    }
    if (kept.empty()) {
      status.erase("conditions");
    } else {
      status["conditions"] = std::move(kept);
    }
  }

  void LookAgain(WallTime at) {
    if (!plan_.look_again || at < *plan_.look_again) plan_.look_again = at;
  }

  const ReplicaSetView& view_;
  const Json& set_;
  const WallTime now_;
  const std::int64_t wanted_;
  std::vector<std::size_t> active_;
  std::int64_t terminating_ = 0;
  ReplicaSetPlan plan_;
};

}  // namespace

ReplicaSetPlan PlanReplicaSet(const ReplicaSetView& view, WallTime now) {
  return ReplicaSetPlanner(view, now).Run();
}

Json MakeReplicaPod(const Json& owner) {
  const Json* found = Find(owner, {"spec", "template"});
  const Json pod_template = found == nullptr ? Json::object() : *found;
  Json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", Json::object()}};
  for (const char* copied : {"labels", "annotations", "finalizers"}) {
    const Json* values = Find(pod_template, {"metadata", copied});
    if (values != nullptr) pod["metadata"][copied] = *values;
  }
  pod["metadata"]["generateName"] = NameOf(owner) + "-";
  pod["metadata"]["ownerReferences"] = Json::array({ControllerReferenceTo(owner)});
  const Json* spec = Find(pod_template, {"spec"});
  pod["spec"] = spec == nullptr ? Json::object() : *spec;
  return pod;
}

}  // namespace berth::local::cluster
