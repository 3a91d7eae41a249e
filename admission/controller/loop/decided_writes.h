// admission/controller/loop/decided_writes.h — sends the write of a decision (admission/driver.h)
// to the API server, although another client may have written to the Workload since the decision.
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

#include "admission/controller/workloads/workload_writer.h"
#include "admission/driver.h"
#include "api/workload.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

// All members must outlive `owner`. After `owner` is gone no callback is called.
struct DecidedWrites {
  kube::Manager& manager;
  const Driver& driver;
  WorkloadWriter& writer;
  const Clock& clock;
  std::weak_ptr<const void> owner;

  // `base`: the Workload as it is known now. `done` gets the status that was written.
  using Done = std::function<void(const Result<api::WorkloadStatus>& written)>;
  void Send(std::shared_ptr<const DecidedWrite> write, std::shared_ptr<const api::Workload> base,
            Done done) const;
};

}  // namespace berth::admission
