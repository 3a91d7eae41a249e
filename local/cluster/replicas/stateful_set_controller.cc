#include "local/cluster/replicas/stateful_set_controller.h"

#include <algorithm>

#include <fmt/format.h>

#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"
#include "local/cluster/replicas/ownership.h"
#include "local/cluster/replicas/stateful_pods.h"

namespace berth::local::cluster {

StatefulSetController::StatefulSetController(Api& api, ObjectCache& cache, Executor& executor,
                                             Executor& event_writes, const Clock& clock)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      events_(api, clock, executor, event_writes, "statefulset-controller"),
      sets_(
          executor, "statefulset", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  AddOwnerIndexes(cache_, kPods);
  AddOwnerIndexes(cache_, kControllerRevisions);
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  cache_.Listen(kStatefulSets, [this](const ObjectChange& change) {
    sets_.Add(KeyOf(change.any()));
    if (change.current == nullptr) backoffs_.Forget(KeyOf(*change.previous));
  });
}

void StatefulSetController::Start() {
  for (const Object& set : cache_.All(kStatefulSets)) sets_.Add(KeyOf(*set));
  sets_.Start();
}

void StatefulSetController::OnPod(const ObjectChange& change) {
  for (const Object& pod : {change.previous, change.current}) {
    if (pod == nullptr) continue;
    const Json* owner = ControllerRef(*pod);
    if (owner == nullptr || StringAt(*owner, {"kind"}) != "StatefulSet") continue;
    sets_.Add({NamespaceOf(*pod), StringAt(*owner, {"name"})});
  }
  if (change.current == nullptr || ControllerRef(*change.current) != nullptr) return;
  for (const Object& set : cache_.All(kStatefulSets)) {
    if (NamespaceOf(*set) != NamespaceOf(*change.current)) continue;
    if (Selects(Find(*set, {"spec", "selector"}), *change.current)) sets_.Add(KeyOf(*set));
  }
}

Result<NextLook> StatefulSetController::Look(const ObjectKey& key) {
  const Object set = cache_.Get(kStatefulSets, key);
  if (set == nullptr) return NextLook{};
  StatefulSetView view;
  view.set = set;
  view.pods = OwnedAndOrphans(cache_, kPods, *set);
  view.revisions = cache_.ByIndex(kControllerRevisions, kByOwner, OwnerKeyOf(*set));
  view.create_not_before = backoffs_.NotBefore(key);
  const StatefulSetPlan plan = PlanStatefulSet(view, clock_.Now());
  BERTH_CHECK_OK(Perform(view, plan));
  return LookAt(plan.look_again, clock_.Now());
}

Status StatefulSetController::Perform(const StatefulSetView& view, const StatefulSetPlan& plan) {
  const Json& set = *view.set;
  BERTH_CHECK_OK(Claim(view, plan));
  BERTH_CHECK_OK(
      WriteRevision(writer_, kStatefulSets, set, plan.create_revision, plan.change_revision));
  BERTH_CHECK_OK(KeepClaims(view, plan));
  for (const Json& pod : plan.change) {
    BERTH_CHECK_OK(Settled(writer_.Replace(kPods, "", pod)));
  }
  for (const PlannedEvent& event : plan.events) {
    events_.Record(set, event.type, event.reason, event.message);
  }
  BERTH_CHECK_OK(CreatePods(set, plan));
  for (const std::size_t at : plan.remove) {
    const Json& pod = *view.pods[at];
    BERTH_CHECK_OK(writer_.Delete(kPods, pod));
    events_.Record(
        set, EventType::kNormal, "SuccessfulDelete",
        fmt::format("delete Pod {} in StatefulSet {} successful", NameOf(pod), NameOf(set)));
  }
  if (plan.status) {
    BERTH_CHECK_OK(
        Settled(writer_.EditStatus(kStatefulSets, KeyOf(set), UidOf(set), [&](Json& one) {
          one["status"] = *plan.status;
          return true;
        })));
  }
  for (const Object& revision : plan.remove_revisions) {
    BERTH_CHECK_OK(writer_.Delete(kControllerRevisions, *revision));
  }
  return OkStatus();
}

Status StatefulSetController::Claim(const StatefulSetView& view, const StatefulSetPlan& plan) {
  for (const std::size_t at : plan.adopt) {
    BERTH_CHECK_OK(
        WriteOwners(writer_, kPods, *view.pods[at], OwnersWith(*view.pods[at], *view.set)));
  }
  for (const std::size_t at : plan.release) {
    BERTH_CHECK_OK(WriteOwners(writer_, kPods, *view.pods[at],
                               OwnersWithout(*view.pods[at], UidOf(*view.set))));
  }
  return OkStatus();
}

Status StatefulSetController::CreatePods(const Json& set, const StatefulSetPlan& plan) {
  const ObjectKey key = KeyOf(set);
  for (std::size_t at = 0; at < plan.create.size(); ++at) {
    const Json& pod = plan.create[at];
    const std::string name = NameOf(pod);
    if (!MakeClaims(set, plan.ordinals[at], name)) return OkStatus();
    const auto created = writer_.Create(kPods, key.namespace_name, pod);
    if (!created) {
      ReportFailure(set, "Pod " + name, created.error().message);
      return OkStatus();
    }
    events_.Record(set, EventType::kNormal, "SuccessfulCreate",
                   fmt::format("create Pod {} in StatefulSet {} successful", name, key.name));
  }
  if (!plan.create.empty()) backoffs_.Forget(key);
  return OkStatus();
}

// Where the API does not serve claims, pods run without them.
bool StatefulSetController::MakeClaims(const Json& set, std::int64_t ordinal,
                                       const std::string& pod) {
  if (!HasClaims(set) || !cache_.Track(kPersistentVolumeClaims)) return true;
  for (const Json& claim : ClaimsOf(set, ordinal)) {
    if (cache_.Get(kPersistentVolumeClaims, KeyOf(claim)) != nullptr) continue;
    const auto created = writer_.Create(kPersistentVolumeClaims, NamespaceOf(set), claim);
    if (!created && created.error().reason != "AlreadyExists") {
      ReportFailure(set, "Claim " + NameOf(claim) + " for Pod " + pod, created.error().message);
      return false;
    }
    events_.Record(set, EventType::kNormal, "SuccessfulCreate",
                   fmt::format("create Claim {} Pod {} in StatefulSet {} success", NameOf(claim),
                               pod, NameOf(set)));
  }
  return true;
}

// The owners of claims, by which garbage collection deletes or keeps them.
Status StatefulSetController::KeepClaims(const StatefulSetView& view, const StatefulSetPlan& plan) {
  const Json& set = *view.set;
  if (!HasClaims(set) || view.pods.empty() || !cache_.Track(kPersistentVolumeClaims)) {
    return OkStatus();
  }
  for (std::size_t at = 0; at < view.pods.size(); ++at) {
    const Json& pod = *view.pods[at];
    const Json* owner = ControllerRef(pod);
    const auto ordinal = OrdinalOf(NameOf(pod), NameOf(set));
    if (!ordinal || owner == nullptr || StringAt(*owner, {"uid"}) != UidOf(set)) continue;
    const bool condemned =
        std::find(plan.condemned.begin(), plan.condemned.end(), at) != plan.condemned.end();
    for (const Json& wanted : ClaimsOf(set, *ordinal)) {
      const Object claim = cache_.Get(kPersistentVolumeClaims, KeyOf(wanted));
      if (claim == nullptr || IsDeleting(*claim)) continue;
      const auto owners = ClaimOwners(set, *claim, &pod, condemned);
      if (!owners) continue;
      BERTH_CHECK_OK(WriteOwners(writer_, kPersistentVolumeClaims, *claim, *owners));
    }
  }
  return OkStatus();
}

void StatefulSetController::ReportFailure(const Json& set, const std::string& what,
                                          const std::string& why) {
  backoffs_.NoteFailure(KeyOf(set), clock_.Now());
  sets_.Add(KeyOf(set));  // for the time of the next try
  events_.Record(
      set, EventType::kWarning, "FailedCreate",
      fmt::format("create {} in StatefulSet {} failed error: {}", what, NameOf(set), why));
}

}  // namespace berth::local::cluster
