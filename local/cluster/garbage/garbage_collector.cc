#include "local/cluster/garbage/garbage_collector.h"

#include <algorithm>

#include "api/api_version.h"
#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr char kForeground[] = "foregroundDeletion";
constexpr char kOrphan[] = "orphan";

// Events have neither owners nor dependents, and are many.
bool IsIgnored(const ResourceId& resource) { return resource.resource == "events"; }

}  // namespace

GarbageCollector::GarbageCollector(WholeApi& api, ObjectCache& cache, Executor& executor,
                                   const Clock& clock)
    : api_(api),
      executor_(executor),
      writer_(api, cache, "kube-controller-manager"),
      members_(
          executor, "garbage", [this](const ObjectKey& key) { return Look(key.name); },
          LookOptions(clock)) {}

void GarbageCollector::Start() {
  members_.Start();
  watch_ = api_.WatchAll(WatchFrom::kMetadata,
                         [this, inbox = inbox_, alive = std::weak_ptr<bool>(alive_)](
                             const ResourceId& resource, const WatchEvent& event) {
                           if (IsIgnored(resource)) return;
                           News news = NewsOf(resource, event);
                           {
                             const std::lock_guard lock(inbox->mutex);
                             inbox->news.push_back(std::move(news));
                             if (inbox->drain_is_posted) return;
                             inbox->drain_is_posted = true;
                           }
                           executor_.Post([this, alive] {
                             if (!alive.expired()) Drain();
                           });
                         });
}

void GarbageCollector::Drain() {
  std::vector<News> all;
  {
    const std::lock_guard lock(inbox_->mutex);
    all.swap(inbox_->news);
    inbox_->drain_is_posted = false;
  }
  for (News& news : all) Handle(std::move(news));
}

// Runs on the watch's thread.
GarbageCollector::News GarbageCollector::NewsOf(const ResourceId& resource,
                                                const WatchEvent& event) {
  const Json& object = *event.object;
  News news;
  news.uid = UidOf(object);
  news.is_gone = event.type == WatchEvent::Type::kDeleted;
  if (news.is_gone) return news;
  const bool foreground = IsDeleting(object) && HasFinalizer(object, kForeground);
  news.finishes = foreground || (IsDeleting(object) && HasFinalizer(object, kOrphan));
  news.member = {.resource = resource, .key = KeyOf(object), .waits_for_dependents = foreground};
  for (const Json& owner : ArrayAt(object, {"metadata", "ownerReferences"})) {
    news.member.blocks_by_owner[StringAt(owner, {"uid"})] = BoolAt(owner, {"blockOwnerDeletion"});
  }
  return news;
}

void GarbageCollector::Handle(News news) {
  const std::string& uid = news.uid;
  if (news.is_gone) {
    Forget(uid);
    QueueDependents(uid);
    return;
  }
  Remember(uid, std::move(news.member));
  const Member& member = member_by_uid_.at(uid);
  if (news.finishes || !member.blocks_by_owner.empty()) members_.Add({"", uid});
  for (const auto& [owner, blocks] : member.blocks_by_owner) {
    const auto waiting = member_by_uid_.find(owner);
    if (blocks || waiting == member_by_uid_.end()) continue;
    if (waiting->second.waits_for_dependents) members_.Add({"", owner});  // maybe not for this one
  }
  if (news.finishes) QueueDependents(uid);
}

void GarbageCollector::Remember(const std::string& uid, Member next) {
  Member& member = member_by_uid_[uid];
  for (const auto& [owner, blocks] : member.blocks_by_owner) {
    const auto dependents = dependents_by_owner_.find(owner);
    dependents->second.erase(uid);
    if (dependents->second.empty()) dependents_by_owner_.erase(dependents);
  }
  member = std::move(next);
  for (const auto& [owner, blocks] : member.blocks_by_owner) {
    dependents_by_owner_[owner].insert(uid);
  }
}

void GarbageCollector::Forget(const std::string& uid) {
  const auto member = member_by_uid_.find(uid);
  if (member == member_by_uid_.end()) return;
  for (const auto& [owner, blocks] : member->second.blocks_by_owner) {
    const auto dependents = dependents_by_owner_.find(owner);
    if (dependents == dependents_by_owner_.end()) continue;
    dependents->second.erase(uid);
    if (dependents->second.empty()) dependents_by_owner_.erase(dependents);
    if (member_by_uid_.count(owner) != 0) members_.Add({"", owner});  // it may wait for this one
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
  const ResourceId resource = found->second.resource;  // a copy: writes change the graph
  const ObjectKey key = found->second.key;
  const auto read = api_.Get(resource, key.namespace_name, key.name);
  if (!read) {
    if (read.error().code == 404) return NextLook{};
    return ToError(read.error());
  }
  const Json& object = **read;
  if (UidOf(object) != uid) return NextLook{};
  if (!IsDeleting(object)) return LookAtOwners(resource, object);
  if (HasFinalizer(object, kOrphan)) return FinishOrphaning(resource, object);
  if (HasFinalizer(object, kForeground)) return FinishForeground(resource, object);
  return NextLook{};
}

Result<NextLook> GarbageCollector::LookAtOwners(const ResourceId& resource, const Json& object) {
  std::vector<OwnerView> owners;
  for (const Json& owner : ArrayAt(object, {"metadata", "ownerReferences"})) {
    BERTH_TRY(const OwnerState state, StateOf(object, owner));
    owners.push_back({StringAt(owner, {"uid"}), state});
  }
  const std::string uid = UidOf(object);
  const GarbagePlan plan = PlanGarbage(object, owners, dependents_by_owner_.count(uid) != 0);
  if (plan.action == GarbagePlan::Action::kDelete) {
    if (plan.propagation_policy == "Foreground" && IsInCircle(uid)) {
      const auto edited = writer_.Edit(resource, KeyOf(object), uid, "", UnblockOwners);
      if (!edited && edited.error().reason != "NotFound") return ToError(edited.error());
    }
    DeleteOptions options;
    options.propagation_policy = plan.propagation_policy;
    BERTH_CHECK_OK(writer_.Delete(resource, object, options));
  } else if (plan.action == GarbagePlan::Action::kDropOwners) {
    const auto edited = writer_.Edit(resource, KeyOf(object), uid, "",
                                     [&](Json& one) { return DropOwners(one, plan.drop); });
    if (!edited && edited.error().reason != "NotFound") return ToError(edited.error());
  }
  return NextLook{};
}

// Whether a dependent waits for its own dependents, as in a circle of owners. Kubernetes looks no
// further, either: a reference that does not block is no harm.
bool GarbageCollector::IsInCircle(const std::string& uid) const {
  const auto dependents = dependents_by_owner_.find(uid);
  if (dependents == dependents_by_owner_.end()) return false;
  return std::any_of(
      dependents->second.begin(), dependents->second.end(),
      [&](const std::string& one) { return member_by_uid_.at(one).waits_for_dependents; });
}

// An owner in another namespace does not count; an owner of an unserved kind counts as present.
Result<OwnerState> GarbageCollector::StateOf(const Json& object, const Json& owner) {
  const std::string uid = StringAt(owner, {"uid"});
  const std::string own_namespace = NamespaceOf(object);
  if (const auto known = member_by_uid_.find(uid); known != member_by_uid_.end()) {
    const Member& member = known->second;
    const std::string& namespace_name = member.key.namespace_name;
    if (!namespace_name.empty() && namespace_name != own_namespace) return OwnerState::kGone;
    const bool waits = member.waits_for_dependents && BoolAt(owner, {"blockOwnerDeletion"});
    return waits ? OwnerState::kWaiting : OwnerState::kThere;
  }
  const std::string api_version = StringAt(owner, {"apiVersion"});
  const std::string group(api::GroupOf(api_version));
  const std::string kind = StringAt(owner, {"kind"});
  for (const WholeApi::KindInfo& info : api_.Kinds()) {
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

// Dependents delete themselves when their owner waits; blocking ones must be gone first.
Result<NextLook> GarbageCollector::FinishForeground(const ResourceId& resource,
                                                    const Json& object) {
  const std::string uid = UidOf(object);
  const auto dependents = dependents_by_owner_.find(uid);
  if (dependents != dependents_by_owner_.end()) {
    for (const std::string& dependent : dependents->second) {
      if (member_by_uid_.at(dependent).blocks_by_owner.at(uid)) return NextLook{};
    }
  }
  BERTH_CHECK_OK(TakeFinalizer(resource, object, kForeground));
  return NextLook{};
}

Result<NextLook> GarbageCollector::FinishOrphaning(const ResourceId& resource, const Json& object) {
  const std::string uid = UidOf(object);
  std::vector<std::pair<std::string, Member>> orphans;
  if (const auto found = dependents_by_owner_.find(uid); found != dependents_by_owner_.end()) {
    for (const std::string& dependent : found->second) {
      orphans.emplace_back(dependent, member_by_uid_.at(dependent));
    }
  }
  for (const auto& [orphan_uid, orphan] : orphans) {
    const auto edited = writer_.Edit(orphan.resource, orphan.key, orphan_uid, "",
                                     [&](Json& one) { return DropOwners(one, {uid}); });
    if (!edited && edited.error().reason != "NotFound") return ToError(edited.error());
  }
  BERTH_CHECK_OK(TakeFinalizer(resource, object, kOrphan));
  return NextLook{};
}

Status GarbageCollector::TakeFinalizer(const ResourceId& resource, const Json& object,
                                       const char* finalizer) {
  const auto edited = writer_.Edit(resource, KeyOf(object), UidOf(object), "",
                                   [&](Json& one) { return RemoveFinalizer(one, finalizer); });
  if (edited || edited.error().reason == "NotFound") return OkStatus();
  return ToError(edited.error());
}

}  // namespace berth::local::cluster
