// simulation/workloads.h — the Workloads around one Driver, in virtual time.
//
//     DecidedWrite ──Write──────────▶ changed copy ──Deliver──▶ Scheduler
//     job          ──Release, Finish─▶      ▲
//                                      Edit for any other write
//
// A write makes a changed copy of the Workload, as a write to the API does; Deliver gives the
// scheduler the copies in the order of the writes, as watch events do. World (simulation/world.h)
// and the loops of the benchmarks store their Workloads here, numbered by the caller.
//
// Units: none. Threads: one. Errors: none; a WorkloadId of a Workload that is not stored aborts.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "admission/driver.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::simulation {

class Workloads {
 public:
  // The driver must outlive the store. `count`: how many are expected; more may come.
  explicit Workloads(admission::Driver& driver, std::size_t count = 0);

  // Stores the object under `number` and gives it to the scheduler at once.
  void Set(std::size_t number, std::shared_ptr<const api::Workload> object, WallTime now);
  // Deletes the Workload, with its changes that are not delivered.
  void Forget(std::size_t number);

  // Includes the changes that are not delivered; null: no Workload has the number.
  const std::shared_ptr<const api::Workload>& object(std::size_t number) const {
    return objects_[number];
  }
  // The number of a stored Workload that has been given to the scheduler.
  std::size_t NumberOf(admission::WorkloadId id) const;

  // The copy that the next Deliver gives to the scheduler. The reference is valid until the next
  // call of this store.
  api::Workload& Edit(std::size_t number);
  // Carries out the write of a decision on the Workload that the write names. A preempted Workload
  // keeps its quota until its job has stopped.
  void Write(std::size_t number, const admission::DecidedWrite& write, WallTime now);
  // The job of an evicted Workload has stopped: the Workload gives its quota back and waits again
  // (integrations/release.h).
  void Release(std::size_t number, WallTime now);
  // The job has ended: it has succeeded, or failed. No effect on a Workload that has finished.
  void Finish(std::size_t number, WallTime now, bool failed = false);
  // Releases the changed Workloads that are evicted and hold quota: jobs that stop at once.
  void ReleaseEvicted(WallTime now);

  void Deliver(WallTime now);

 private:
  // Records the WorkloadId that the scheduler has given to the Workload.
  void Note(std::size_t number);

  admission::Driver& driver_;
  admission::Scheduler& scheduler_;  // the driver's scheduler
  std::vector<std::shared_ptr<const api::Workload>> objects_;
  std::vector<std::size_t> number_by_id_;  // by WorkloadId
  std::vector<std::pair<std::size_t, std::shared_ptr<api::Workload>>> changed_;
};

}  // namespace berth::simulation
