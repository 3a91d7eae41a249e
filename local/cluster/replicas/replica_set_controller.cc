#include "local/cluster/replicas/replica_set_controller.h"

#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/ownership.h"

namespace berth::local::cluster {
namespace {

const char* KindName(ReplicaKinds kinds) {
  return kinds == ReplicaKinds::kSets ? "ReplicaSet" : "ReplicationController";
}

}  // namespace

ReplicaSetController::ReplicaSetController(Api& api, ObjectCache& cache, Executor& executor,
                                           Executor& event_writes, const Clock& clock,
                                           ReplicaKinds kinds)
    : kinds_(kinds),
      resource_(kinds == ReplicaKinds::kSets ? kReplicaSets : kReplicationControllers),
      cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      events_(api, clock, executor, event_writes,
              kinds == ReplicaKinds::kSets ? "replicaset-controller" : "replication-controller"),
      sets_(
          executor, kinds == ReplicaKinds::kSets ? "replicaset" : "replicationcontroller",
          [this](const ObjectKey& key) { return Look(key); }, LookOptions(clock)) {
  if (kinds == ReplicaKinds::kSets) AddOwnerIndexes(cache_, kPods);
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  cache_.Listen(resource_, [this](const ObjectChange& change) {
    sets_.Add(KeyOf(change.any()));
    if (change.current == nullptr) create_backoffs_.erase(KeyOf(*change.previous));
  });
}

void ReplicaSetController::Start() {
  for (const Object& set : cache_.All(resource_)) sets_.Add(KeyOf(*set));
  sets_.Start();
}

void ReplicaSetController::OnPod(const ObjectChange& change) {
  // The controller may have changed: both learn of it.
  for (const Object& pod : {change.previous, change.current}) {
    if (pod == nullptr) continue;
    const Json* owner = ControllerRef(*pod);
    if (owner == nullptr || StringAt(*owner, {"kind"}) != KindName(kinds_)) continue;
    sets_.Add({NamespaceOf(*pod), StringAt(*owner, {"name"})});
  }
  if (change.current == nullptr || ControllerRef(*change.current) != nullptr) return;
  for (const Object& set : cache_.All(resource_)) {
    if (NamespaceOf(*set) != NamespaceOf(*change.current)) continue;
    const Object asked = AsReplicaSet(set);
    if (Selects(Find(*asked, {"spec", "selector"}), *change.current)) sets_.Add(KeyOf(*set));
  }
}

Object ReplicaSetController::AsReplicaSet(const Object& object) const {
  if (object == nullptr || kinds_ == ReplicaKinds::kSets) return object;
  Json set = *object;
  const Json* labels = Find(set, {"spec", "selector"});
  if (labels != nullptr) set["spec"]["selector"] = Json{{"matchLabels", Json(*labels)}};
  return std::make_shared<const Json>(std::move(set));
}

Result<NextLook> ReplicaSetController::Look(const ObjectKey& key) {
  const Object set = AsReplicaSet(cache_.Get(resource_, key));
  if (set == nullptr) return NextLook{};
  ReplicaSetView view;
  view.set = set;
  view.pods = OwnedAndOrphans(cache_, kPods, *set);
  if (const auto backoff = create_backoffs_.find(key); backoff != create_backoffs_.end()) {
    view.create_failure = backoff->second.message;
    view.create_not_before = backoff->second.until;
  }
  const ReplicaSetPlan plan = PlanReplicaSet(view, clock_.Now());
  BERTH_CHECK_OK(Claim(view, plan));
  if (plan.create > 0) CreatePods(key, *set, plan.create);
  for (const std::size_t at : plan.remove) {
    BERTH_CHECK_OK(writer_.Delete(kPods, *view.pods[at]));
    events_.Record(*set, EventType::kNormal, "SuccessfulDelete",
                   "Deleted pod: " + NameOf(*view.pods[at]));
  }
  if (plan.status) {
    const auto written = writer_.EditStatus(resource_, key, UidOf(*set), [&](Json& one) {
      one["status"] = *plan.status;
      return true;
    });
    if (!written && written.error().reason != "NotFound") return ToError(written.error());
  }
  return LookAt(plan.look_again, clock_.Now());
}

Status ReplicaSetController::Claim(const ReplicaSetView& view, const ReplicaSetPlan& plan) {
  const auto write = [&](const Json& pod, Json owners) -> Status {
    const auto written = writer_.Edit(kPods, KeyOf(pod), UidOf(pod), "", [&](Json& one) {
      one["metadata"]["ownerReferences"] = owners;
      return true;
    });
    if (written || written.error().reason == "NotFound") return OkStatus();
    return ToError(written.error());
  };
  for (const std::size_t at : plan.adopt) {
    BERTH_CHECK_OK(write(*view.pods[at], OwnersWith(*view.pods[at], *view.set)));
  }
  for (const std::size_t at : plan.release) {
    BERTH_CHECK_OK(write(*view.pods[at], OwnersWithout(*view.pods[at], UidOf(*view.set))));
  }
  return OkStatus();
}

void ReplicaSetController::CreatePods(const ObjectKey& key, const Json& set, std::size_t count) {
  const Json pod = MakeReplicaPod(set);
  for (std::size_t made = 0; made < count; ++made) {
    const auto created = writer_.Create(kPods, key.namespace_name, pod);
    if (created) {
      events_.Record(set, EventType::kNormal, "SuccessfulCreate",
                     "Created pod: " + NameOf(**created));
      continue;
    }
    create_backoffs_[key].OnFailure(clock_.Now(), created.error().message);
    sets_.Add(key);  // for the condition
    events_.Record(set, EventType::kWarning, "FailedCreate",
                   "Error creating: " + created.error().message);
    return;
  }
  if (create_backoffs_.erase(key) > 0) sets_.Add(key);
}

}  // namespace berth::local::cluster
