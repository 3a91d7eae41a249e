// Handles writes to Workloads that the API server refuses.
#include <utility>

#include "integrations/controller/job_reconciler.h"
#include "kube/runtime/refused_write.h"

namespace berth::integrations {

// An event tells of the refusal. The Workload is read again, so that the next look has a fresh
// base.
void JobReconciler::EndFailed(const api::ObjectKey& key, const Error& error,
                              const std::string& what, std::function<void(Status)> next) {
  Error named = Annotate(error, what + " of " + key.ToString());
  if (!kube::IsRefusal(error)) return next(std::move(named));
  if (const auto workload = workloads_.Get(key)) {
    kube::RecordRefusedWrite(events_, kube::ReferenceTo(*workload), error);
  }
  manager_.client().Get(api::KindOf<api::Workload>(), key,
                        [this, named = std::move(named),
                         next = std::move(next)](const Result<kube::JsonPtr>& answer) {
                          if (answer && *answer != nullptr) workloads_.Ingest(**answer);
                          next(named);
                        });
}

}  // namespace berth::integrations
