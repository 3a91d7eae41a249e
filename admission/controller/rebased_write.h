// admission/controller/rebased_write.h — writes a status that was decided on one state of a
// Workload, although somebody else may have written to the Workload since.
//
//     write ──conflict──▶ wait, read ──what it rests on is the same──▶ write on the newer object
//                                    └─otherwise, or too often──▶ done(error)
//
// The first reading is at once, since the news may be here already; later ones wait 20 ms and
// twice as long each time, six readings in all.
//
// Threads: the manager's Executor. Errors: as WorkloadWriter; kConflict where the Workload has
// changed in what matters.
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

// Nothing is called once `owner` has gone; it must not outlive `manager` and `writer`.
void WriteRebased(kube::Manager& manager, WorkloadWriter& writer, std::weak_ptr<const void> owner,
                  const api::Workload& base, RebasedWrite write);

}  // namespace berth::admission
