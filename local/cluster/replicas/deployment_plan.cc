#include "local/cluster/replicas/deployment_plan.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/deployment_status.h"
#include "local/cluster/replicas/ownership.h"
#include "local/cluster/replicas/rollout_numbers.h"

namespace berth::local::cluster {
namespace {

constexpr std::size_t kMostRevisionHistory = 2000;  // bytes of the annotation

// Annotations of the Deployment that its ReplicaSets do not get.
bool IsOwnAnnotation(const std::string& key) {
  return key == "kubectl.kubernetes.io/last-applied-configuration" || key == kRevision ||
         key == kRevisionHistory || key == kDesiredReplicas || key == kMaxReplicas ||
         key == "deprecated.deployment.rollback.to";
}

Json WithoutHash(Json pod_template) {
  Json& metadata = pod_template["metadata"];
  if (metadata.is_object() && metadata.contains("labels") && metadata["labels"].is_object()) {
    metadata["labels"].erase(kPodTemplateHash);
    if (metadata["labels"].empty()) metadata.erase("labels");
  }
  return pod_template;
}

class DeploymentPlanner {
 public:
  DeploymentPlanner(const DeploymentView& view, WallTime now)
      : view_(view),
        deployment_(*view.deployment),
        now_(now),
        wanted_(WantedReplicas(deployment_)),
        status_(deployment_.value("status", Json::object())) {}

  DeploymentPlan Run() {
    Claims claims = Claim(deployment_, view_.sets);
    if (!claims.adopt.empty() || !claims.release.empty()) {
      plan_.adopt = std::move(claims.adopt);
      plan_.release = std::move(claims.release);
      plan_.look_again = now_;
      return std::move(plan_);
    }
    for (const std::size_t at : claims.mine) {
      sets_.push_back({at, *view_.sets[at], false});
      mine_.push_back(view_.sets[at]);
    }
    std::sort(sets_.begin(), sets_.end(),
              [](const Set& a, const Set& b) { return Age(a.object) < Age(b.object); });
    FindNew();
    if (IsDeleting(deployment_)) {
      WriteStatus(/*rollout=*/false);
      return Finish();
    }
    const bool paused = BoolAt(deployment_, {"spec", "paused"});
    NotePause(status_, deployment_, paused, now_);
    if (paused || WasScaled()) {
      AdjustNew();
      ScaleInProportion();
      WriteStatus(/*rollout=*/false);
    } else {
      RollOut();
      if (IsComplete()) RemoveHistory();
      WriteStatus(/*rollout=*/true);
    }
    return Finish();
  }

 private:
  struct Set {
    std::size_t at = 0;  // in DeploymentView::sets
    Json object;
    bool is_changed = false;
  };

  static std::tuple<std::string, std::string> Age(const Json& set) {
    return {StringAt(set, {"metadata", "creationTimestamp"}), NameOf(set)};
  }

  void FindNew() {
    for (Set& set : sets_) {
      if (!HasTemplateOf(set.object, deployment_)) continue;
      new_ = &set;
      return;
    }
  }

  std::vector<Set*> Old() {
    std::vector<Set*> old;
    for (Set& set : sets_) {
      if (&set != new_) old.push_back(&set);
    }
    return old;
  }

  std::int64_t Total() const {
    std::int64_t total = 0;
    for (const Set& set : sets_) total += WantedReplicas(set.object);
    return total;
  }

  bool WasScaled() const {
    return std::any_of(sets_.begin(), sets_.end(), [&](const Set& set) {
      const auto desired = ParseInt64(AnnotationOf(set.object, kDesiredReplicas));
      return WantedReplicas(set.object) > 0 && desired && *desired != wanted_;
    });
  }

  // The revision of the present template: one above those of all others.
  std::int64_t NewRevision() {
    std::int64_t last = 0;
    for (const Set* old : Old()) last = std::max(last, RevisionOf(old->object));
    return last + 1;
  }

  // Gives the new ReplicaSet the Deployment's annotations and a revision above all others.
  void AdjustNew() {
    if (new_ == nullptr) return;
    Json next = new_->object;
    CopyAnnotations(next);
    const std::int64_t before = RevisionOf(next);
    const std::int64_t revision = std::max(NewRevision(), before);
    if (before < revision) {
      next["metadata"]["annotations"][kRevision] = std::to_string(revision);
      if (before > 0) AppendHistory(next, before);
    }
    const std::int64_t settle = IntAt(deployment_, {"spec", "minReadySeconds"});
    if (settle != IntAt(next, {"spec", "minReadySeconds"})) {
      next["spec"]["minReadySeconds"] = settle;
    }
    if (next != new_->object) {
      new_->object = std::move(next);
      new_->is_changed = true;
    }
    plan_.revision = std::to_string(revision);
    NoteFound(status_, deployment_, NameOf(new_->object), now_);
  }

  void CopyAnnotations(Json& set) const {
    const Json* annotations = Find(deployment_, {"metadata", "annotations"});
    if (annotations == nullptr) return;
    for (const auto& [key, value] : annotations->items()) {
      if (!IsOwnAnnotation(key)) set["metadata"]["annotations"][key] = value;
    }
  }

  static void AppendHistory(Json& set, std::int64_t revision) {
    std::string history = AnnotationOf(set, kRevisionHistory);
    history += (history.empty() ? "" : ",") + std::to_string(revision);
    while (history.size() > kMostRevisionHistory) history.erase(0, history.find(',') + 1);
    set["metadata"]["annotations"][kRevisionHistory] = history;
  }

  void SetSizes(Json& set) const {
    Json& annotations = set["metadata"]["annotations"];
    annotations[kDesiredReplicas] = std::to_string(wanted_);
    annotations[kMaxReplicas] = std::to_string(wanted_ + MaxSurge(deployment_));
  }

  bool Scale(Set& set, std::int64_t replicas) {
    const std::int64_t before = WantedReplicas(set.object);
    Json next = set.object;
    SetSizes(next);
    next["spec"]["replicas"] = replicas;
    if (next == set.object) return false;
    set.object = std::move(next);
    set.is_changed = true;
    if (before == replicas) return false;
    Record(NameOf(set.object), before, replicas);
    return true;
  }

  void Record(const std::string& name, std::int64_t from, std::int64_t to) {
    plan_.events.push_back({EventType::kNormal, "ScalingReplicaSet",
                            fmt::format("Scaled {} replica set {} from {} to {}",
                                        from < to ? "up" : "down", name, from, to)});
  }

  void CreateNew() {
    const std::int64_t collisions = IntAt(deployment_, {"status", "collisionCount"});
    const Json* pod_template = Find(deployment_, {"spec", "template"});
    if (pod_template == nullptr) return;
    const std::string hash = PodTemplateHash(*pod_template, collisions);
    Json set = {{"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}, {"spec", Json::object()}};
    set["metadata"] = {{"name", NameOf(deployment_) + "-" + hash},
                       {"namespace", NamespaceOf(deployment_)},
                       {"annotations", Json::object()},
                       {"ownerReferences", Json::array({ControllerReferenceTo(deployment_)})}};
    Json& spec = set["spec"];
    spec["template"] = *pod_template;
    spec["template"]["metadata"]["labels"][kPodTemplateHash] = hash;
    set["metadata"]["labels"] = spec["template"]["metadata"]["labels"];
    spec["selector"] = deployment_["spec"]["selector"];
    spec["selector"]["matchLabels"][kPodTemplateHash] = hash;
    const std::int64_t settle = IntAt(deployment_, {"spec", "minReadySeconds"});
    if (settle > 0) spec["minReadySeconds"] = settle;
    spec["replicas"] = RoomForNew(0);
    CopyAnnotations(set);
    SetSizes(set);
    const std::int64_t revision = NewRevision();
    set["metadata"]["annotations"][kRevision] = std::to_string(revision);
    plan_.revision = std::to_string(revision);
    const std::string name = NameOf(set);
    if (spec["replicas"] != 0) Record(name, 0, spec["replicas"].get<std::int64_t>());
    NoteCreated(status_, deployment_, name, now_);
    plan_.create = std::move(set);
  }

  // The size that the new ReplicaSet of `have` pods may have now.
  std::int64_t RoomForNew(std::int64_t have) const {
    if (!IsRollingUpdate(deployment_)) return wanted_;
    const std::int64_t room = wanted_ + MaxSurge(deployment_) - Total();
    return have + std::max<std::int64_t>(std::min(room, wanted_ - have), 0);
  }

  void RollOut() {
    if (!IsRollingUpdate(deployment_) && !MakeRoomByRecreate()) return AdjustNew();
    if (new_ == nullptr) return CreateNew();
    AdjustNew();
    const std::int64_t have = WantedReplicas(new_->object);
    if (have > wanted_) {
      Scale(*new_, wanted_);
    } else if (have < wanted_ && Scale(*new_, RoomForNew(have))) {
      return;
    }
    ScaleDownOld();
  }

  // Whether all pods of earlier templates are gone.
  bool MakeRoomByRecreate() {
    bool was_scaled = false;
    for (Set* old : Old()) {
      if (WantedReplicas(old->object) > 0) was_scaled = Scale(*old, 0) || was_scaled;
    }
    return !was_scaled && !view_.old_pods_run;
  }

  static std::int64_t Available(const Set& set) {
    return IntAt(set.object, {"status", "availableReplicas"});
  }

  void ScaleDownOld() {
    const std::int64_t least = wanted_ - MaxUnavailable(deployment_);
    const std::int64_t new_unavailable = WantedReplicas(new_->object) - Available(*new_);
    std::int64_t may_go = Total() - least - std::max<std::int64_t>(new_unavailable, 0);
    std::vector<Set*> old = Old();
    // Unhealthy pods first: their end makes nothing less available.
    for (Set* set : old) {
      const std::int64_t size = WantedReplicas(set->object);
      const std::int64_t count = std::min(may_go, size - Available(*set));
      if (size == 0 || count <= 0) continue;
      Scale(*set, size - count);
      may_go -= count;
    }
    std::int64_t available = 0;
    for (const Set& set : sets_) available += Available(set);
    may_go = std::min(may_go, available - least);
    for (Set* set : old) {
      const std::int64_t size = WantedReplicas(set->object);
      const std::int64_t count = std::min(may_go, size);
      if (size == 0 || count <= 0) continue;
      Scale(*set, size - count);
      may_go -= count;
    }
  }

  // Scaling while several ReplicaSets have pods keeps their proportion.
  void ScaleInProportion() {
    std::vector<Set*> active;
    for (Set& set : sets_) {
      if (WantedReplicas(set.object) > 0) active.push_back(&set);
    }
    if (active.empty() && new_ != nullptr) active.push_back(new_);
    if (active.empty() && !sets_.empty()) active.push_back(&sets_.back());
    if (active.empty()) return;
    if (active.size() == 1) {
      Scale(*active.front(), wanted_);
      return;
    }
    if (new_ != nullptr && WantedReplicas(new_->object) == wanted_ && Available(*new_) == wanted_) {
      for (Set* set : active) Scale(*set, set == new_ ? wanted_ : 0);
      return;
    }
    if (IsRollingUpdate(deployment_)) ShareOut(active);
  }

  void ShareOut(std::vector<Set*>& active) {
    const std::int64_t allowed = wanted_ > 0 ? wanted_ + MaxSurge(deployment_) : 0;
    std::int64_t left = allowed - Total();
    const bool grows = left > 0;
    std::stable_sort(active.begin(), active.end(), [&](const Set* a, const Set* b) {
      const auto size = [](const Set* set) { return WantedReplicas(set->object); };
      if (size(a) != size(b)) return size(a) > size(b);
      return grows ? Age(a->object) > Age(b->object) : Age(a->object) < Age(b->object);
    });
    std::vector<std::int64_t> sizes;
    for (const Set* set : active) {
      const std::int64_t change = ProportionalChange(set->object, deployment_, left);
      sizes.push_back(WantedReplicas(set->object) + change);
      left -= change;
    }
    sizes[0] = std::max<std::int64_t>(sizes[0] + left, 0);  // the rest, to the largest
    for (std::size_t at = 0; at < active.size(); ++at) Scale(*active[at], sizes[at]);
  }

  RolloutCounts Counts() const {
    RolloutCounts counts;
    for (const Set& set : sets_) counts.Add(set.object, &set == new_);
    return counts;
  }

  bool IsComplete() const { return Counts().IsComplete(deployment_) && !plan_.create; }

  void RemoveHistory() {
    const auto limit = OptionalIntAt(deployment_, {"spec", "revisionHistoryLimit"});
    if (!limit) return;
    std::vector<const Set*> old;
    for (const Set* set : Old()) {
      if (!IsDeleting(set->object)) old.push_back(set);
    }
    std::stable_sort(old.begin(), old.end(), [](const Set* a, const Set* b) {
      return RevisionOf(a->object) < RevisionOf(b->object);
    });
    const auto surplus = static_cast<std::int64_t>(old.size()) - *limit;
    for (std::int64_t at = 0; at < surplus; ++at) {
      const Json& set = old[static_cast<std::size_t>(at)]->object;
      const bool is_empty = WantedReplicas(set) == 0 && IntAt(set, {"status", "replicas"}) == 0;
      if (is_empty) plan_.remove.push_back(old[static_cast<std::size_t>(at)]->at);
    }
  }

  void WriteStatus(bool rollout) {
    const RolloutCounts counts = Counts();
    const std::string name = plan_.create      ? NameOf(*plan_.create)
                             : new_ != nullptr ? NameOf(new_->object)
                                               : std::string();
    counts.WriteTo(status_, deployment_);
    NoteAvailability(status_, deployment_, counts, now_);
    if (rollout) plan_.look_again = NoteProgress(status_, deployment_, counts, name, now_);
    NoteFailure(status_, mine_, now_);
    if (status_.contains("conditions") && status_["conditions"].empty()) {
      status_.erase("conditions");
    }
  }

  DeploymentPlan Finish() {
    for (Set& set : sets_) {
      if (set.is_changed) plan_.change.push_back(std::move(set.object));
    }
    if (plan_.revision && *plan_.revision == AnnotationOf(deployment_, kRevision)) {
      plan_.revision.reset();
    }
    if (status_ != deployment_.value("status", Json::object())) plan_.status = std::move(status_);
    return std::move(plan_);
  }

  const DeploymentView& view_;
  const Json& deployment_;
  const WallTime now_;
  const std::int64_t wanted_;
  Json status_;
  std::vector<Object> mine_;
  std::vector<Set> sets_;  // oldest first
  Set* new_ = nullptr;     // the set of the present template
  DeploymentPlan plan_;
};

}  // namespace

DeploymentPlan PlanDeployment(const DeploymentView& view, WallTime now) {
  return DeploymentPlanner(view, now).Run();
}

bool HasTemplateOf(const Json& set, const Json& deployment) {
  const Json* have = Find(set, {"spec", "template"});
  const Json* want = Find(deployment, {"spec", "template"});
  return have != nullptr && want != nullptr && WithoutHash(*have) == WithoutHash(*want);
}

// FNV-1a, in the alphabet of generated names.
std::string PodTemplateHash(const Json& pod_template, std::int64_t collisions) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::uint32_t hash = 2166136261U;
  std::string text = api::FormatJson(WithoutHash(pod_template));
  if (collisions > 0) text += std::to_string(collisions);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::string name = std::to_string(hash);
  for (char& c : name) c = kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return name;
}

}  // namespace berth::local::cluster
