// integrations/slice_plan.h — plans for the slices of an elastic job (job_slices.h): which slice
// the job follows, and how the slices follow the job's size. A part of action_plan.h.
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/workloadslicing, pkg/controller/jobframework/reconciler.go.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "integrations/action_plan.h"
#include "integrations/job_slices.h"

namespace berth::integrations {

struct SlicePlan {
  enum class Next {
    kDrive,    // `slice` is the job's Workload; null: it has none
    kWait,     // wait for the result of `actions`
    kRebuild,  // `slice`, which waits, gets the spec of the job
    kGrow,     // a further slice, which replaces `slice`
    kOther,    // the job's pod sets are others: slices cannot follow
  };
  Next next = Next::kDrive;
  const api::Workload* slice = nullptr;
  const api::Workload* head = nullptr;  // holds quota, not evicted; null: none
  bool is_first = false;                // `slice` waits, and no pods run
  std::vector<JobAction> actions;
  std::optional<Duration> look_again;
};

// `workloads`: all Workloads of the job, finished ones too.
SlicePlan PlanSlices(const JobView& job, const std::vector<api::Workload>& workloads, WallTime now);

// Whether the job has had a slice of this name, and so of this size. If that slice has ended, for
// example because it was deactivated while it waited, the job goes on in its present size until the
// size changes again.
bool HadSlice(const std::vector<api::Workload>& workloads, const std::string& name);

// Makes `workload`, which was built for the job's present size, a slice of the job. `replaced`:
// null for the job's first slice.
void BecomeSlice(const JobView& job, const api::Workload* replaced, api::Workload& workload);

SetWorkloadCondition FinishedBecause(const api::Workload& workload, const char* reason,
                                     std::string message, WallTime now);

}  // namespace berth::integrations
