#include "admission/controller/workload_writer.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/admission_status.h"
#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/reasons.h"

namespace berth::admission {

using kube::Json;

void WorkloadWriter::ApplyStatus(const api::Workload& base, const api::WorkloadStatus& status,
                                 Done done) {
  Enqueue({base.meta.key(),
           kube::PatchType::kApply,
           std::make_shared<const Json>(api::AdmissionStatusPatch(base, status)),
           {.field_manager = api::kAdmissionManager,
            .force = kube::Force::kYes,
            .subresource = "status"},
           std::move(done)});
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

void WorkloadWriter::Annotate(const api::Workload& workload, const std::string& annotation,
                              const std::string& value, Done done) {
  Json patch = {{"metadata", {{"uid", workload.meta.uid}, {"annotations", {{annotation, value}}}}}};
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
                  {"finalizers", std::move(finalizers)}}}};
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

void WorkloadWriter::Enqueue(Write write) {
  queue_.push_back(std::move(write));
  Pump();
}

void WorkloadWriter::Pump() {
  while (in_flight_ < max_in_flight_ && !queue_.empty()) {
    Write write = std::move(queue_.front());
    queue_.pop_front();
    ++in_flight_;
    client_.Patch(api::KindOf<api::Workload>(), write.key, write.type, *write.body, write.options,
                  [weak = std::weak_ptr(self_),
                   done = std::move(write.done)](const Result<kube::JsonPtr>& answer) {
                    const auto self = weak.lock();
                    if (self == nullptr) return;
                    WorkloadWriter& writer = **self;
                    --writer.in_flight_;
                    if (answer && *answer != nullptr) writer.workloads_.Ingest(**answer);
                    done(answer ? OkStatus() : Status(answer.error()));
                    writer.Pump();
                  });
  }
}

}  // namespace berth::admission
