// integrations/job_slices.h — the workload slices of an elastic job: one Workload for each size
// that the job has had, of which one holds quota and at most one more waits to replace it.
//
//     job                    slices
//     created, 3 pods        a: 3, waits → holds quota
//     scaled up to 5         a: 3, holds quota     b: 5, waits, replaces a
//     b admitted             a: Finished           b: 5, holds quota
//     scaled down to 2                             b: 2: its counts are lowered
//
// How a kind asks for slices: its JobView is `elastic` (annotation kueue.x-k8s.io/elastic-job, and
// a kind that supports slices), its pod sets have the size that the job asks for now, and
// `slice_variant` differs between two sizes. Its pods are created with the scheduling gate
// kueue.x-k8s.io/elastic-job, the label of their pod set and the annotation
// kueue.x-k8s.io/workload-slice-name, which a start writes into the templates; controller/
// slice_ungater.h removes the gate of as many pods as the slice with quota has.
//
// Threads: pure functions. Errors: none.
// Source: Kueue KEP-77, pkg/workloadslicing.
#pragma once

#include <vector>

#include "api/workload.h"
#include "integrations/job_view.h"

namespace berth::integrations {

// A slice to finish, with the reason and the message of its condition.
struct EndedSlice {
  const api::Workload* slice = nullptr;
  const char* reason = "";
  const char* message = "";
  const api::Workload* replaced_by = nullptr;  // null: ended out of sync with the job
};

// The unfinished slices of one job.
struct JobSlices {
  const api::Workload* head = nullptr;     // holds quota, not evicted
  const api::Workload* pending = nullptr;  // waits
  std::vector<EndedSlice> ended;           // all others

  // The slice whose size follows the job's; null: none.
  const api::Workload* selected() const { return pending != nullptr ? pending : head; }
};

// `unfinished`: in any order. Without a head, `pending` is the newest slice.
JobSlices SortSlices(std::vector<const api::Workload*> unfinished);

// The change that a job needs whose slice is `slice`.
enum class SliceChange {
  kNone,
  kSetCounts,  // the slice gets the job's counts: it waits, or no pod set grows
  kGrow,       // a further slice
  kOther,      // the pod sets are others: slices cannot follow
};
SliceChange ChangeOf(const JobView& job, const api::Workload& slice);

// The pod sets of `slice` with the job's counts. Precondition: ChangeOf is not kOther.
SharedList<api::PodSet> WithCountsOf(const JobView& job, const api::Workload& slice);

// The pods of the job whose quota is free: no more than `workload` has, since the job may have been
// scaled down, and while it holds quota no fewer than its status says.
std::vector<api::ReclaimablePod> ReclaimableOf(const JobView& job, const api::Workload& workload);

// The annotations that make `slice` a slice; `replaced`: null for the job's first slice.
void MarkSlice(const api::Workload* replaced, api::Workload& slice);

bool IsSlice(const api::Workload& workload);
// The name that all slices of a job have in common; empty: the Workload is no slice.
std::string ChainOf(const api::Workload& workload);

}  // namespace berth::integrations
