#include "integrations/job_slices.h"

#include <algorithm>
#include <string>

#include "api/labels.h"
#include "api/reasons.h"
#include "api/reclaimable.h"

namespace berth::integrations {
namespace {

constexpr char kReplacedText[] = "Replaced to accommodate a new workload slice";
constexpr char kOutOfSyncText[] = "The workload slice is out of sync with its parent job";

bool HoldsQuota(const api::Workload& slice) {
  return api::IsTrue(slice.status.conditions, api::kQuotaReserved);
}

bool IsEvicted(const api::Workload& slice) {
  return api::IsTrue(slice.status.conditions, api::kEvicted);
}

bool Replaces(const api::Workload& slice, const api::Workload& other) {
  const std::string* named =
      api::FindValue(slice.meta.annotations, api::kSliceReplacementForAnnotation);
  return named != nullptr && *named == other.meta.key().ToString();
}

bool IsOlder(const api::Workload* a, const api::Workload* b) {
  if (a->meta.creation_timestamp != b->meta.creation_timestamp) {
    return a->meta.creation_timestamp < b->meta.creation_timestamp;
  }
  // Slices of one second: a replacement is newer than the slice that it replaces.
  if (Replaces(*a, *b) != Replaces(*b, *a)) return Replaces(*b, *a);
  return a->meta.uid < b->meta.uid;
}

// The newest of `slices`, which are sorted, that `is_wanted`; null: none.
template <typename Predicate>
const api::Workload* Newest(const std::vector<const api::Workload*>& slices, Predicate is_wanted) {
  const auto found = std::find_if(slices.rbegin(), slices.rend(),
                                  [&](const api::Workload* each) { return is_wanted(*each); });
  return found == slices.rend() ? nullptr : *found;
}

}  // namespace

JobSlices SortSlices(std::vector<const api::Workload*> slices) {
  std::sort(slices.begin(), slices.end(), IsOlder);
  JobSlices sorted;
  sorted.head = Newest(slices, [&slices](const api::Workload& each) {
    return HoldsQuota(each) && !IsEvicted(each) &&
           std::none_of(slices.begin(), slices.end(), [&each](const api::Workload* other) {
             return HoldsQuota(*other) && !IsEvicted(*other) && Replaces(*other, each);
           });
  });
  sorted.pending = Newest(slices, [&sorted](const api::Workload& each) {
    return !HoldsQuota(each) && !IsEvicted(each) &&
           (sorted.head == nullptr || Replaces(each, *sorted.head));
  });
  if (sorted.head == nullptr && sorted.pending == nullptr && !slices.empty()) {
    sorted.pending = slices.back();  // all are evicted
  }
  for (const api::Workload* each : slices) {
    if (each == sorted.head || each == sorted.pending) continue;
    const api::Workload* by =
        Newest(slices, [each](const api::Workload& other) { return Replaces(other, *each); });
    sorted.ended.push_back({each, by == nullptr ? api::kOutOfSync : api::kWorkloadSliceReplaced,
                            by == nullptr ? kOutOfSyncText : kReplacedText, by});
  }
  return sorted;
}

SliceChange ChangeOf(const JobView& job, const api::Workload& slice) {
  const std::vector<api::PodSet>& before = slice.spec.pod_sets;
  if (before.size() != job.pod_sets.size()) return SliceChange::kOther;
  bool grows = false;
  bool shrinks = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].name != job.pod_sets[i].name) return SliceChange::kOther;
    grows = grows || job.pod_sets[i].count > before[i].count;
    shrinks = shrinks || job.pod_sets[i].count < before[i].count;
  }
  if (!grows && !shrinks) return SliceChange::kNone;
  return grows && HoldsQuota(slice) ? SliceChange::kGrow : SliceChange::kSetCounts;
}

SharedList<api::PodSet> WithCountsOf(const JobView& job, const api::Workload& slice) {
  SharedList<api::PodSet> pod_sets = slice.spec.pod_sets;
  for (std::size_t i = 0; i < pod_sets.size(); ++i) pod_sets[i].count = job.pod_sets[i].count;
  return pod_sets;
}

std::vector<api::ReclaimablePod> ReclaimableOf(const JobView& job, const api::Workload& workload) {
  std::vector<api::ReclaimablePod> pods = job.reclaimable_pods;
  for (api::ReclaimablePod& each : pods) {
    for (const api::PodSet& pod_set : workload.spec.pod_sets) {
      if (pod_set.name == each.pod_set) each.count = std::min(each.count, pod_set.count);
    }
  }
  if (!HoldsQuota(workload)) return pods;
  // The review refuses fewer: a job that partial admission starts with fewer pods has fewer to
  // give.
  for (const api::ReclaimablePod& told : workload.status.reclaimable_pods) {
    const auto now = std::find_if(pods.begin(), pods.end(), [&told](const auto& each) {
      return each.pod_set == told.pod_set;
    });
    const auto pod_set =
        std::find_if(workload.spec.pod_sets.begin(), workload.spec.pod_sets.end(),
                     [&told](const api::PodSet& each) { return each.name == told.pod_set; });
    if (pod_set == workload.spec.pod_sets.end()) continue;
    if (IsSlice(workload) && api::MayTakeBack(workload, told)) continue;
    const std::int32_t least = std::min(told.count, pod_set->count);
    if (now == pods.end()) {
      pods.push_back({told.pod_set, least});
    } else {
      now->count = std::max(now->count, least);
    }
  }
  return pods;
}

void MarkSlice(const api::Workload* replaced, api::Workload& slice) {
  api::StringMap& annotations = slice.meta.annotations;
  annotations[api::kElasticJobAnnotation] = "true";
  annotations[api::kSliceNameAnnotation] = slice.meta.name;
  if (replaced == nullptr) return;
  annotations[api::kSliceReplacementForAnnotation] = replaced->meta.key().ToString();
  if (const std::string chain = ChainOf(*replaced); !chain.empty()) {
    annotations[api::kSliceNameAnnotation] = chain;
  }
}

bool IsSlice(const api::Workload& workload) {
  const std::string* elastic =
      api::FindValue(workload.meta.annotations, api::kElasticJobAnnotation);
  return elastic != nullptr && *elastic == "true";
}

std::string ChainOf(const api::Workload& workload) {
  if (!IsSlice(workload)) return "";
  const std::string* chain = api::FindValue(workload.meta.annotations, api::kSliceNameAnnotation);
  return chain == nullptr || chain->empty() ? workload.meta.name : *chain;
}

}  // namespace berth::integrations
