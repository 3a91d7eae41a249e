#include "integrations/slice_plan.h"

#include <algorithm>
#include <utility>

#include "api/labels.h"
#include "api/reasons.h"
#include "api/reclaimable.h"

namespace berth::integrations {
namespace {

using Workloads = std::vector<const api::Workload*>;

class SlicePlanner {
 public:
  SlicePlanner(const JobView& job, const std::vector<api::Workload>& workloads, WallTime now)
      : job_(job), workloads_(workloads), now_(now) {}

  SlicePlan Run() {
    const Workloads open = OpenSlices();
    if (plan_.next == SlicePlan::Next::kWait) return std::move(plan_);
    if (open.empty()) {
      plan_.slice = EndedForGood();
      return std::move(plan_);
    }
    if (const api::Workload* leaving = Leaving(open)) {
      plan_.slice = leaving;
      return std::move(plan_);
    }
    const JobSlices slices = SortSlices(open);
    plan_.head = slices.head;
    plan_.slice = slices.selected();
    if (job_.finished || job_.meta.deletion_timestamp || plan_.slice->meta.deletion_timestamp) {
      return std::move(plan_);
    }
    const SliceChange change = ChangeOf(job_, *plan_.slice);
    if (change == SliceChange::kOther) {
      plan_.next = SlicePlan::Next::kOther;
      return std::move(plan_);
    }
    EndOthers(slices);
    plan_.is_first =
        slices.head == nullptr && !api::IsTrue(plan_.slice->status.conditions, api::kQuotaReserved);
    // A job that a user has suspended goes on in the size that is admitted.
    if (job_.suspended && slices.head != nullptr &&
        api::IsTrue(slices.head->status.conditions, api::kAdmitted)) {
      plan_.slice = slices.head;
    } else {
      Follow(change, open.size());
    }
    return std::move(plan_);
  }

 private:
  void Add(JobAction action) { plan_.actions.push_back(std::move(action)); }

  // The unfinished slices. Those that have ended, and those of an earlier job of this name, are let
  // go.
  Workloads OpenSlices() {
    Workloads open;
    Workloads ended;
    for (const api::Workload& each : workloads_) {
      const api::OwnerReference* owner = api::ControllerOf(each.meta);
      if (owner == nullptr || owner->uid != job_.meta.uid) {
        plan_.next = SlicePlan::Next::kWait;
        if (each.meta.deletion_timestamp) {
          Add(RemoveWorkloadFinalizer{each.meta.key()});
        } else {
          Add(DeleteWorkload{each.meta.key()});
        }
        continue;
      }
      const api::Condition* end = api::FindCondition(each.status.conditions, api::kFinished);
      if (end == nullptr || end->status != api::ConditionStatus::kTrue) {
        open.push_back(&each);
        continue;
      }
      if (api::HasFinalizer(each.meta, api::kResourceInUseFinalizer)) {
        Add(RemoveWorkloadFinalizer{each.meta.key()});
      }
      if (HasBeenFollowed(*end)) ended.push_back(&each);
    }
    DropOldest(std::move(ended));
    return open;
  }

  // Whether the job goes on after this end of a slice.
  static bool HasBeenFollowed(const api::Condition& end) {
    return end.reason == api::kWorkloadSliceReplaced || end.reason == api::kOutOfSync;
  }

  // A job that is scaled often keeps its last ended slices alone.
  void DropOldest(Workloads ended) {
    constexpr std::size_t kKept = 10;
    if (ended.size() <= kKept) return;
    std::sort(ended.begin(), ended.end(), [](const auto* a, const auto* b) {
      return a->meta.creation_timestamp > b->meta.creation_timestamp;
    });
    for (std::size_t i = kKept; i < ended.size(); ++i) {
      if (!ended[i]->meta.deletion_timestamp) Add(DeleteWorkload{ended[i]->meta.key()});
    }
  }

  // The slice whose end is the job's; null: the job may get a slice.
  const api::Workload* EndedForGood() const {
    for (const api::Workload& each : workloads_) {
      const api::Condition* ended = api::FindCondition(each.status.conditions, api::kFinished);
      if (ended != nullptr && !HasBeenFollowed(*ended)) return &each;
    }
    return nullptr;
  }

  // The slice that has to stop the job before the others follow the job's size; null: none.
  static const api::Workload* Leaving(const Workloads& open) {
    for (const api::Workload* each : open) {
      const auto& conditions = each->status.conditions;
      const bool leaves = each->meta.deletion_timestamp || api::IsTrue(conditions, api::kEvicted);
      if (leaves && open.size() > 1 && api::IsTrue(conditions, api::kQuotaReserved)) return each;
    }
    return nullptr;
  }

  // Finishes the slices that are neither head nor pending. The scheduler finishes the slice that it
  // has replaced, with a message that names the new one; its write is given some time.
  void EndOthers(const JobSlices& slices) {
    constexpr Duration kWriteOfScheduler = std::chrono::seconds(5);
    for (const EndedSlice& ended : slices.ended) {
      const api::Condition* reserved =
          ended.replaced_by == nullptr
              ? nullptr
              : api::FindCondition(ended.replaced_by->status.conditions, api::kQuotaReserved);
      if (reserved != nullptr && reserved->status == api::ConditionStatus::kTrue) {
        const Duration left = kWriteOfScheduler - (now_ - reserved->last_transition_time);
        if (left > Duration::zero()) {
          plan_.look_again = left;
          continue;
        }
      }
      Add(FinishedBecause(*ended.slice, ended.reason, ended.message, now_));
    }
  }

  // Whether the slice has reclaimable pods, and may take them back.
  static bool MayTakeBackAll(const api::Workload& slice) {
    const auto& told = slice.status.reclaimable_pods;
    if (told.empty() || !api::IsTrue(slice.status.conditions, api::kQuotaReserved)) {
      return !told.empty();
    }
    return std::all_of(told.begin(), told.end(),
                       [&](const auto& each) { return api::MayTakeBack(slice, each); });
  }

  // Whether no pod set of the slice has fewer pods than are reclaimable: the review refuses more.
  static bool HasAsMany(const api::Workload& slice, const std::vector<api::ReclaimablePod>& pods) {
    return std::all_of(pods.begin(), pods.end(), [&slice](const api::ReclaimablePod& each) {
      return std::any_of(slice.spec.pod_sets.begin(), slice.spec.pod_sets.end(),
                         [&each](const api::PodSet& set) {
                           return set.name == each.pod_set && set.count >= each.count;
                         });
    });
  }

  void Follow(SliceChange change, std::size_t open) {
    const api::Workload& slice = *plan_.slice;
    switch (change) {
      case SliceChange::kNone:
      case SliceChange::kOther: return;
      case SliceChange::kGrow:
        // One slice after the other: the present one replaces an older one that has not ended yet.
        plan_.next = open == 1 ? SlicePlan::Next::kGrow : SlicePlan::Next::kWait;
        return;
      case SliceChange::kSetCounts: break;
    }
    if (job_.suspended && plan_.is_first) {
      plan_.next = SlicePlan::Next::kRebuild;
      return;
    }
    plan_.next = SlicePlan::Next::kWait;
    api::WorkloadSpec spec = slice.spec;
    spec.pod_sets = WithCountsOf(job_, slice);
    // The smaller slice has less to give. A slice that waits gets quota for its counts less what is
    // reclaimable, and may not be able to take that back once it has quota. What only the larger
    // slice has to give is told when its counts are written.
    if (MayTakeBackAll(slice)) {
      auto pods = ReclaimableOf(job_, {.meta = {}, .spec = spec, .status = {}});
      if (pods != slice.status.reclaimable_pods && HasAsMany(slice, pods)) {
        Add(SetReclaimablePods{slice.meta.key(), std::move(pods)});
      }
    }
    Add(UpdateWorkloadSpec{slice.meta.key(), std::move(spec)});
    Add(EmitEvent{EmitEvent::Type::kNormal, "UpdatedWorkload",
                  "Updated workload slice: " + slice.meta.key().ToString(), ""});
  }

  const JobView& job_;
  const std::vector<api::Workload>& workloads_;
  const WallTime now_;
  SlicePlan plan_;
};

}  // namespace

SlicePlan PlanSlices(const JobView& job, const std::vector<api::Workload>& workloads,
                     WallTime now) {
  return SlicePlanner(job, workloads, now).Run();
}

bool HadSlice(const std::vector<api::Workload>& workloads, const std::string& name) {
  return std::any_of(workloads.begin(), workloads.end(),
                     [&name](const api::Workload& each) { return each.meta.name == name; });
}

void BecomeSlice(const JobView& job, const api::Workload* replaced, api::Workload& workload) {
  // The templates of the running job have the additions of its start.
  if (replaced != nullptr) {
    workload.spec.pod_sets = WithCountsOf(job, *replaced);
    workload.spec.templates = replaced->spec.templates;
  }
  MarkSlice(replaced, workload);
}

SetWorkloadCondition FinishedBecause(const api::Workload& workload, const char* reason,
                                     std::string message, WallTime now) {
  return {workload.meta.key(),
          {.type = api::kFinished,
           .status = api::ConditionStatus::kTrue,
           .reason = reason,
           .message = std::move(message),
           .last_transition_time = CutToSeconds(now),
           .observed_generation = workload.meta.generation}};
}

}  // namespace berth::integrations
