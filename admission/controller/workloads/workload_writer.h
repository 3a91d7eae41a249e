// admission/controller/workloads/workload_writer.h — writes to Workloads, with a bound on
// concurrent writes.
//
// The API server's answers go into the informer, so that the next read has the written object.
//
// Threads: one Executor. Errors: as ApiClient.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/workload.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/client/api_client.h"
#include "kube/client/informer.h"

namespace berth::admission {

class WorkloadWriter {
 public:
  using Done = std::function<void(Status)>;

  WorkloadWriter(kube::ApiClient& client, kube::Informer<api::Workload>& workloads,
                 std::size_t max_in_flight = 64)
      : client_(client), workloads_(workloads), max_in_flight_(max_in_flight) {}

  // Applies api::AdmissionStatusPatch (api/codec/admission_status.h). Check states that `status`
  // drops are removed in an earlier write: check controllers own them too. A backoff that
  // another writer has set and that `status` drops is removed in a later write.
  void ApplyStatus(const api::Workload& base, const api::WorkloadStatus& status, Done done);
  void Deactivate(const api::Workload& workload, Done done);  // spec.active=false
  // Refused where the Workload has changed since it was read.
  void SetPriority(const api::Workload& workload, std::int32_t priority, Done done);
  // Writes Finished as job controllers do; refused where the Workload has changed since it was
  // read.
  void Finish(const api::Workload& workload, const api::Condition& finished, Done done);
  // The value of each annotation; nullopt: the annotation is removed.
  using Annotations = std::map<std::string, std::optional<std::string>>;
  void Annotate(const api::Workload& workload, const Annotations& annotations, Done done);
  void RemoveFinalizer(const api::Workload& workload, Done done);
  void Remove(const api::Workload& workload, Done done);  // removes finalizer, then object

  // Called with each write that the API server refuses for its content or its sender. The writer
  // reads the Workload again before it calls `done`, so that the next attempt has a fresh base.
  using Refused = std::function<void(const api::ObjectKey& workload, const Error& error)>;
  void OnRefused(Refused refused) { refused_ = std::move(refused); }

  // Writes under way and waiting. A caller that can defer writes should do so above a few hundred.
  std::size_t backlog() const { return in_flight_ + queue_.size(); }

  // `answered` is called with the latency of each write that the API server has done, and with
  // kube::WritePace::kThrottled for each one that it throttles (429). Call before the first write.
  void OnAnswer(const Clock& clock, std::function<void(Duration latency)> answered) {
    clock_ = &clock;
    answered_ = std::move(answered);
  }

 private:
  Done ClearsRequeueState(const api::Workload& base, const api::WorkloadStatus& status, Done done);
  void DropChecks(const api::Workload& base, std::vector<api::AdmissionCheckState> kept,
                  const api::WorkloadStatus& status, Done done);

  struct Write {
    api::ObjectKey key;
    kube::PatchType type;
    kube::JsonPtr body;
    kube::WriteOptions options;
    Done done;
  };

  void Enqueue(Write write);
  void Measure(SteadyTime begun, const Status& written) const;
  void End(const Done& done, const Status& status);
  void ReadRefused(const api::ObjectKey& key, const Error& error, Done done);
  void Pump();

  kube::ApiClient& client_;
  kube::Informer<api::Workload>& workloads_;
  std::size_t max_in_flight_;
  std::size_t in_flight_ = 0;
  std::deque<Write> queue_;
  Refused refused_;
  const Clock* clock_ = nullptr;
  std::function<void(Duration)> answered_;
  std::shared_ptr<WorkloadWriter*> self_ = std::make_shared<WorkloadWriter*>(this);
};

}  // namespace berth::admission
