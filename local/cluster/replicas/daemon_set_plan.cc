#include "local/cluster/replicas/daemon_set_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/seconds.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/ownership.h"
#include "local/cluster/replicas/pod_readiness.h"
#include "local/cluster/replicas/replica_set_plan.h"
#include "local/cluster/replicas/rollout_numbers.h"
#include "local/cluster/scheduler/pod_node_match.h"

namespace berth::local::cluster {
namespace {

constexpr std::size_t kMostDaemonPodsAtOnce = 250;
constexpr char kTemplateGeneration[] = "pod-template-generation";
constexpr char kGenerationAnnotation[] = "deprecated.daemonset.template.generation";

// A daemon pod stays on nodes in trouble.
void AddTolerations(Json& spec) {
  struct Toleration {
    const char* key;
    const char* effect;
  };
  std::vector<Toleration> added = {{"node.kubernetes.io/not-ready", "NoExecute"},
                                   {"node.kubernetes.io/unreachable", "NoExecute"},
                                   {"node.kubernetes.io/disk-pressure", "NoSchedule"},
                                   {"node.kubernetes.io/memory-pressure", "NoSchedule"},
                                   {"node.kubernetes.io/pid-pressure", "NoSchedule"},
                                   {"node.kubernetes.io/unschedulable", "NoSchedule"}};
  if (BoolAt(spec, {"hostNetwork"})) {
    added.push_back({"node.kubernetes.io/network-unavailable", "NoSchedule"});
  }
  Json& tolerations = spec["tolerations"];
  if (!tolerations.is_array()) tolerations = Json::array();
  for (const auto& [key, effect] : added) {
    tolerations.push_back({{"key", key}, {"operator", "Exists"}, {"effect", effect}});
  }
}

Json ToleratingSpec(const Json& set) {
  const Json* found = Find(set, {"spec", "template", "spec"});
  Json spec = found == nullptr ? Json::object() : *found;
  AddTolerations(spec);
  return spec;
}

// Every required term names the node; other required terms stay.
void BindTo(Json& spec, const std::string& node) {
  const Json field = {{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}};
  Json& required =
      spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  Json& terms = required["nodeSelectorTerms"];
  if (!terms.is_array() || terms.empty()) terms = Json::array({Json::object()});
  for (Json& term : terms) term["matchFields"] = Json::array({field});
}

class DaemonSetPlanner {
 public:
  DaemonSetPlanner(const DaemonSetView& view, WallTime now)
      : view_(view), set_(*view.set), now_(now), status_(set_.value("status", Json::object())) {}

  DaemonSetPlan Run() {
    Claims claims = Claim(set_, view_.pods);
    if (!claims.adopt.empty() || !claims.release.empty()) {
      plan_.adopt = std::move(claims.adopt);
      plan_.release = std::move(claims.release);
      plan_.look_again = now_;
      return std::move(plan_);
    }
    RevisionChoice choice = ChooseRevision(
        set_, view_.revisions, IntAt(set_, {"status", "collisionCount"}), kRevisionLabel);
    plan_.create_revision = std::move(choice.create);
    plan_.change_revision = std::move(choice.change);
    hash_ = HashOf(choice.present, kRevisionLabel);
    for (const std::size_t at : claims.mine) {
      pods_by_node_[NodeOfDaemonPod(*view_.pods[at])].push_back(at);
    }
    for (const Object& node : view_.nodes) fits_[NameOf(*node)] = FitOf(set_, *node);
    if (!IsDeleting(set_)) {
      ManagePods();
      if (plan_.create.empty() && plan_.remove.empty() && Rolls()) RollOut();
    }
    WriteStatus();
    FindSurplusRevisions(NameOf(choice.present));
    return std::move(plan_);
  }

 private:
  using PodsOfNode = std::pair<std::optional<std::size_t>, std::optional<std::size_t>>;

  const Json& Pod(std::size_t at) const { return *view_.pods[at]; }
  bool IsUpdated(const Json& pod) const { return LabelOf(pod, kRevisionLabel) == hash_; }
  bool Rolls() const {
    return StringAt(set_, {"spec", "updateStrategy", "type"}, "RollingUpdate") == "RollingUpdate";
  }
  std::int64_t Wanted() const {
    return std::count_if(fits_.begin(), fits_.end(),
                         [](const auto& one) { return one.second.should_run; });
  }
  std::int64_t Amount(const char* field, std::int64_t fallback) const {
    const Json* value = Find(set_, {"spec", "updateStrategy", "rollingUpdate", field});
    return value == nullptr ? fallback : ScaledAmount(*value, Wanted(), Rounding::kUp);
  }
  std::int64_t Surge() const { return Rolls() ? Amount("maxSurge", 0) : 0; }

  bool IsAvailable(const Json& pod) {
    if (IsDeleting(pod) || HasEnded(pod) || !IsPodReady(pod)) return false;
    const Duration settle = BoundedSeconds(IntAt(set_, {"spec", "minReadySeconds"}));
    const WallTime settled = PodReadySince(pod) + settle;
    if (settle <= Duration::zero() || settled <= now_) return true;
    LookAgain(settled);
    return false;
  }

  void ManagePods() {
    for (const auto& [node, fit] : fits_) ManageNode(node, fit);
    // Remove the pods whose node is gone.
    for (const auto& [node, pods] : pods_by_node_) {
      if (fits_.count(node) != 0) continue;
      for (const std::size_t at : pods) Remove(at);
    }
  }

  void ManageNode(const std::string& node, const DaemonFit& fit) {
    const std::vector<std::size_t>& pods = pods_by_node_[node];
    std::vector<std::size_t> running;
    for (const std::size_t at : pods) {
      const Json& pod = Pod(at);
      if (IsDeleting(pod)) continue;
      if (!fit.may_continue) {
        Remove(at);
      } else if (HasEnded(pod)) {
        ReplaceEnded(pod, node, at);
      } else {
        running.push_back(at);
      }
    }
    if (!fit.may_continue) return;
    if (pods.empty() && fit.should_run) return Create(node);
    RemoveSurplus(running);
  }

  void ReplaceEnded(const Json& pod, const std::string& node, std::size_t at) {
    const bool failed = StringAt(pod, {"status", "phase"}) == "Failed";
    plan_.events.push_back({failed ? EventType::kWarning : EventType::kNormal,
                            failed ? "FailedDaemonPod" : "SucceededDaemonPod",
                            fmt::format("Found {} daemon pod {}/{} on node {}, will try to {} it",
                                        failed ? "failed" : "succeeded", NamespaceOf(pod),
                                        NameOf(pod), node, failed ? "kill" : "delete")});
    Remove(at);
  }

  // One pod of each template stays, the oldest; two templates where the update surges.
  void RemoveSurplus(std::vector<std::size_t>& running) {
    std::sort(running.begin(), running.end(), [&](std::size_t a, std::size_t b) {
      const auto age = [&](std::size_t at) {
        return std::tuple(StringAt(Pod(at), {"metadata", "creationTimestamp"}), NameOf(Pod(at)));
      };
      return age(a) < age(b);
    });
    bool has_new = false;
    bool has_old = false;
    for (const std::size_t at : running) {
      const bool is_new = IsUpdated(Pod(at));
      bool& has = is_new ? has_new : has_old;
      const bool has_other = is_new ? has_old : has_new;
      if (has || (has_other && Surge() == 0)) {
        Remove(at);
      }
      has = true;
    }
  }

  void Create(const std::string& node) {
    if (view_.create_not_before && now_ < *view_.create_not_before) {
      return LookAgain(*view_.create_not_before);
    }
    if (plan_.create.size() >= kMostDaemonPodsAtOnce) return LookAgain(now_);
    plan_.create.push_back(MakeDaemonPod(set_, node, hash_));
  }

  void Remove(std::size_t at) {
    if (!IsDeleting(Pod(at))) plan_.remove.push_back(at);
  }

  // The pods of the present template and of earlier ones on the node.
  PodsOfNode PodsOn(const std::string& node) const {
    PodsOfNode found;
    const auto pods = pods_by_node_.find(node);
    if (pods == pods_by_node_.end()) return found;
    for (const std::size_t at : pods->second) {
      (IsUpdated(Pod(at)) ? found.first : found.second) = at;
    }
    return found;
  }

  void RollOut() {
    if (Surge() > 0) return RollBySurge();
    std::vector<std::size_t> candidates;
    std::int64_t unavailable = 0;
    for (const auto& [node, fit] : fits_) {
      if (!fit.should_run) continue;
      const auto [fresh, old] = PodsOn(node);
      if (fresh || !old) {
        if (!fresh || !IsAvailable(Pod(*fresh))) ++unavailable;
        continue;
      }
      if (IsDeleting(Pod(*old))) {
        ++unavailable;
      } else if (!IsAvailable(Pod(*old))) {
        ++unavailable;
        Remove(*old);  // it costs no availability
      } else {
        candidates.push_back(*old);
      }
    }
    const std::int64_t most = std::max<std::int64_t>(Amount("maxUnavailable", 1), 1);
    for (const std::size_t at : candidates) {
      if (unavailable >= most) return;
      Remove(at);
      ++unavailable;
    }
  }

  void RollBySurge() {
    std::vector<std::string> candidates;
    std::int64_t surge = 0;
    for (const auto& [node, fit] : fits_) {
      if (!fit.should_run) continue;
      const auto [fresh, old] = PodsOn(node);
      if (!old) continue;
      if (!fresh) {
        if (!IsDeleting(Pod(*old))) candidates.push_back(node);
      } else if (IsAvailable(Pod(*fresh))) {
        Remove(*old);
      } else {
        ++surge;
      }
    }
    for (const std::string& node : candidates) {
      if (surge >= Surge()) return;
      Create(node);
      ++surge;
    }
  }

  void WriteStatus() {
    std::int64_t current = 0;
    std::int64_t misplaced = 0;
    std::int64_t ready = 0;
    std::int64_t updated = 0;
    std::int64_t available = 0;
    for (const auto& [node, fit] : fits_) {
      const auto [fresh, old] = PodsOn(node);
      if (!fresh && !old) continue;
      if (!fit.should_run) {
        ++misplaced;
        continue;
      }
      ++current;
      const Json& pod = Pod(fresh ? *fresh : *old);
      if (fresh) ++updated;
      if (!HasEnded(pod) && IsPodReady(pod)) {
        ++ready;
        if (IsAvailable(pod)) ++available;
      }
    }
    const std::int64_t wanted = Wanted();
    status_["currentNumberScheduled"] = current;
    status_["numberMisscheduled"] = misplaced;
    status_["desiredNumberScheduled"] = wanted;
    status_["numberReady"] = ready;
    SetCount(status_, "updatedNumberScheduled", updated);
    SetCount(status_, "numberAvailable", available);
    SetCount(status_, "numberUnavailable", wanted - available);
    status_["observedGeneration"] = IntAt(set_, {"metadata", "generation"});
    if (status_ != set_.value("status", Json::object())) plan_.status = std::move(status_);
  }

  void FindSurplusRevisions(const std::string& present) {
    std::set<std::string> live{present};
    std::set<std::string> hashes;
    for (const auto& [node, pods] : pods_by_node_) {
      for (const std::size_t at : pods) hashes.insert(LabelOf(Pod(at), kRevisionLabel));
    }
    for (const Object& one : view_.revisions) {
      if (hashes.count(HashOf(*one, kRevisionLabel)) != 0) live.insert(NameOf(*one));
    }
    plan_.remove_revisions =
        SurplusRevisions(view_.revisions, IntAt(set_, {"spec", "revisionHistoryLimit"}, 10), live);
  }

  void LookAgain(WallTime at) {
    if (!plan_.look_again || at < *plan_.look_again) plan_.look_again = at;
  }

  const DaemonSetView& view_;
  const Json& set_;
  const WallTime now_;
  Json status_;
  std::string hash_;  // the hash of the present template
  std::map<std::string, DaemonFit> fits_;
  std::map<std::string, std::vector<std::size_t>> pods_by_node_;
  DaemonSetPlan plan_;
};

}  // namespace

DaemonSetPlan PlanDaemonSet(const DaemonSetView& view, WallTime now) {
  return DaemonSetPlanner(view, now).Run();
}

DaemonFit FitOf(const Json& set, const Json& node) {
  const Json spec = ToleratingSpec(set);
  const std::string wanted = StringAt(spec, {"nodeName"});
  const bool is_named = wanted.empty() || wanted == NameOf(node);
  if (!is_named || !MatchesNodeSelection(spec, node)) return {};
  Json evicting = Json::array();
  for (const Json& taint : ArrayAt(node, {"spec", "taints"})) {
    if (StringAt(taint, {"effect"}) == "NoExecute") evicting.push_back(taint);
  }
  return {ToleratesTaints(spec, ArrayAt(node, {"spec", "taints"})),
          ToleratesTaints(spec, evicting)};
}

Json MakeDaemonPod(const Json& set, const std::string& node, const std::string& hash) {
  Json pod = MakeReplicaPod(set);
  pod["spec"] = ToleratingSpec(set);
  BindTo(pod["spec"], node);
  pod["metadata"]["labels"][kRevisionLabel] = hash;
  const std::string generation = AnnotationOf(set, kGenerationAnnotation);
  if (!generation.empty()) pod["metadata"]["labels"][kTemplateGeneration] = generation;
  return pod;
}

std::string NodeOfDaemonPod(const Json& pod) {
  std::string bound = StringAt(pod, {"spec", "nodeName"});
  if (!bound.empty()) return bound;
  const Json* required = Find(
      pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  if (required == nullptr) return "";
  for (const Json& term : ArrayAt(*required, {"nodeSelectorTerms"})) {
    for (const Json& field : ArrayAt(term, {"matchFields"})) {
      const Json& values = ArrayAt(field, {"values"});
      if (values.size() == 1) return StringAt(values[0], {});
    }
  }
  return "";
}

}  // namespace berth::local::cluster
