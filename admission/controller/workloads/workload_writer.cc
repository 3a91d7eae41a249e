#include "admission/controller/workloads/workload_writer.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/admission_status.h"
#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "kube/runtime/refused_write.h"
#include "kube/runtime/write_pace.h"

namespace berth::admission {

using kube::Json;
namespace {

// The check states of `base` whose checks `status` has too.
std::vector<api::AdmissionCheckState> ChecksThatStay(const api::Workload& base,
                                                     const api::WorkloadStatus& status) {
  std::vector<api::AdmissionCheckState> kept = base.status.admission_checks;
  std::erase_if(kept, [&status](const api::AdmissionCheckState& check) {
    return std::none_of(status.admission_checks.begin(), status.admission_checks.end(),
                        [&check](const auto& each) { return each.name == check.name; });
  });
  return kept;
}

}  // namespace

void WorkloadWriter::ApplyStatus(const api::Workload& base, const api::WorkloadStatus& status,
                                 Done done) {
  std::vector<api::AdmissionCheckState> kept = ChecksThatStay(base, status);
  if (kept.size() < base.status.admission_checks.size()) {
    return DropChecks(base, std::move(kept), status, std::move(done));
  }
  Enqueue({base.meta.key(),
           kube::PatchType::kApply,
           std::make_shared<const Json>(api::AdmissionStatusPatch(base, status)),
           {.field_manager = api::kAdmissionManager,
            .force = kube::Force::kYes,
            .subresource = "status"},
           ClearsRequeueState(base, status, std::move(done))});
}

// An apply alone does not remove a requeueState that another field manager owns.
WorkloadWriter::Done WorkloadWriter::ClearsRequeueState(const api::Workload& base,
                                                        const api::WorkloadStatus& status,
                                                        Done done) {
  if (!base.status.requeue_state || status.requeue_state == base.status.requeue_state) return done;
  return [this, key = base.meta.key(), wanted = status.requeue_state,
          done = std::move(done)](const Status& written) {
    const auto stored = workloads_.Get(key);
    if (!written || stored == nullptr || !stored->status.requeue_state) return done(written);
    const bool has_no_time = !stored->status.requeue_state->requeue_at;
    if (wanted ? has_no_time || wanted->requeue_at.has_value() : false) return done(written);
    Json patch = {{"metadata",
                   {{"uid", stored->meta.uid}, {"resourceVersion", stored->meta.resource_version}}},
                  {"status", {{"requeueState", wanted ? Json{{"requeueAt", nullptr}} : Json()}}}};
    Enqueue({key,
             kube::PatchType::kMerge,
             std::make_shared<const Json>(std::move(patch)),
             {.field_manager = api::kAdmissionManager, .subresource = "status"},
             done});
  };
}

// An apply removes only fields of its own manager, and check controllers own the states that they
// wrote: their fields would remain, as an entry that the API server refuses.
void WorkloadWriter::DropChecks(const api::Workload& base,
                                std::vector<api::AdmissionCheckState> kept,
                                const api::WorkloadStatus& status, Done done) {
  Json patch = {
      {"metadata", {{"uid", base.meta.uid}, {"resourceVersion", base.meta.resource_version}}},
      {"status", {{"admissionChecks", kept.empty() ? Json() : api::Encode(kept)}}}};
  api::Workload next_base = base;
  next_base.status.admission_checks = std::move(kept);
  auto apply_rest = [this, next_base = std::move(next_base), status = api::WorkloadStatus(status),
                     done = std::move(done)](const Status& dropped) mutable {
    if (!dropped) return done(dropped);
    const auto stored = workloads_.Get(next_base.meta.key());
    if (stored == nullptr) return done(Error{ErrorCode::kNotFound, "the workload is gone"});
    next_base.meta.resource_version = stored->meta.resource_version;
    ApplyStatus(next_base, status, std::move(done));
  };
  Enqueue({base.meta.key(),
           kube::PatchType::kMerge,
           std::make_shared<const Json>(std::move(patch)),
           {.field_manager = api::kAdmissionManager, .subresource = "status"},
           std::move(apply_rest)});
}

void WorkloadWriter::Deactivate(const api::Workload& workload, Done done) {
  Json patch = {{"metadata", {{"uid", workload.meta.uid}}}, {"spec", {{"active", false}}}};
  Enqueue({workload.meta.key(),
           kube::PatchType::kMerge,
           std::make_shared<const Json>(std::move(patch)),
           {.field_manager = api::kAdmissionManager},
           std::move(done)});
}

void WorkloadWriter::SetPriority(const api::Workload& workload, std::int32_t priority, Done done) {
  Json patch = {{"metadata",
                 {{"uid", workload.meta.uid}, {"resourceVersion", workload.meta.resource_version}}},
                {"spec", {{"priority", priority}}}};
  Enqueue({workload.meta.key(),
           kube::PatchType::kMerge,
           std::make_shared<const Json>(std::move(patch)),
           {.field_manager = api::kAdmissionManager},
           std::move(done)});
}

void WorkloadWriter::Finish(const api::Workload& workload, const api::Condition& finished,
                            Done done) {
  Json status = {{"conditions", Json::array({api::Encode(finished)})}};
  Enqueue({workload.meta.key(),
           kube::PatchType::kApply,
           std::make_shared<const Json>(api::StatusPatch(workload, std::move(status))),
           {.field_manager = api::kJobControllerManagerPrefix + finished.type,
            .force = kube::Force::kYes,
            .subresource = "status"},
           std::move(done)});
}

void WorkloadWriter::Annotate(const api::Workload& workload, const Annotations& annotations,
                              Done done) {
  Json changes = Json::object();
  for (const auto& [name, value] : annotations) changes[name] = value ? Json(*value) : Json();
  Json patch = {{"metadata", {{"uid", workload.meta.uid}, {"annotations", std::move(changes)}}}};
  Enqueue({workload.meta.key(),
           kube::PatchType::kMerge,
           std::make_shared<const Json>(std::move(patch)),
           {.field_manager = api::kAdmissionManager},
           std::move(done)});
}

void WorkloadWriter::RemoveFinalizer(const api::Workload& workload, Done done) {
  std::vector<std::string> finalizers = workload.meta.finalizers;
  std::erase(finalizers, api::kResourceInUseFinalizer);
  Json patch = {{"metadata",
                 {{"uid", workload.meta.uid},
                  {"resourceVersion", workload.meta.resource_version},
                  {"finalizers", finalizers.empty() ? Json() : Json(finalizers)}}}};
  Enqueue({workload.meta.key(),
           kube::PatchType::kMerge,
           std::make_shared<const Json>(std::move(patch)),
           {.field_manager = api::kAdmissionManager},
           std::move(done)});
}

void WorkloadWriter::Remove(const api::Workload& workload, Done done) {
  auto remove = [weak = std::weak_ptr(self_), key = workload.meta.key(), uid = workload.meta.uid,
                 done = std::move(done)](const Status& released) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    if (!released) return done(released);
    (*self)->client_.Delete(api::KindOf<api::Workload>(), key,
                            {.propagation_policy = "Background", .precondition_uid = uid}, done);
  };
  if (!api::HasFinalizer(workload.meta, api::kResourceInUseFinalizer)) return remove(OkStatus());
  RemoveFinalizer(workload, std::move(remove));
}

void WorkloadWriter::End(const Done& done, const Status& status) {
  --in_flight_;
  done(status);
  Pump();
}

void WorkloadWriter::ReadRefused(const api::ObjectKey& key, const Error& error, Done done) {
  if (refused_) refused_(key, error);
  client_.Get(api::KindOf<api::Workload>(), key,
              [weak = std::weak_ptr(self_), error,
               done = std::move(done)](const Result<kube::JsonPtr>& answer) {
                const auto self = weak.lock();
                if (self == nullptr) return;
                if (answer && *answer != nullptr) (*self)->workloads_.Ingest(**answer);
                (*self)->End(done, error);
              });
}

// A write that never reached the API server says nothing about its latency.
void WorkloadWriter::Measure(SteadyTime begun, const Status& written) const {
  if (written) return answered_(clock_->SteadyNow() - begun);
  if (written.error().code == ErrorCode::kTooManyRequests) {
    answered_(kube::WritePace::kThrottled);
  }
}

void WorkloadWriter::Enqueue(Write write) {
  queue_.push_back(std::move(write));
  Pump();
}

void WorkloadWriter::Pump() {
  while (in_flight_ < max_in_flight_ && !queue_.empty()) {
    Write write = std::move(queue_.front());
    queue_.pop_front();
    ++in_flight_;
    const SteadyTime begun = clock_ == nullptr ? SteadyTime{} : clock_->SteadyNow();
    client_.PatchAndRead(api::KindOf<api::Workload>(), write.key, write.type, std::move(write.body),
                         write.options, workloads_.reader(),
                         [weak = std::weak_ptr(self_), key = write.key, begun,
                          done = std::move(write.done)](const Result<kube::ReadObject>& answer) {
                           const auto self = weak.lock();
                           if (self == nullptr) return;
                           WorkloadWriter& writer = **self;
                           const Status written = answer ? OkStatus() : Status(answer.error());
                           if (writer.answered_) writer.Measure(begun, written);
                           if (!written && kube::IsRefusal(written.error())) {
                             return writer.ReadRefused(key, written.error(), done);
                           }
                           if (answer) writer.workloads_.Ingest(*answer);
                           writer.End(done, written);
                         });
  }
}

}  // namespace berth::admission
