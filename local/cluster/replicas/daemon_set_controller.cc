#include "local/cluster/replicas/daemon_set_controller.h"

#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"
#include "local/cluster/replicas/ownership.h"

namespace berth::local::cluster {
namespace {

// What a DaemonSet reads of a node; conditions and heartbeats are not among it.
bool IsSameForDaemons(const Json& a, const Json& b) {
  return a.at("metadata").value("labels", Json()) == b.at("metadata").value("labels", Json()) &&
         ArrayAt(a, {"spec", "taints"}) == ArrayAt(b, {"spec", "taints"});
}

}  // namespace

DaemonSetController::DaemonSetController(Api& api, ObjectCache& cache, Executor& executor,
                                         Executor& event_writes, const Clock& clock)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      events_(api, clock, executor, event_writes, "daemonset-controller"),
      sets_(
          executor, "daemonset", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  AddOwnerIndexes(cache_, kPods);
  AddOwnerIndexes(cache_, kControllerRevisions);
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  cache_.Listen(kNodes, [this](const ObjectChange& change) { OnNode(change); });
  cache_.Listen(kDaemonSets, [this](const ObjectChange& change) {
    sets_.Add(KeyOf(change.any()));
    if (change.current == nullptr) backoffs_.Forget(KeyOf(*change.previous));
  });
}

void DaemonSetController::Start() {
  for (const Object& set : cache_.All(kDaemonSets)) sets_.Add(KeyOf(*set));
  sets_.Start();
}

void DaemonSetController::OnPod(const ObjectChange& change) {
  for (const Object& pod : {change.previous, change.current}) {
    if (pod == nullptr) continue;
    const Json* owner = ControllerRef(*pod);
    if (owner == nullptr || StringAt(*owner, {"kind"}) != "DaemonSet") continue;
    sets_.Add({NamespaceOf(*pod), StringAt(*owner, {"name"})});
  }
  if (change.current == nullptr || ControllerRef(*change.current) != nullptr) return;
  for (const Object& set : cache_.All(kDaemonSets)) {
    if (NamespaceOf(*set) != NamespaceOf(*change.current)) continue;
    if (Selects(Find(*set, {"spec", "selector"}), *change.current)) sets_.Add(KeyOf(*set));
  }
}

void DaemonSetController::OnNode(const ObjectChange& change) {
  const bool is_known = change.previous != nullptr && change.current != nullptr;
  if (is_known && IsSameForDaemons(*change.previous, *change.current)) return;
  for (const Object& set : cache_.All(kDaemonSets)) sets_.Add(KeyOf(*set));
}

Result<NextLook> DaemonSetController::Look(const ObjectKey& key) {
  const Object set = cache_.Get(kDaemonSets, key);
  if (set == nullptr) return NextLook{};
  DaemonSetView view;
  view.set = set;
  view.nodes = cache_.All(kNodes);
  view.pods = OwnedAndOrphans(cache_, kPods, *set);
  view.revisions = cache_.ByIndex(kControllerRevisions, kByOwner, OwnerKeyOf(*set));
  view.create_not_before = backoffs_.NotBefore(key);
  const DaemonSetPlan plan = PlanDaemonSet(view, clock_.Now());
  BERTH_CHECK_OK(Perform(view, plan));
  return LookAt(plan.look_again, clock_.Now());
}

Status DaemonSetController::Perform(const DaemonSetView& view, const DaemonSetPlan& plan) {
  const Json& set = *view.set;
  for (const std::size_t at : plan.adopt) {
    const Json& pod = *view.pods[at];
    BERTH_CHECK_OK(WriteOwners(writer_, kPods, pod, OwnersWith(pod, set)));
  }
  for (const std::size_t at : plan.release) {
    const Json& pod = *view.pods[at];
    BERTH_CHECK_OK(WriteOwners(writer_, kPods, pod, OwnersWithout(pod, UidOf(set))));
  }
  BERTH_CHECK_OK(
      WriteRevision(writer_, kDaemonSets, set, plan.create_revision, plan.change_revision));
  CreatePods(set, plan);
  for (const PlannedEvent& event : plan.events) {
    events_.Record(set, event.type, event.reason, event.message);
  }
  for (const std::size_t at : plan.remove) {
    BERTH_CHECK_OK(writer_.Delete(kPods, *view.pods[at]));
    events_.Record(set, EventType::kNormal, "SuccessfulDelete",
                   "Deleted pod: " + NameOf(*view.pods[at]));
  }
  if (plan.status) {
    BERTH_CHECK_OK(Settled(writer_.EditStatus(kDaemonSets, KeyOf(set), UidOf(set), [&](Json& one) {
      one["status"] = *plan.status;
      return true;
    })));
  }
  for (const Object& revision : plan.remove_revisions) {
    BERTH_CHECK_OK(writer_.Delete(kControllerRevisions, *revision));
  }
  return OkStatus();
}

void DaemonSetController::CreatePods(const Json& set, const DaemonSetPlan& plan) {
  const ObjectKey key = KeyOf(set);
  for (const Json& pod : plan.create) {
    const auto created = writer_.Create(kPods, key.namespace_name, pod);
    if (created) {
      events_.Record(set, EventType::kNormal, "SuccessfulCreate",
                     "Created pod: " + NameOf(**created));
      continue;
    }
    backoffs_.NoteFailure(key, clock_.Now());
    sets_.Add(key);  // for the time of the next try
    events_.Record(set, EventType::kWarning, "FailedCreate",
                   "Error creating: " + created.error().message);
    return;
  }
  if (!plan.create.empty()) backoffs_.Forget(key);
}

}  // namespace berth::local::cluster
