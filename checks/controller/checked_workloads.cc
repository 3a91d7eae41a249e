#include "checks/controller/checked_workloads.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/admission_status.h"
#include "api/codec/codec.h"
#include "kube/runtime/refused_write.h"

namespace berth::checks {

kube::Sweep CheckedWorkloads(const kube::Informer<api::Workload>& workloads) {
  return {.covers =
              [&workloads](const api::ObjectKey& key) {
                const auto workload = workloads.Get(key);
                return workload != nullptr && !workload->status.admission_checks.empty();
              },
          .next = [&workloads](const api::ObjectKey& place) -> std::optional<kube::Sweep::Step> {
            const auto workload = workloads.After(place);
            if (workload == nullptr) return std::nullopt;
            const api::ObjectKey key = workload->meta.key();
            if (workload->status.admission_checks.empty()) return kube::Sweep::Step{key, {}};
            return kube::Sweep::Step{key, key};
          }};
}

kube::Informer<api::Job>* JobsOf(kube::Manager& manager) {
  return manager.HasInformer(api::KindOf<api::Job>()) ? &manager.InformerFor<api::Job>() : nullptr;
}

std::shared_ptr<const api::Job> JobOf(const kube::Informer<api::Job>* jobs,
                                      const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  if (jobs == nullptr || owner == nullptr || owner->kind != "Job" ||
      owner->api_version != "batch/v1") {
    return nullptr;
  }
  auto job = jobs->Get({workload.meta.namespace_name, owner->name});
  return job != nullptr && job->meta.uid == owner->uid ? job : nullptr;
}

std::optional<std::int64_t> JobDeadlineOf(const kube::Informer<api::Job>* jobs,
                                          const api::Workload& workload) {
  const auto job = JobOf(jobs, workload);
  return job == nullptr ? std::nullopt : job->active_deadline_seconds;
}

CheckWriter::CheckWriter(kube::Manager& manager, kube::EventRecorder& events,
                         const char* field_manager)
    : manager_(manager),
      events_(events),
      field_manager_(field_manager),
      workloads_(manager.InformerFor<api::Workload>()),
      jobs_(JobsOf(manager)) {}

kube::Step CheckWriter::Write(const WorkloadPtr& workload,
                              std::vector<api::AdmissionCheckState> checks) {
  return [this, workload, checks = std::move(checks)](std::function<void(Status)> next) {
    const kube::Json applied =
        api::StatusPatch(*workload, {{"admissionChecks", api::Encode(checks)}});
    manager_.client().Patch(
        api::KindOf<api::Workload>(), workload->meta.key(), kube::PatchType::kApply, applied,
        {.field_manager = field_manager_, .force = kube::Force::kYes, .subresource = "status"},
        [this, workload, next = std::move(next)](const Result<kube::JsonPtr>& written) {
          if (!written) return EndFailed(workload, written.error(), next);
          workloads_.Ingest(**written);
          next(OkStatus());
        });
  };
}

// A refused write gives an event, and the next attempt begins from the Workload as it is then.
void CheckWriter::EndFailed(const WorkloadPtr& workload, const Error& error,
                            std::function<void(Status)> next) {
  Error failure = Annotate(error, "writing the check's state");
  if (!kube::IsRefusal(error)) return next(std::move(failure));
  kube::RecordRefusedWrite(events_, kube::ReferenceTo(*workload), error);
  manager_.client().Get(api::KindOf<api::Workload>(), workload->meta.key(),
                        [this, failure = std::move(failure),
                         next = std::move(next)](const Result<kube::JsonPtr>& answer) {
                          if (answer && *answer != nullptr) workloads_.Ingest(**answer);
                          next(failure);
                        });
}

kube::Step CheckWriter::WriteMemory(const WorkloadPtr& workload, const api::StringMap& memory) {
  kube::Json annotations;
  for (const auto& [name, text] : memory) {
    annotations[name] = text.empty() ? kube::Json() : kube::Json(text);
  }
  const kube::Json patch = {{"metadata",
                             {{"annotations", std::move(annotations)},
                              {"resourceVersion", workload->meta.resource_version}}}};
  return [this, workload, patch](std::function<void(Status)> next) {
    manager_.client().Patch(api::KindOf<api::Workload>(), workload->meta.key(),
                            kube::PatchType::kMerge, patch, {.field_manager = field_manager_},
                            [this, next = std::move(next)](const Result<kube::JsonPtr>& written) {
                              if (!written) {
                                return next(Annotate(written.error(), "writing the memory"));
                              }
                              workloads_.Ingest(**written);
                              next(OkStatus());
                            });
  };
}

kube::Step CheckWriter::Record(const WorkloadPtr& workload, CheckEvent event) {
  return [this, workload, event = std::move(event)](const std::function<void(Status)>& next) {
    const auto type = event.warning ? kube::EventType::kWarning : kube::EventType::kNormal;
    events_.Record(kube::ReferenceTo(*workload), type, event.reason, "", event.message);
    const auto job = event.warning ? JobOf(jobs_, *workload) : nullptr;
    if (job != nullptr) {
      events_.Record(kube::ReferenceTo(*job), type, event.reason, "", event.message);
    }
    next(OkStatus());
  };
}

}  // namespace berth::checks
