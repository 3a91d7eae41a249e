#include "integrations/held_parts.h"

#include <algorithm>
#include <utility>

#include "api/held_jobs.h"
#include "api/reasons.h"

namespace berth::integrations {
namespace {

constexpr std::size_t kMaxGrowths = 64;

// Partial admission: fewer pods than the Workload asks for may have quota.
std::int32_t AdmittedCount(const api::Workload& workload, const api::PodSet& pods) {
  if (!pods.min_count || !workload.status.admission) return pods.count;
  for (const api::PodSetAssignment& each : workload.status.admission->pod_set_assignments) {
    if (each.name == pods.name) return std::min(each.count, pods.count);
  }
  return pods.count;
}

PodCounts CountsOf(const api::Workload& workload) {
  PodCounts counts;
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    std::int32_t reclaimed = 0;
    for (const api::ReclaimablePod& each : workload.status.reclaimable_pods) {
      if (each.pod_set == pods.name) reclaimed = each.count;
    }
    counts[pods.name] =
        std::max(std::min(AdmittedCount(workload, pods), pods.count - reclaimed), 0);
  }
  return counts;
}

const std::map<api::ResourceName, std::string>* FlavorsOf(const api::Workload& workload,
                                                          const std::string& pod_set) {
  if (!workload.status.admission) return nullptr;
  for (const api::PodSetAssignment& each : workload.status.admission->pod_set_assignments) {
    if (each.name == pod_set) return &each.flavors;
  }
  return nullptr;
}

bool Runs(const HeldPart& part) { return part.runs; }

bool IsEvictedWithQuota(const HeldPart& part) {
  return part.is_reserved() && HasTrue(*part.workload, api::kEvicted);
}

}  // namespace

std::int32_t CountIn(const PodCounts& counts, const std::string& pod_set) {
  const auto found = counts.find(pod_set);
  return found == counts.end() ? 0 : found->second;
}

bool IsLive(const QueuedPod& pod) { return !IsGated(pod) && !HasEnded(pod); }

bool HasTrue(const api::Workload& workload, const char* condition) {
  return api::IsTrue(workload.status.conditions, condition);
}

bool MayRun(const api::Workload& workload) {
  return HasTrue(workload, api::kAdmitted) && !HasTrue(workload, api::kEvicted) &&
         !HasTrue(workload, api::kFinished) && !workload.meta.deletion_timestamp;
}

bool HeldPart::is_reserved() const {
  return workload != nullptr && HasTrue(*workload, api::kQuotaReserved);
}

bool HeldPart::is_empty() const {
  return std::all_of(counts.begin(), counts.end(),
                     [](const auto& each) { return each.second <= 0; });
}

std::int32_t HeldPart::Used(const std::string& pod_set) const {
  const auto of_set = [&pod_set](const QueuedPodPtr& pod) { return pod->role == pod_set; };
  return static_cast<std::int32_t>(std::count_if(live.begin(), live.end(), of_set) +
                                   std::count_if(starts.begin(), starts.end(), of_set));
}

std::int32_t HeldPart::Room(const std::string& pod_set) const { return runs ? Free(pod_set) : 0; }

std::int32_t HeldPart::Free(const std::string& pod_set) const {
  return CountIn(counts, pod_set) - Used(pod_set);
}

HeldParts::HeldParts(const HeldJob& job, const api::Workload& main,
                     const std::vector<const api::Workload*>& growths)
    : job_(job) {
  parts_.emplace_back().workload = &main;
  for (const api::Workload* growth : growths) {
    HeldPart& part = parts_.emplace_back();
    part.workload = growth;
    part.growth = GrowthOf(*growth);
  }
  for (HeldPart& part : parts_) {
    part.runs = MayRun(*part.workload);
    part.counts = CountsOf(*part.workload);
    part.pod_sets = api::JobPodSetsOf(part.workload->spec);
    for (api::PodSet& pods : part.pod_sets) pods.count = AdmittedCount(*part.workload, pods);
    part.reclaimable = part.workload->status.reclaimable_pods;
  }
  PlaceLive();
  PlaceGated();
}

// Pods stay with the Workload that their annotation names. Then those whose Workload may not run
// are taken over: first those whose Workload has no quota.
void HeldParts::PlaceLive() {
  std::vector<std::pair<QueuedPodPtr, HeldPart*>> leaving;
  for (const QueuedPodPtr& pod : job_.pods) {
    if (!IsLive(*pod)) continue;
    const std::string* name = api::FindValue(pod->meta.annotations, api::kPodWorkloadAnnotation);
    HeldPart* own = name == nullptr ? &parts_.front() : nullptr;
    for (HeldPart& part : parts_) {
      if (name != nullptr && part.workload->meta.name == *name) own = &part;
    }
    if (own != nullptr && own->runs && own->Room(pod->role) > 0) {
      own->live.push_back(pod);
    } else {
      leaving.emplace_back(pod, own);
    }
  }
  // The pods of an evicted Workload that still has its quota stay there, and are retired from it.
  std::stable_partition(leaving.begin(), leaving.end(), [](const auto& each) {
    return each.second == nullptr || !each.second->is_reserved();
  });
  std::vector<std::pair<QueuedPodPtr, HeldPart*>> without_quota;
  for (const auto& [pod, own] : leaving) {
    if (HeldPart* taker = TakerOf(*pod, own, Runs)) {
      taker->live.push_back(pod);
    } else if (own != nullptr && own->is_reserved()) {
      own->live.push_back(pod);
    } else {
      without_quota.emplace_back(pod, own);
    }
  }
  // An evicted Workload keeps its quota until the pods that another one left to it have ended.
  for (const auto& [pod, own] : without_quota) {
    if (HeldPart* keeper = TakerOf(*pod, own, IsEvictedWithQuota)) {
      keeper->live.push_back(pod);
    } else if (own != nullptr && !own->runs) {
      own->live.push_back(pod);
    } else {
      homeless_.push_back(pod);
    }
  }
}

HeldPart* HeldParts::TakerOf(const QueuedPod& pod, const HeldPart* own,
                             bool (*may)(const HeldPart&)) {
  const auto* flavors = own == nullptr ? nullptr : FlavorsOf(*own->workload, pod.role);
  for (HeldPart& part : parts_) {
    if (!may(part) || part.Free(pod.role) <= 0) continue;
    const auto* others = FlavorsOf(*part.workload, pod.role);
    if (flavors == nullptr || others == nullptr || *flavors == *others) return &part;
  }
  return nullptr;
}

void HeldParts::PlaceGated() {
  for (const QueuedPodPtr& pod : job_.pods) {
    if (!IsGated(*pod) || pod->meta.deletion_timestamp) continue;
    const auto taker = std::find_if(parts_.begin(), parts_.end(), [&pod](const HeldPart& part) {
      return part.Room(pod->role) > 0;
    });
    if (taker != parts_.end()) taker->starts.push_back(pod);
  }
}

// Quota is kept for part.counts: what the Workload asks for less what is reclaimable.
void HeldParts::Reclaim(HeldPart& part, const std::string& pod_set) {
  std::int32_t asked = 0;
  for (const api::PodSet& pods : part.workload->spec.pod_sets) {
    if (pods.name == pod_set) asked = pods.count;
  }
  const std::int32_t count = asked - part.counts[pod_set];
  for (api::ReclaimablePod& each : part.reclaimable) {
    if (each.pod_set != pod_set) continue;
    each.count = count;
    return;
  }
  part.reclaimable.push_back({pod_set, count});
}

// Workloads that wait ask for less, the others give back what no pod uses. The latest growth comes
// first.
void HeldParts::Shrink(const std::string& pod_set, std::int32_t excess) {
  for (auto part = parts_.rbegin(); part != parts_.rend() && excess > 0; ++part) {
    const std::int32_t count = CountIn(part->counts, pod_set);
    const bool waits = part->growth != 0 && !part->is_reserved();
    const std::int32_t idle = waits ? count : part->runs ? part->Room(pod_set) : 0;
    const std::int32_t cut = std::min(excess, std::max(idle, 0));
    if (cut == 0) continue;
    excess -= cut;
    part->counts[pod_set] -= cut;
    if (waits) {
      for (api::PodSet& pods : part->pod_sets) {
        if (pods.name == pod_set) pods.count -= cut;
      }
      continue;
    }
    Reclaim(*part, pod_set);
  }
}

// More goes to the growth that waits, or to a new one. A growth has one pod set, as many pods of
// which start as there is quota for.
void HeldParts::Grow(const std::string& pod_set, std::int32_t missing) {
  for (HeldPart& part : parts_) {
    if (part.growth == 0 || part.is_reserved()) continue;
    for (api::PodSet& pods : part.pod_sets) {
      if (pods.name != pod_set) continue;
      pods.count += missing;
      part.counts[pod_set] += missing;
      return;
    }
  }
  if (parts_.size() > kMaxGrowths) return;
  const auto wanted = std::find_if(job_.view.pod_sets.begin(), job_.view.pod_sets.end(),
                                   [&](const api::PodSet& each) { return each.name == pod_set; });
  const std::int32_t number = parts_.back().growth + 1;
  HeldPart& part = parts_.emplace_back();
  part.growth = number;
  part.counts[pod_set] = missing;
  part.pod_sets.push_back(*wanted);
  part.pod_sets.back().count = missing;
  if (missing > 1) part.pod_sets.back().min_count = 1;
}

void HeldParts::Size() {
  PodCounts wanted;
  for (const api::PodSet& pods : job_.view.pod_sets) wanted[pods.name] = pods.count;
  PodCounts covered;
  for (const HeldPart& part : parts_) {
    for (const auto& [pod_set, count] : part.counts) {
      covered[pod_set] += count;
      wanted.emplace(pod_set, 0);  // the group is gone
    }
  }
  for (const auto& [pod_set, count] : wanted) {
    const std::int32_t missing = count - CountIn(covered, pod_set);
    if (missing > 0) Grow(pod_set, missing);
    if (missing < 0) Shrink(pod_set, -missing);
  }
}

std::int32_t HeldParts::Admitted(const std::string& pod_set) const {
  std::int32_t admitted = 0;
  for (const HeldPart& part : parts_) {
    if (part.runs) admitted += CountIn(part.counts, pod_set);
  }
  return admitted;
}

}  // namespace berth::integrations
