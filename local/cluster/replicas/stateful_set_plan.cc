#include "local/cluster/replicas/stateful_set_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/seconds.h"
#include "local/cluster/objects/cluster_limits.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/ownership.h"
#include "local/cluster/replicas/pod_readiness.h"
#include "local/cluster/replicas/rollout_numbers.h"
#include "local/cluster/replicas/stateful_pods.h"

namespace berth::local::cluster {
namespace {

constexpr char kHashLabel[] = "controller.kubernetes.io/hash";

class StatefulSetPlanner {
 public:
  StatefulSetPlanner(const StatefulSetView& view, WallTime now)
      : view_(view),
        set_(*view.set),
        now_(now),
        first_(FirstOrdinal(set_)),
        end_(first_ + WantedReplicas(set_)),
        is_ordered_(StringAt(set_, {"spec", "podManagementPolicy"}) != "Parallel"),
        status_(set_.value("status", Json::object())) {}

  StatefulSetPlan Run() {
    if (ClaimPods()) return std::move(plan_);
    FindRevisions();
    for (const auto& [ordinal, at] : pods_) {
      if (ordinal < first_ || ordinal >= end_) plan_.condemned.push_back(at);
    }
    if (!IsDeleting(set_) && MakeReplicas() && RemoveCondemned()) RollOut();
    WriteStatus();
    FindSurplusRevisions();
    return std::move(plan_);
  }

 private:
  struct Counts {
    std::int64_t replicas = 0;
    std::int64_t ready = 0;
    std::int64_t available = 0;
    std::int64_t current = 0;
    std::int64_t updated = 0;
  };

  const Json& Pod(std::size_t at) const { return *view_.pods[at]; }

  // Pods with a name of the set alone; true: some change their owner first.
  bool ClaimPods() {
    Claims claims = berth::local::cluster::Claim(set_, view_.pods);
    std::erase_if(claims.adopt, [&](std::size_t at) {
      return !OrdinalOf(NameOf(Pod(at)), NameOf(set_)).has_value();
    });
    if (!claims.adopt.empty() || !claims.release.empty()) {
      plan_.adopt = std::move(claims.adopt);
      plan_.release = std::move(claims.release);
      plan_.look_again = now_;
      return true;
    }
    for (const std::size_t at : claims.mine) {
      if (const auto ordinal = OrdinalOf(NameOf(Pod(at)), NameOf(set_))) pods_[*ordinal] = at;
    }
    return false;
  }

  void FindRevisions() {
    RevisionChoice choice = ChooseRevision(set_, view_.revisions,
                                           IntAt(set_, {"status", "collisionCount"}), kHashLabel);
    plan_.create_revision = std::move(choice.create);
    plan_.change_revision = std::move(choice.change);
    update_ = std::move(choice.present);
    current_ = update_;
    const std::string current = StringAt(set_, {"status", "currentRevision"});
    for (const Object& one : view_.revisions) {
      if (NameOf(*one) == current) current_ = *one;
    }
  }

  bool Rolls() const {
    return StringAt(set_, {"spec", "updateStrategy", "type"}, "RollingUpdate") == "RollingUpdate";
  }
  std::int64_t Partition() const {
    return IntAt(set_, {"spec", "updateStrategy", "rollingUpdate", "partition"});
  }

  static std::string RevisionOfPod(const Json& pod) { return LabelOf(pod, kRevisionLabel); }
  bool IsUpdated(const Json& pod) const { return RevisionOfPod(pod) == NameOf(update_); }

  // Whether the pod may be counted on, by readiness and minReadySeconds.
  bool IsSettled(const Json& pod) {
    if (IsDeleting(pod) || !IsPodReady(pod)) return false;
    const Duration settle = BoundedSeconds(IntAt(set_, {"spec", "minReadySeconds"}));
    const WallTime settled = PodReadySince(pod) + settle;
    if (settle <= Duration::zero() || settled <= now_) return true;
    LookAgain(settled);
    return false;
  }

  // True: every replica is there and counts; or pods are managed in parallel.
  bool MakeReplicas() {
    for (std::int64_t ordinal = first_; ordinal < end_; ++ordinal) {
      if (!MakeReplica(ordinal) && is_ordered_) return false;
      if (plan_.create.size() >= kMostPodsAtOnce) return false;
    }
    return true;
  }

  bool MakeReplica(std::int64_t ordinal) {
    const auto known = pods_.find(ordinal);
    if (known == pods_.end()) {
      Create(ordinal);
      return false;
    }
    const Json& pod = Pod(known->second);
    if (IsDeleting(pod)) return false;
    if (HasEnded(pod)) {
      const bool failed = StringAt(pod, {"status", "phase"}) == "Failed";
      plan_.events.push_back(
          {failed ? EventType::kWarning : EventType::kNormal,
           failed ? "RecreatingFailedPod" : "RecreatingTerminatedPod",
           fmt::format("StatefulSet {}/{} is recreating {} Pod {}", NamespaceOf(set_), NameOf(set_),
                       failed ? "failed" : "terminated", NameOf(pod))});
      plan_.remove.push_back(known->second);
      return false;
    }
    if (!IsSettled(pod)) return false;
    if (auto changed = WithIdentity(set_, pod)) plan_.change.push_back(std::move(*changed));
    return true;
  }

  void Create(std::int64_t ordinal) {
    if (view_.create_not_before && now_ < *view_.create_not_before) {
      return LookAgain(*view_.create_not_before);
    }
    const bool is_current = Rolls() && ordinal < first_ + Partition();
    const Json& revision = is_current ? current_ : update_;
    plan_.ordinals.push_back(ordinal);
    plan_.create.push_back(MakeStatefulPod(set_, TemplateOf(revision), ordinal, NameOf(revision)));
  }

  // Removes condemned pods from the highest ordinal on. Returns true if nothing keeps a rollout
  // waiting.
  bool RemoveCondemned() {
    const auto unhealthy = FirstUnhealthy();
    for (auto at = plan_.condemned.rbegin(); at != plan_.condemned.rend(); ++at) {
      const Json& pod = Pod(*at);
      if (IsDeleting(pod)) {
        if (is_ordered_) return false;
        continue;
      }
      if (is_ordered_ && !IsSettled(pod) && unhealthy != *at) return false;
      plan_.remove.push_back(*at);
      if (is_ordered_) return false;
    }
    return true;
  }

  std::optional<std::size_t> FirstUnhealthy() const {
    for (const bool condemned : {false, true}) {
      for (const auto& [ordinal, at] : pods_) {
        const bool is_condemned = ordinal < first_ || ordinal >= end_;
        if (is_condemned != condemned) continue;
        if (IsDeleting(Pod(at)) || !IsPodReady(Pod(at))) return at;
      }
    }
    return std::nullopt;
  }

  // Deletes pods of earlier revisions from the highest ordinal on, as many as may be unavailable;
  // those that are unavailable already cost nothing.
  void RollOut() {
    if (!Rolls()) return;
    std::int64_t budget = MostUnavailable();
    for (std::int64_t ordinal = first_; ordinal < end_; ++ordinal) {
      const auto pod = pods_.find(ordinal);
      if (pod == pods_.end() || !IsSettled(Pod(pod->second))) --budget;
    }
    for (std::int64_t ordinal = end_ - 1; ordinal >= first_ + Partition(); --ordinal) {
      const auto found = pods_.find(ordinal);
      if (found == pods_.end()) continue;
      const Json& pod = Pod(found->second);
      if (IsUpdated(pod) || IsDeleting(pod) || HasEnded(pod)) continue;
      const bool counts = IsSettled(pod);
      if (counts && budget <= 0) continue;
      if (counts) --budget;
      plan_.remove.push_back(found->second);
    }
  }

  std::int64_t MostUnavailable() const {
    const Json* most = Find(set_, {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"});
    if (most == nullptr) return 1;
    return std::max<std::int64_t>(ScaledAmount(*most, end_ - first_, Rounding::kUp), 1);
  }

  Counts Count() {
    Counts counts;
    for (const auto& [ordinal, at] : pods_) {
      const Json& pod = Pod(at);
      ++counts.replicas;
      if (!HasEnded(pod) && IsPodReady(pod)) {
        ++counts.ready;
        if (IsSettled(pod)) ++counts.available;
      }
      if (IsDeleting(pod)) continue;
      if (RevisionOfPod(pod) == NameOf(current_)) ++counts.current;
      if (IsUpdated(pod)) ++counts.updated;
    }
    return counts;
  }

  void WriteStatus() {
    Counts counts = Count();
    std::string current = NameOf(current_);
    const std::int64_t wanted = end_ - first_;
    const bool is_complete = counts.updated == wanted && counts.ready == wanted &&
                             counts.replicas == wanted && plan_.remove.empty();
    if (Rolls() && is_complete) {
      counts.current = counts.updated;
      current = NameOf(update_);
      current_ = update_;
    }
    status_["observedGeneration"] = IntAt(set_, {"metadata", "generation"});
    status_["replicas"] = counts.replicas;
    status_["availableReplicas"] = counts.available;
    SetCount(status_, "readyReplicas", counts.ready);
    SetCount(status_, "currentReplicas", counts.current);
    SetCount(status_, "updatedReplicas", counts.updated);
    status_["currentRevision"] = current;
    status_["updateRevision"] = NameOf(update_);
    if (!status_.contains("collisionCount")) status_["collisionCount"] = 0;
    if (status_ != set_.value("status", Json::object())) plan_.status = std::move(status_);
  }

  void FindSurplusRevisions() {
    std::set<std::string> live{NameOf(current_), NameOf(update_)};
    for (const auto& [ordinal, at] : pods_) live.insert(RevisionOfPod(Pod(at)));
    plan_.remove_revisions =
        SurplusRevisions(view_.revisions, IntAt(set_, {"spec", "revisionHistoryLimit"}, 10), live);
  }

  void LookAgain(WallTime at) {
    if (!plan_.look_again || at < *plan_.look_again) plan_.look_again = at;
  }

  const StatefulSetView& view_;
  const Json& set_;
  const WallTime now_;
  const std::int64_t first_;
  const std::int64_t end_;
  const bool is_ordered_;
  Json status_;
  std::map<std::int64_t, std::size_t> pods_;  // by ordinal
  Json current_;
  Json update_;
  StatefulSetPlan plan_;
};

}  // namespace

StatefulSetPlan PlanStatefulSet(const StatefulSetView& view, WallTime now) {
  return StatefulSetPlanner(view, now).Run();
}

}  // namespace berth::local::cluster
