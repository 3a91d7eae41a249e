#include "local/cluster/replicas/deployment_controller.h"

#include <algorithm>

#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"
#include "local/cluster/replicas/ownership.h"
#include "local/cluster/replicas/rollout_numbers.h"

namespace berth::local::cluster {

DeploymentController::DeploymentController(Api& api, ObjectCache& cache, Executor& executor,
                                           Executor& event_writes, const Clock& clock)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      events_(api, clock, executor, event_writes, "deployment-controller"),
      deployments_(
          executor, "deployment", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  AddOwnerIndexes(cache_, kReplicaSets);
  AddOwnerIndexes(cache_, kPods);
  cache_.Listen(kDeployments,
                [this](const ObjectChange& change) { deployments_.Add(KeyOf(change.any())); });
  cache_.Listen(kReplicaSets, [this](const ObjectChange& change) { OnSet(change); });
  // The strategy Recreate waits for the end of pods.
  cache_.Listen(kPods, [this](const ObjectChange& change) {
    if (change.current == nullptr || HasEnded(*change.current)) OnPodGone(change.any());
  });
}

void DeploymentController::Start() {
  for (const Object& deployment : cache_.All(kDeployments)) deployments_.Add(KeyOf(*deployment));
  deployments_.Start();
}

void DeploymentController::OnSet(const ObjectChange& change) {
  for (const Object& set : {change.previous, change.current}) {
    if (set == nullptr) continue;
    const Json* owner = ControllerRef(*set);
    if (owner == nullptr || StringAt(*owner, {"kind"}) != "Deployment") continue;
    deployments_.Add({NamespaceOf(*set), StringAt(*owner, {"name"})});
  }
  if (change.current == nullptr || ControllerRef(*change.current) != nullptr) return;
  for (const Object& deployment : cache_.All(kDeployments)) {
    if (NamespaceOf(*deployment) != NamespaceOf(*change.current)) continue;
    if (Selects(Find(*deployment, {"spec", "selector"}), *change.current)) {
      deployments_.Add(KeyOf(*deployment));
    }
  }
}

void DeploymentController::OnPodGone(const Json& pod) {
  const Json* owner = ControllerRef(pod);
  if (owner == nullptr || StringAt(*owner, {"kind"}) != "ReplicaSet") return;
  const Object set = cache_.Get(kReplicaSets, {NamespaceOf(pod), StringAt(*owner, {"name"})});
  const Json* deployment = set == nullptr ? nullptr : ControllerRef(*set);
  if (deployment == nullptr) return;
  deployments_.Add({NamespaceOf(pod), StringAt(*deployment, {"name"})});
}

DeploymentView DeploymentController::View(const Object& deployment) const {
  DeploymentView view;
  view.deployment = deployment;
  view.sets = OwnedAndOrphans(cache_, kReplicaSets, *deployment);
  if (IsRollingUpdate(*deployment)) return view;
  for (const Object& set : view.sets) {
    const Json* owner = ControllerRef(*set);
    if (owner == nullptr || HasTemplateOf(*set, *deployment)) continue;
    for (const Object& pod : cache_.ByIndex(kPods, kByOwner, OwnerKeyOf(*set))) {
      view.old_pods_run = view.old_pods_run || !HasEnded(*pod);
    }
  }
  return view;
}

Result<NextLook> DeploymentController::Look(const ObjectKey& key) {
  const Object deployment = cache_.Get(kDeployments, key);
  if (deployment == nullptr) return NextLook{};
  const DeploymentView view = View(deployment);
  const DeploymentPlan plan = PlanDeployment(view, clock_.Now());
  BERTH_CHECK_OK(Perform(view, plan));
  return LookAt(plan.look_again, clock_.Now());
}

Status DeploymentController::Perform(const DeploymentView& view, const DeploymentPlan& plan) {
  const Json& deployment = *view.deployment;
  BERTH_CHECK_OK(Claim(view, plan));
  for (const Json& set : plan.change) {
    const auto written = writer_.Replace(kReplicaSets, "", set);
    if (!written) return ToError(written.error());
  }
  if (plan.create) BERTH_CHECK_OK(CreateSet(deployment, *plan.create));
  for (const PlannedEvent& event : plan.events) {
    events_.Record(deployment, event.type, event.reason, event.message);
  }
  for (const std::size_t at : plan.remove) {
    BERTH_CHECK_OK(writer_.Delete(kReplicaSets, *view.sets[at]));
  }
  return WriteDeployment(deployment, plan);
}

Status DeploymentController::Claim(const DeploymentView& view, const DeploymentPlan& plan) {
  for (const std::size_t at : plan.adopt) {
    BERTH_CHECK_OK(WriteOwners(writer_, kReplicaSets, *view.sets[at],
                               OwnersWith(*view.sets[at], *view.deployment)));
  }
  for (const std::size_t at : plan.release) {
    BERTH_CHECK_OK(WriteOwners(writer_, kReplicaSets, *view.sets[at],
                               OwnersWithout(*view.sets[at], UidOf(*view.deployment))));
  }
  return OkStatus();
}

// Another object of that name has another template: the next hash counts the collision.
Status DeploymentController::CreateSet(const Json& deployment, const Json& set) {
  const auto created = writer_.Create(kReplicaSets, NamespaceOf(deployment), set);
  if (created) return OkStatus();
  if (created.error().reason != "AlreadyExists") {
    events_.Record(
        deployment, EventType::kWarning, "ReplicaSetCreateError",
        "Failed to create new replica set \"" + NameOf(set) + "\": " + created.error().message);
    return ToError(created.error());
  }
  BERTH_CHECK_OK(
      Settled(writer_.EditStatus(kDeployments, KeyOf(deployment), UidOf(deployment), [](Json& one) {
        one["status"]["collisionCount"] = IntAt(one, {"status", "collisionCount"}) + 1;
        return true;
      })));
  return Error{ErrorCode::kConflict, "replica set " + NameOf(set) + " exists"};
}

Status DeploymentController::WriteDeployment(const Json& deployment, const DeploymentPlan& plan) {
  const ObjectKey key = KeyOf(deployment);
  if (plan.revision) {
    BERTH_CHECK_OK(Settled(writer_.Edit(kDeployments, key, UidOf(deployment), "", [&](Json& one) {
      one["metadata"]["annotations"][kRevision] = *plan.revision;
      return true;
    })));
  }
  if (!plan.status) return OkStatus();
  return Settled(writer_.EditStatus(kDeployments, key, UidOf(deployment), [&](Json& one) {
    // The plan is of an earlier template: the next one counts what is there.
    if (IntAt(one, {"metadata", "generation"}) != IntAt(deployment, {"metadata", "generation"})) {
      return false;
    }
    one["status"] = *plan.status;
    return true;
  }));
}

}  // namespace berth::local::cluster
