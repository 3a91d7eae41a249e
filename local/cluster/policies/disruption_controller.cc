#include "local/cluster/policies/disruption_controller.h"

#include "local/apiserver/schema/selector.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"
#include "local/cluster/replicas/rollout_numbers.h"

namespace berth::local::cluster {

DisruptionController::DisruptionController(Api& api, ObjectCache& cache, Executor& executor,
                                           const Clock& clock)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      budgets_(
          executor, "disruption", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  cache_.Listen(kDisruptionBudgets,
                [this](const ObjectChange& change) { budgets_.Add(KeyOf(change.any())); });
  for (const ResourceId* sized :
       {&kDeployments, &kReplicaSets, &kReplicationControllers, &kStatefulSets}) {
    cache_.Listen(*sized, [this](const ObjectChange& change) {
      for (const Object& budget : cache_.All(kDisruptionBudgets)) {
        if (NamespaceOf(*budget) == NamespaceOf(change.any())) budgets_.Add(KeyOf(*budget));
      }
    });
  }
}

void DisruptionController::Start() {
  for (const Object& budget : cache_.All(kDisruptionBudgets)) budgets_.Add(KeyOf(*budget));
  budgets_.Start();
}

void DisruptionController::OnPod(const ObjectChange& change) {
  for (const Object& budget : cache_.All(kDisruptionBudgets)) {
    if (NamespaceOf(*budget) != NamespaceOf(change.any())) continue;
    for (const Object& pod : {change.previous, change.current}) {
      if (pod != nullptr && SelectorMatches(*budget, *pod)) budgets_.Add(KeyOf(*budget));
    }
  }
}

Result<NextLook> DisruptionController::Look(const ObjectKey& key) {
  const Object budget = cache_.Get(kDisruptionBudgets, key);
  if (budget == nullptr) return NextLook{};
  const DisruptionPlan plan = PlanDisruption(View(budget), clock_.Now());
  if (plan.status) {
    // The status fits the state that was planned with: an eviction in between is a conflict.
    Json next = *budget;
    next["status"] = *plan.status;
    const auto written = writer_.Replace(kDisruptionBudgets, "status", next);
    BERTH_CHECK_OK(Settled(written));
  }
  return LookAt(plan.look_again, clock_.Now());
}

DisruptionView DisruptionController::View(const Object& budget) const {
  DisruptionView view;
  view.budget = budget;
  for (const Object& pod : cache_.All(kPods)) {
    if (NamespaceOf(*pod) != NamespaceOf(*budget) || !SelectorMatches(*budget, *pod)) continue;
    view.pods.push_back(pod);
    const Json* owner = ControllerRef(*pod);
    if (owner == nullptr) continue;
    if (const auto size = SizeFor(*pod, *owner)) {
      view.size_by_controller[StringAt(*owner, {"uid"})] = *size;
    }
  }
  return view;
}

std::optional<std::int64_t> DisruptionController::SizeFor(const Json& pod,
                                                          const Json& owner) const {
  const ObjectKey key{NamespaceOf(pod), StringAt(owner, {"name"})};
  const std::string kind = StringAt(owner, {"kind"});
  Object found;
  if (kind == "StatefulSet") found = cache_.Get(kStatefulSets, key);
  if (kind == "ReplicaSet") found = cache_.Get(kReplicaSets, key);
  if (kind == "ReplicationController") found = cache_.Get(kReplicationControllers, key);
  if (found == nullptr) return std::nullopt;
  // During a rollout a Deployment owns several ReplicaSets. Use the Deployment's replica count, not
  // the ReplicaSet's, as the expected size.
  const Json* deployment = ControllerRef(*found);
  if (deployment != nullptr && StringAt(*deployment, {"kind"}) == "Deployment") {
    const Object whole =
        cache_.Get(kDeployments, {key.namespace_name, StringAt(*deployment, {"name"})});
    if (whole != nullptr) found = whole;
  }
  return WantedReplicas(*found);
}

}  // namespace berth::local::cluster
