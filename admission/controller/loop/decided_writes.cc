#include "admission/controller/loop/decided_writes.h"

#include <utility>

#include "kube/client/informer.h"

namespace berth::admission {
namespace {

constexpr Duration kConflictWait = std::chrono::milliseconds(5);
constexpr int kMaxConflicts = 6;

struct Attempts {
  DecidedWrites with;
  std::shared_ptr<const DecidedWrite> write;
  std::shared_ptr<const api::Workload> decided_on;
  DecidedWrites::Done done;
  int conflicts = 0;
};
using AttemptsPtr = std::shared_ptr<Attempts>;

void ReadAgain(const AttemptsPtr& attempts, const api::ObjectKey& key);

void Attempt(const AttemptsPtr& attempts, const api::Workload& base) {
  const DecidedWrites& with = attempts->with;
  api::WorkloadStatus status = base.status;
  with.driver.Change(*attempts->write, base, status, with.clock.Now());
  with.writer.ApplyStatus(
      base, status, [attempts, status, key = base.meta.key()](const Status& written) {
        const auto owner = attempts->with.owner.lock();
        if (owner == nullptr) return;
        if (written) return attempts->done(status);
        if (written.error().code == ErrorCode::kConflict && attempts->conflicts < kMaxConflicts) {
          ++attempts->conflicts;
          return ReadAgain(attempts, key);
        }
        attempts->done(written.error());
      });
}

void OnRead(const AttemptsPtr& attempts, const api::ObjectKey& key,
            const Result<kube::JsonPtr>& answer) {
  auto& workloads = attempts->with.manager.InformerFor<api::Workload>();
  if (answer && *answer != nullptr) workloads.Ingest(**answer);
  const auto fresh = workloads.Get(key);
  if (answer && fresh != nullptr &&
      attempts->with.driver.StillHolds(*attempts->write, *attempts->decided_on, *fresh)) {
    return Attempt(attempts, *fresh);
  }
  attempts->done(answer ? Error{ErrorCode::kConflict, "the workload has changed"} : answer.error());
}

void ReadAgain(const AttemptsPtr& attempts, const api::ObjectKey& key) {
  // The watch may need a moment to deliver the state of the conflict.
  const Duration wait =
      attempts->conflicts == 1 ? Duration::zero() : kConflictWait * (1 << attempts->conflicts);
  attempts->with.manager.executor().PostAfter(wait, [attempts, key] {
    if (attempts->with.owner.expired()) return;
    attempts->with.manager.client().Get(api::KindOf<api::Workload>(), key,
                                        [attempts, key](const Result<kube::JsonPtr>& answer) {
                                          const auto owner = attempts->with.owner.lock();
                                          if (owner != nullptr) OnRead(attempts, key, answer);
                                        });
  });
}

}  // namespace

void DecidedWrites::Send(std::shared_ptr<const DecidedWrite> write,
                         std::shared_ptr<const api::Workload> base, Done done) const {
  const api::Workload& decided_on = *base;
  Attempt(std::make_shared<Attempts>(
              Attempts{*this, std::move(write), std::move(base), std::move(done)}),
          decided_on);
}

}  // namespace berth::admission
