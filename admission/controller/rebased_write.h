// admission/controller/rebased_write.h — writes a status that was decided on one state of a
// Workload, although another client may have written to the Workload since.
//
//     write ──conflict──▶ wait, read ──decision's facts unchanged──▶ write on the newer object
//                                    └─changed, or too often───────▶ done(error)
//
// The first read is immediate, since the informer may have the newer object; the next ones wait 20
// ms and twice as long each time, six reads in all.
//
// Threads: the manager's Executor. Errors: as WorkloadWriter; kConflict where facts that the
// decision rests on have changed.
#pragma once

#include <functional>
#include <memory>

#include "admission/controller/workload_writer.h"
#include "api/workload.h"
#include "base/result.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

struct RebasedWrite {
  std::function<api::WorkloadStatus(const api::Workload& base)> status_on;
  std::function<bool(const api::Workload& fresh)> still_holds;
  std::function<void(const Result<api::WorkloadStatus>& written)> done;
};

// After `owner` is gone no callback is called; `owner` must not outlive `manager` and `writer`.
void WriteRebased(kube::Manager& manager, WorkloadWriter& writer, std::weak_ptr<const void> owner,
                  const api::Workload& base, RebasedWrite write);

}  // namespace berth::admission
