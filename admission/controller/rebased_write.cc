#include "admission/controller/rebased_write.h"

#include <utility>

#include "kube/client/informer.h"

namespace berth::admission {
namespace {

constexpr Duration kConflictWait = std::chrono::milliseconds(5);
constexpr int kMaxConflicts = 6;

struct Attempts {
  kube::Manager& manager;
  WorkloadWriter& writer;
  std::weak_ptr<const void> owner;
  RebasedWrite write;
  int conflicts = 0;
};
using AttemptsPtr = std::shared_ptr<Attempts>;

void ReadAgain(const AttemptsPtr& attempts, const api::ObjectKey& key);

void Write(const AttemptsPtr& attempts, const api::Workload& base) {
  const api::WorkloadStatus status = attempts->write.status_on(base);
  attempts->writer.ApplyStatus(
      base, status, [attempts, status, key = base.meta.key()](const Status& written) {
        const auto owner = attempts->owner.lock();
        if (owner == nullptr) return;
        if (written) return attempts->write.done(status);
        if (written.error().code == ErrorCode::kConflict && attempts->conflicts < kMaxConflicts) {
          ++attempts->conflicts;
          return ReadAgain(attempts, key);
        }
        attempts->write.done(written.error());
      });
}

void ReadAgain(const AttemptsPtr& attempts, const api::ObjectKey& key) {
  // The watch may need a moment to deliver the state of the conflict.
  const Duration wait =
      attempts->conflicts == 1 ? Duration::zero() : kConflictWait * (1 << attempts->conflicts);
  attempts->manager.executor().PostAfter(wait, [attempts, key] {
    if (attempts->owner.expired()) return;
    attempts->manager.client().Get(
        api::KindOf<api::Workload>(), key, [attempts, key](const Result<kube::JsonPtr>& answer) {
          const auto owner = attempts->owner.lock();
          if (owner == nullptr) return;
          auto& workloads = attempts->manager.InformerFor<api::Workload>();
          if (answer && *answer != nullptr) workloads.Ingest(**answer);
          const auto fresh = workloads.Get(key);
          if (answer && fresh != nullptr && attempts->write.still_holds(*fresh)) {
            return Write(attempts, *fresh);
          }
          attempts->write.done(answer ? Error{ErrorCode::kConflict, "the workload has changed"}
                                      : answer.error());
        });
  });
}

}  // namespace

void WriteRebased(kube::Manager& manager, WorkloadWriter& writer, std::weak_ptr<const void> owner,
                  const api::Workload& base, RebasedWrite write) {
  Write(std::make_shared<Attempts>(Attempts{manager, writer, std::move(owner), std::move(write)}),
        base);
}

}  // namespace berth::admission
