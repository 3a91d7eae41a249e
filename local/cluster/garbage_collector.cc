#include "local/cluster/garbage_collector.h"

#include <algorithm>

#include "local/cluster/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr char kForeground[] = "foregroundDeletion";
constexpr char kOrphan[] = "orphan";

// Events have no owners and no dependents, and there are many.
bool IsIgnored(const ResourceId& resource) { return resource.resource == "events"; }

std::string GroupOf(const std::string& api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string::npos ? "" : api_version.substr(0, slash);
}

bool Blocks(const Json& dependent, const std::string& owner_uid) {
  for (const Json& owner : ArrayAt(dependent, {"metadata", "ownerReferences"})) {
    if (StringAt(owner, {"uid"}) == owner_uid) return BoolAt(owner, {"blockOwnerDeletion"});
  }
  return false;
}

}  // namespace

GarbageCollector::GarbageCollector(Api& api, ObjectCache& cache, Executor& executor,
                                   const Clock& clock)
    : api_(api),
      executor_(executor),
      writer_(api, cache, "kube-controller-manager"),
      members_("garbage", executor, clock,
               [this](const ObjectKey& key) { return Look(key.name); }) {}

void GarbageCollector::Start() {
  watch_ = api_.WatchAll([this, inbox = inbox_, alive = std::weak_ptr<bool>(alive_)](
                             const ResourceId& resource, const WatchEvent& event) {
    if (IsIgnored(resource)) return;
    {
      const std::lock_guard lock(inbox->mutex);
      inbox->changes.emplace_back(resource, event);
      if (inbox->drain_is_posted) return;
      inbox->drain_is_posted = true;
    }
    executor_.Post([this, alive] {
      if (!alive.expired()) Drain();
    });
  });
}

void GarbageCollector::Drain() {
  std::vector<Change> changes;
  {
    const std::lock_guard lock(inbox_->mutex);
    changes.swap(inbox_->changes);
    inbox_->drain_is_posted = false;
  }
  for (const auto& [resource, event] : changes) Handle(resource, event);
}

void GarbageCollector::Handle(const ResourceId& resource, const WatchEvent& event) {
  const std::string uid = UidOf(*event.object);
  if (event.type == WatchEvent::Type::kDeleted) {
    Forget(uid);
    QueueDependents(uid);
    return;
  }
  Remember(resource, event.object);
  const Json& object = *event.object;
  const bool finishes =
      IsDeleting(object) && (HasFinalizer(object, kForeground) || HasFinalizer(object, kOrphan));
  if (finishes || !member_by_uid_.at(uid).owner_uids.empty()) members_.Add({"", uid});
  if (finishes) QueueDependents(uid);
}

void GarbageCollector::Remember(const ResourceId& resource, const Object& object) {
  const std::string uid = UidOf(*object);
  Member& member = member_by_uid_[uid];
  for (const std::string& owner : member.owner_uids) dependents_by_owner_[owner].erase(uid);
  member.resource = resource;
  member.object = object;
  member.owner_uids.clear();
  for (const Json& owner : ArrayAt(*object, {"metadata", "ownerReferences"})) {
    member.owner_uids.push_back(StringAt(owner, {"uid"}));
    dependents_by_owner_[member.owner_uids.back()].insert(uid);
  }
}

void GarbageCollector::Forget(const std::string& uid) {
  const auto member = member_by_uid_.find(uid);
  if (member == member_by_uid_.end()) return;
  for (const std::string& owner : member->second.owner_uids) {
    const auto dependents = dependents_by_owner_.find(owner);
    if (dependents == dependents_by_owner_.end()) continue;
    dependents->second.erase(uid);
    if (dependents->second.empty()) dependents_by_owner_.erase(dependents);
    if (member_by_uid_.count(owner) != 0) members_.Add({"", owner});  // it may have waited for us
  }
  member_by_uid_.erase(member);
}

void GarbageCollector::QueueDependents(const std::string& uid) {
  const auto dependents = dependents_by_owner_.find(uid);
  if (dependents == dependents_by_owner_.end()) return;
  for (const std::string& dependent : dependents->second) members_.Add({"", dependent});
}

Result<NextLook> GarbageCollector::Look(const std::string& uid) {
  const auto found = member_by_uid_.find(uid);
  if (found == member_by_uid_.end()) return NextLook{};
  const Member member = found->second;  // a copy: what we write comes back as events
  if (IsDeleting(*member.object)) {
    if (HasFinalizer(*member.object, kOrphan)) return FinishOrphaning(member);
    if (HasFinalizer(*member.object, kForeground)) return FinishForeground(member);
    return NextLook{};
  }
  return LookAtOwners(member);
}

Result<NextLook> GarbageCollector::LookAtOwners(const Member& member) {
  std::vector<OwnerView> owners;
  for (const Json& owner : ArrayAt(*member.object, {"metadata", "ownerReferences"})) {
    BERTH_TRY(const OwnerState state, StateOf(member, owner));
    owners.push_back({StringAt(owner, {"uid"}), state});
  }
  const std::string uid = UidOf(*member.object);
  const bool has_dependents = dependents_by_owner_.count(uid) != 0;
  const GarbagePlan plan = PlanGarbage(*member.object, owners, has_dependents);
  if (plan.action == GarbagePlan::Action::kDelete) {
    DeleteOptions options;
    options.propagation_policy = plan.propagation_policy;
    BERTH_CHECK_OK(writer_.Delete(member.resource, *member.object, options));
  } else if (plan.action == GarbagePlan::Action::kDropOwners) {
    const auto edited = writer_.Edit(member.resource, KeyOf(*member.object), uid, "",
                                     [&](Json& object) { return DropOwners(object, plan.drop); });
    if (!edited && edited.error().reason != "NotFound") return ToError(edited.error());
  }
  return NextLook{};
}

// An owner in another namespace is no owner; one of a kind that nobody serves is left in peace.
Result<OwnerState> GarbageCollector::StateOf(const Member& member, const Json& owner) {
  const std::string uid = StringAt(owner, {"uid"});
  const auto known = member_by_uid_.find(uid);
  const std::string own_namespace = NamespaceOf(*member.object);
  if (known != member_by_uid_.end()) {
    const Json& object = *known->second.object;
    const std::string namespace_name = NamespaceOf(object);
    if (!namespace_name.empty() && namespace_name != own_namespace) return OwnerState::kGone;
    const bool waits =
        IsDeleting(object) && HasFinalizer(object, kForeground) && Blocks(*member.object, uid);
    return waits ? OwnerState::kWaiting : OwnerState::kThere;
  }
  const std::string group = GroupOf(StringAt(owner, {"apiVersion"}));
  const std::string kind = StringAt(owner, {"kind"});
  for (const Api::KindInfo& info : api_.Kinds()) {
    if (info.id.group != group || info.kind != kind) continue;
    if (info.namespaced && own_namespace.empty()) return OwnerState::kGone;
    const auto read =
        api_.Get(info.id, info.namespaced ? own_namespace : "", StringAt(owner, {"name"}));
    if (read) return UidOf(**read) == uid ? OwnerState::kThere : OwnerState::kGone;
    if (read.error().reason == "NotFound") return OwnerState::kGone;
    return ToError(read.error());
  }
  return OwnerState::kThere;
}

// Its dependents delete themselves, seeing that it waits; those that block it must be gone first.
Result<NextLook> GarbageCollector::FinishForeground(const Member& member) {
  const std::string uid = UidOf(*member.object);
  const auto dependents = dependents_by_owner_.find(uid);
  if (dependents != dependents_by_owner_.end()) {
    for (const std::string& dependent : dependents->second) {
      if (Blocks(*member_by_uid_.at(dependent).object, uid)) return NextLook{};
    }
  }
  BERTH_CHECK_OK(TakeFinalizer(member, kForeground));
  return NextLook{};
}

Result<NextLook> GarbageCollector::FinishOrphaning(const Member& member) {
  const std::string uid = UidOf(*member.object);
  std::vector<Member> orphans;
  if (const auto found = dependents_by_owner_.find(uid); found != dependents_by_owner_.end()) {
    for (const std::string& dependent : found->second) {
      orphans.push_back(member_by_uid_.at(dependent));
    }
  }
  for (const Member& orphan : orphans) {
    const auto edited = writer_.Edit(orphan.resource, KeyOf(*orphan.object), UidOf(*orphan.object),
                                     "", [&](Json& object) { return DropOwners(object, {uid}); });
    if (!edited && edited.error().reason != "NotFound") return ToError(edited.error());
  }
  BERTH_CHECK_OK(TakeFinalizer(member, kOrphan));
  return NextLook{};
}

Status GarbageCollector::TakeFinalizer(const Member& member, const char* finalizer) {
  const auto edited =
      writer_.Edit(member.resource, KeyOf(*member.object), UidOf(*member.object), "",
                   [&](Json& object) { return RemoveFinalizer(object, finalizer); });
  if (edited || edited.error().reason == "NotFound") return OkStatus();
  return ToError(edited.error());
}

}  // namespace berth::local::cluster
