#include "integrations/pods/pod_group.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/labels.h"
#include "api/pod_groups.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "integrations/template_topology.h"
#include "integrations/workload_build.h"

namespace berth::integrations {
namespace {

using Pods = std::vector<QueuedPodPtr>;

bool IsTrueAnnotation(const QueuedPod& pod, const char* key) {
  const std::string* value = api::FindValue(pod.meta.annotations, key);
  return value != nullptr && *value == "true";
}

bool IsFast(const PodsOfJob& job) {
  return IsTrueAnnotation(job.first(), api::kPodGroupFastAdmissionAnnotation);
}

std::string QueueOf(const QueuedPod& pod) {
  const std::string* name = api::FindValue(pod.meta.labels, api::kQueueLabel);
  return name == nullptr ? "" : *name;
}

// The lower ranks stay first. A pod that has succeeded needs no finalizer: its work is done, and
// the work of a gated pod is not.
int RankOf(const QueuedPod& active) {
  const bool has_succeeded = active.phase == QueuedPod::Phase::kSucceeded;
  if (IsHeld(active)) return IsGated(active) ? 2 : 0;
  if (has_succeeded) return 1;
  return IsGated(active) ? 4 : 3;
}

// Pods that hold quota with a finalizer stay first, then those that are started, then the oldest.
void SortActive(Pods& pods) {
  std::stable_sort(pods.begin(), pods.end(), [](const QueuedPodPtr& a, const QueuedPodPtr& b) {
    const int left = RankOf(*a);
    const int right = RankOf(*b);
    if (left != right) return left < right;
    return a->meta.creation_timestamp < b->meta.creation_timestamp;
  });
}

WallTime LastActive(const QueuedPod& pod, WallTime now) {
  return std::min(pod.failed_at.value_or(now), pod.meta.deletion_timestamp.value_or(now));
}

// Pods with a finalizer stay first, then those that were active last.
void SortInactive(Pods& pods, WallTime now) {
  std::stable_sort(pods.begin(), pods.end(), [now](const QueuedPodPtr& a, const QueuedPodPtr& b) {
    if (IsHeld(*a) != IsHeld(*b)) return IsHeld(*a);
    const WallTime left = LastActive(*a, now);
    const WallTime right = LastActive(*b, now);
    if (left != right) return right < left;
    return a->meta.creation_timestamp < b->meta.creation_timestamp;
  });
}

// Moves the pods behind the first `keep` of `from` to `tail`, the others to `kept`.
void Divide(Pods&& from, std::size_t keep, Pods& kept, Pods& tail) {
  keep = std::min(keep, from.size());
  const auto middle = from.begin() + static_cast<std::ptrdiff_t>(keep);
  kept.insert(kept.end(), from.begin(), middle);
  tail.insert(tail.end(), middle, from.end());
}

api::JobPodSet PodSetOf(const QueuedPod& pod, std::string name, std::int32_t count) {
  api::JobPodSet pods;
  pods.name = std::move(name);
  pods.count = count;
  pods.Take(pod.pod_template);
  pods.topology_request = TopologyRequestOf(pod.meta.annotations);
  if (!pods.topology_request) pods.topology_request.emplace();
  pods.topology_request->pod_index_label = api::kPodGroupPodIndexLabel;
  const std::string* label =
      api::FindValue(pod.meta.annotations, api::kPodGroupPodIndexLabelAnnotation);
  const bool parent_queues = pod.meta.annotations.count(api::kPodSuspendingParentAnnotation) != 0;
  if (label != nullptr && parent_queues) pods.topology_request->pod_index_label = *label;
  return pods;
}

std::map<std::string, std::int32_t> CountRoles(const Pods& pods) {
  std::map<std::string, std::int32_t> counts;
  for (const QueuedPodPtr& pod : pods) {
    if (IsRunnable(*pod)) ++counts[pod->role];
  }
  return counts;
}

// All pods of a group say the same of it, but for those that failed.
std::string Contradiction(const PodsOfJob& job, std::int32_t total) {
  const QueuedPod& first = job.first();
  for (const QueuedPodPtr& pod : job.pods) {
    if (pod->phase == QueuedPod::Phase::kFailed) continue;
    const std::string pair = "pods '" + first.meta.name + "' and '" + pod->meta.name + "' ";
    if (QueueOf(*pod) != QueueOf(first)) {
      return pair + "has different queue names: " + QueueOf(first) + "!=" + QueueOf(*pod);
    }
    const Result<std::int32_t> count = TotalCountOf(*pod);
    if (!count) return count.error().message + " of the pod '" + pod->meta.name + "'";
    if (*count != total) {
      return pair + "has different '" + api::kPodGroupTotalCountAnnotation +
             "' values: " + std::to_string(total) + "!=" + std::to_string(*count);
    }
    const std::string* index = api::FindValue(pod->meta.labels, api::kPodGroupPodIndexLabel);
    if (index == nullptr || index->empty()) continue;
    const std::optional<std::int64_t> number = ParseInt64(*index);
    if (!number || *number < 0 || *number >= total) {
      return "pod '" + pod->meta.name + "': label " + api::kPodGroupPodIndexLabel + " is " +
             *index + ", and should be a number from 0 to " + std::to_string(total - 1);
    }
  }
  return "";
}

// The labels, or annotations, of `keys` that the pods have. A problem where two pods differ.
std::string CopyValues(const Pods& pods, const std::vector<std::string>& keys,
                       api::StringMap api::ObjectMeta::*from, const std::string& what,
                       api::StringMap& values) {
  for (const QueuedPodPtr& pod : pods) {
    for (const std::string& key : keys) {
      const std::string* value = api::FindValue(pod->meta.*from, key);
      if (value == nullptr) continue;
      const auto [at, added] = values.emplace(key, *value);
      if (!added && at->second != *value) {
        return "constructing workload: pods have different " + what + " values: " + key + "=" +
               at->second + " and " + key + "=" + *value;
      }
    }
  }
  return "";
}

bool IsUnretriable(const QueuedPod& pod) {
  const std::string* value = api::FindValue(pod.meta.annotations, api::kRetriableInGroupAnnotation);
  return value != nullptr && *value == "false";
}

std::optional<JobOutcome> OutcomeOfGroup(const PodsOfJob& job, const Pods& members) {
  if (IsTrueAnnotation(job.first(), api::kPodGroupServingAnnotation)) return std::nullopt;
  const Result<std::int32_t> total = TotalCountOf(job.first());
  if (!total) return std::nullopt;
  std::int32_t succeeded = 0;
  bool all_ended = true;
  bool unretriable = false;
  for (const QueuedPodPtr& pod : members) {
    if (pod->phase == QueuedPod::Phase::kSucceeded) ++succeeded;
    if (!HasEnded(*pod)) all_ended = false;
    if (IsUnretriable(*pod)) unretriable = true;
  }
  if (succeeded != *total && !(all_ended && unretriable)) return std::nullopt;
  return JobOutcome{
      true, "Pods succeeded: " + std::to_string(succeeded) + "/" + std::to_string(*total) + "."};
}

void Note(const QueuedPod& pod, BarePods& out) {
  out.gated = out.gated || IsGated(pod);
  out.running = out.running || HasToStop(pod);
  out.present = out.present || !pod.meta.deletion_timestamp;
  out.held = out.held || IsHeld(pod);
}

Status MergeInto(const char* what, const api::StringMap& from, api::StringMap& into) {
  for (const auto& [key, value] : from) {
    const auto [at, added] = into.emplace(key, value);
    if (added || at->second == value) continue;
    return Error{ErrorCode::kInvalid, "invalid podset infos: conflict for " + std::string(what) +
                                          ": conflict for key=" + key + ", value1=" + at->second +
                                          ", value2=" + value};
  }
  return OkStatus();
}

}  // namespace

Result<std::int32_t> TotalCountOf(const QueuedPod& pod) {
  const std::string* text =
      api::FindValue(pod.meta.annotations, api::kPodGroupTotalCountAnnotation);
  if (text == nullptr) {
    return Error{ErrorCode::kInvalid, std::string("failed to extract '") +
                                          api::kPodGroupTotalCountAnnotation + "' annotation"};
  }
  const std::optional<std::int64_t> count = ParseInt64(*text);
  if (!count || *count < 1 || *count > INT32_MAX) {
    return Error{ErrorCode::kInvalid, std::string("incorrect annotation value '") +
                                          api::kPodGroupTotalCountAnnotation + "=" + *text +
                                          "': group total count should be greater than zero"};
  }
  return static_cast<std::int32_t>(*count);
}

GroupComposition ComposeGroup(const PodsOfJob& job, const std::vector<std::string>& label_keys,
                              const std::vector<std::string>& annotation_keys) {
  GroupComposition out;
  Pods active;
  for (const QueuedPodPtr& pod : job.pods) {
    (IsRunnable(*pod) ? active : out.inactive).push_back(pod);
  }
  const Result<std::int32_t> total = TotalCountOf(job.first());
  if (!total) {
    out.problem = total.error().message;
    return out;
  }
  const auto expected = static_cast<std::size_t>(*total);
  const bool fast = IsFast(job) && !active.empty();
  if (active.size() < expected && !fast) {
    out.problem = "'" + job.group + "' group has fewer runnable pods than expected";
    return out;
  }
  out.problem = Contradiction(job, *total);
  if (!out.problem.empty()) return out;
  if (active.size() > expected) SortActive(active);
  Divide(std::move(active), expected, out.members, out.surplus);
  out.problem = CopyValues(out.members, label_keys, &api::ObjectMeta::labels, "label", out.labels);
  if (!out.problem.empty()) return out;
  api::StringMap annotations;  // the Workload gets those of the first pod
  out.problem = CopyValues(out.members, annotation_keys, &api::ObjectMeta::annotations,
                           "annotation", annotations);
  if (!out.problem.empty()) return out;
  if (fast) {
    const QueuedPod& first = *out.members.front();
    out.pod_sets.push_back(PodSetOf(first, first.role, *total));
    return out;
  }
  const std::map<std::string, std::int32_t> counts = CountRoles(out.members);
  if (counts.size() > kMaxGroupRoles) {
    out.problem = "pod group can't include more than " + std::to_string(kMaxGroupRoles) + " roles";
    return out;
  }
  std::set<std::string> made;
  for (const QueuedPodPtr& pod : out.members) {
    if (!made.insert(pod->role).second) continue;
    out.pod_sets.push_back(PodSetOf(*pod, pod->role, counts.at(pod->role)));
  }
  std::sort(out.pod_sets.begin(), out.pod_sets.end(),
            [](const api::PodSet& a, const api::PodSet& b) { return a.name < b.name; });
  return out;
}

namespace {

// Whether each role of the kept pods is a pod set of the Workload, in its order, with room.
bool Matches(const Pods& kept, const api::Workload& workload) {
  const auto& pod_sets = workload.spec.pod_sets;
  const bool finished = api::IsTrue(workload.status.conditions, api::kFinished);
  std::size_t at = 0;
  for (const auto& [role, count] : CountRoles(kept)) {
    while (at < pod_sets.size() && pod_sets[at].name != role) ++at;
    if (at == pod_sets.size()) return false;
    if (!finished && pod_sets[at].count < count) return false;
    ++at;
  }
  return true;
}

}  // namespace

GroupComparison CompareGroup(const PodsOfJob& job, const api::Workload& workload, WallTime now) {
  GroupComparison out;
  const bool fast = IsFast(job);
  std::map<std::string, std::pair<Pods, Pods>> by_role;  // active, inactive
  for (const QueuedPodPtr& pod : job.pods) {
    auto& [active, inactive] = by_role[pod->role];
    (IsRunnable(*pod) ? active : inactive).push_back(pod);
  }
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    auto& [active, inactive] = by_role[pods.name];
    const auto count = static_cast<std::size_t>(std::max(pods.count, 0));
    if (fast) {
      if (active.empty() && count > 0) ++out.absent;
    } else if (active.size() < count) {
      out.absent += static_cast<std::int32_t>(count - active.size());
    }
    const std::size_t all = active.size() + inactive.size();
    const std::size_t replaced = all > count ? std::min(inactive.size(), all - count) : 0;
    SortInactive(inactive, now);
    if (active.size() > count) SortActive(active);
    Divide(std::move(active), count, out.kept, out.surplus);
    const std::size_t stay = inactive.size() - replaced;
    Divide(std::move(inactive), stay, out.kept, out.replaced);
  }
  out.matches =
      !out.kept.empty() &&
      (IsTrueAnnotation(job.first(),
                        api::kPodGroupServingAnnotation) ||  // the parent's label counts
       workload.spec.maximum_execution_time_seconds == MaximumExecutionTimeOf(job.first().meta)) &&
      Matches(out.kept, workload);
  return out;
}

std::vector<api::ReclaimablePod> ReclaimablePodsOf(const Pods& members) {
  std::map<std::string, std::int32_t> counts;
  for (const QueuedPodPtr& pod : members) {
    if (pod->phase == QueuedPod::Phase::kSucceeded) ++counts[pod->role];
  }
  std::vector<api::ReclaimablePod> result;
  for (const auto& [role, count] : counts) result.push_back({role, count});
  return result;
}

JobView ViewOfGroup(const PodsOfJob& job, const Pods& members, WallTime now) {
  JobView view;
  view.kind = &kPod;
  view.meta = job.first().meta;
  view.meta.name = job.group;
  view.meta.uid.clear();
  view.meta.deletion_timestamp.reset();
  BarePods bare;
  const bool serving = IsTrueAnnotation(job.first(), api::kPodGroupServingAnnotation);
  bool all_ready = true;
  for (const QueuedPodPtr& pod : members) {
    Note(*pod, bare);
    view.suspended = view.suspended || IsGated(*pod) || HasEnded(*pod);
    view.active = view.active || IsRunning(*pod, now);
    // A pod that has succeeded is not ready to its kubelet; the other pods of its group run on.
    const bool is_done = !serving && pod->phase == QueuedPod::Phase::kSucceeded;
    all_ready = all_ready && (pod->ready || is_done);
  }
  const Result<std::int32_t> total = TotalCountOf(job.first());
  view.pods_ready =
      all_ready && total && members.size() >= static_cast<std::size_t>(std::max(*total, 0));
  view.finished = OutcomeOfGroup(job, members);
  view.queue_is_fixed = serving;
  if (!serving) view.reclaimable_pods = ReclaimablePodsOf(members);
  view.bare_pods = std::move(bare);
  return view;
}

JobView ViewOfPod(const QueuedPod& pod) {
  JobView view;
  view.kind = &kPod;
  view.meta = pod.meta;
  view.suspended = IsGated(pod) || HasEnded(pod);
  view.pods_ready = pod.ready;
  if (HasEnded(pod)) {
    view.finished = JobOutcome{pod.phase == QueuedPod::Phase::kSucceeded, pod.message};
  }
  view.pod_sets.push_back(PodSetOf(pod, "main", 1));
  Note(pod, view.bare_pods.emplace());
  return view;
}

std::optional<api::Condition> WaitingCondition(const api::Workload& workload, std::int32_t absent) {
  const auto& conditions = workload.status.conditions;
  const api::Condition* before = api::FindCondition(conditions, api::kWaitingForReplacementPods);
  if (before == nullptr && absent == 0) return std::nullopt;
  api::Condition now{.type = api::kWaitingForReplacementPods};
  const bool waited = before != nullptr && before->status == api::ConditionStatus::kTrue;
  if (absent == 0) {
    if (before->status == api::ConditionStatus::kFalse) return std::nullopt;
    now.status = api::ConditionStatus::kFalse;
    now.reason = "PodsReady";
    now.message = "No pods need replacement";
    return now;
  }
  now.status = api::ConditionStatus::kTrue;
  const api::Condition* evicted = api::FindCondition(conditions, api::kEvicted);
  if (evicted != nullptr && evicted->status == api::ConditionStatus::kTrue) {
    now.reason = evicted->reason;
    now.message = evicted->message;
  } else if (waited) {
    return std::nullopt;  // the reason of the first loss stays
  } else {
    now.reason = "PodsFailed";
    now.message = "Some Failed pods need replacement";
  }
  if (waited && before->reason == now.reason && before->message == now.message) {
    return std::nullopt;
  }
  return now;
}

void LimitToPodsLeft(const PodsOfJob& job, const api::Workload& workload,
                     std::vector<PodSetChange>& changes) {
  std::map<std::string, std::int32_t> left;
  for (const api::PodSet& pods : workload.spec.pod_sets) left[pods.name] = pods.count;
  for (const api::ReclaimablePod& done : ReclaimablePodsOf(job.pods))
    left[done.pod_set] -= done.count;
  for (PodSetChange& change : changes) {
    const auto found = left.find(change.name);
    if (found != left.end()) change.count = std::clamp(found->second, 0, change.count);
  }
}

Pods PodsToStart(const PodsOfJob& job, const std::vector<PodSetChange>& changes) {
  Pods waiting;
  std::map<std::string, std::int32_t> room;
  for (const PodSetChange& change : changes) room[change.name] = change.count;
  for (const QueuedPodPtr& pod : job.pods) {
    if (IsGated(*pod)) {
      if (!pod->meta.deletion_timestamp) waiting.push_back(pod);
    } else if (IsRunnable(*pod) && !HasEnded(*pod)) {
      --room[pod->role];
    }
  }
  if (job.group.empty()) return waiting;
  SortActive(waiting);
  std::erase_if(waiting, [&](const QueuedPodPtr& pod) {
    const bool known = std::any_of(changes.begin(), changes.end(), [&](const PodSetChange& each) {
      return each.name == pod->role;
    });
    return known && room[pod->role]-- <= 0;
  });
  return waiting;
}

Result<PodSetChange> StartedPod(const QueuedPod& pod, bool in_group,
                                const std::vector<PodSetChange>& changes) {
  const auto change = std::find_if(changes.begin(), changes.end(), [&](const PodSetChange& each) {
    return !in_group || each.name == pod.role;
  });
  if (change == changes.end()) {
    return Error{ErrorCode::kInvalid,
                 "invalid podset infos: podSetInfo with the name '" + pod.role + "' is not found"};
  }
  const api::PodSpec& spec = pod.pod_template.spec;
  PodSetChange started{.name = change->name,
                       .count = 1,
                       .labels = pod.meta.labels,
                       .annotations = pod.meta.annotations,
                       .node_selector = spec.node_selector,
                       .tolerations = spec.tolerations};
  BERTH_CHECK_OK(MergeInto("labels", change->labels, started.labels));
  // A pod that was copied has another's: replaced.
  started.annotations.erase(api::kWorkloadAnnotation);
  BERTH_CHECK_OK(MergeInto("annotations", change->annotations, started.annotations));
  BERTH_CHECK_OK(MergeInto("nodeSelector", change->node_selector, started.node_selector));
  for (const api::Toleration& each : change->tolerations) {
    auto& known = started.tolerations;
    if (std::find(known.begin(), known.end(), each) == known.end()) known.push_back(each);
  }
  // The topology gate stays where the ungater gives the pod its domain.
  const bool placed = change->is_placed;
  for (const std::string& gate : spec.scheduling_gates) {
    if (gate == api::kAdmissionGate || (gate == api::kTopologyGate && !placed)) continue;
    started.scheduling_gates.push_back(gate);
  }
  const auto& gates = started.scheduling_gates;
  if (placed && std::find(gates.begin(), gates.end(), api::kTopologyGate) == gates.end()) {
    started.scheduling_gates.emplace_back(api::kTopologyGate);
  }
  return started;
}

}  // namespace berth::integrations
