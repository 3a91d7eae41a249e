#include "integrations/controller/workload_writes.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/admission_status.h"
#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "integrations/controller/job_patches.h"
#include "kube/runtime/refused_write.h"

namespace berth::integrations {
namespace {

using kube::Force;
using kube::PatchType;
using Json = nlohmann::json;

}  // namespace

Status OkIfGone(Status status) {
  if (!status && status.error().code == ErrorCode::kNotFound) return OkStatus();
  return status;
}

api::Workload WorkloadWrites::Stored(const api::ObjectKey& key) const {
  const auto workload = workloads_.Get(key);
  return workload != nullptr ? *workload : api::Workload{};
}

std::vector<kube::Step> WorkloadWrites::StepsFor(const JobAction& action) {
  const auto merge = [this](const char* what, const api::ObjectKey& key, Json patch) {
    return std::vector<kube::Step>{Patch(what, key, PatchType::kMerge, std::move(patch), {})};
  };
  if (const auto* a = std::get_if<UpdateWorkloadSpec>(&action)) {
    return merge("updating the spec", a->key, WorkloadSpecPatch(Stored(a->key), a->spec));
  }
  if (const auto* a = std::get_if<AdoptWorkload>(&action)) {
    api::ObjectMeta meta = Stored(a->key).meta;
    meta.owner_references.push_back(a->owner);
    meta.labels[api::kJobUidLabel] = a->owner.uid;
    Json patch = {{"metadata", api::Encode(meta)}};
    patch["metadata"]["resourceVersion"] = meta.resource_version;
    return merge("taking over", a->key, std::move(patch));
  }
  if (const auto* a = std::get_if<SetQueueName>(&action)) {
    return merge("changing the queue", a->key, Json{{"spec", {{"queueName", a->queue_name}}}});
  }
  if (const auto* a = std::get_if<SetAnnotation>(&action)) {
    Json value = a->value.empty() ? Json(nullptr) : Json(a->value);
    return merge("changing an annotation", a->key,
                 Json{{"metadata", {{"annotations", {{a->annotation, std::move(value)}}}}}});
  }
  if (const auto* a = std::get_if<SetPriority>(&action)) {
    Json spec = {{"priority", a->priority.value}, {"priorityClassRef", nullptr}};
    if (const auto& ref = a->priority.ref) {
      spec["priorityClassRef"] = {{"group", ref->group}, {"kind", ref->kind}, {"name", ref->name}};
    }
    return merge("changing the priority", a->key, Json{{"spec", std::move(spec)}});
  }
  return StatusSteps(action);
}

std::vector<kube::Step> WorkloadWrites::StatusSteps(const JobAction& action) {
  const auto apply = [this](const std::string& what, const api::ObjectKey& key, Json applied,
                            std::string field_manager) {
    return std::vector<kube::Step>{Patch(what, key, PatchType::kApply, std::move(applied),
                                         {.field_manager = std::move(field_manager),
                                          .force = Force::kYes,
                                          .subresource = "status"})};
  };
  if (const auto* a = std::get_if<SetReclaimablePods>(&action)) {
    Json applied = AppliedWorkload(a->key);
    applied["status"] = {{"reclaimablePods", api::Encode(a->pods)}};
    return apply("reporting reclaimable pods", a->key, std::move(applied),
                 api::kReclaimablePodsManager);
  }
  if (const auto* a = std::get_if<SetWorkloadCondition>(&action)) {
    Json applied = AppliedWorkload(a->key);
    applied["status"] = {{"conditions", Json::array({api::Encode(a->condition)})}};
    return apply("setting " + a->condition.type, a->key, std::move(applied),
                 api::kJobControllerManagerPrefix + a->condition.type);
  }
  if (const auto* a = std::get_if<ReleaseQuota>(&action)) {
    return apply("releasing the quota", a->key,
                 api::AdmissionStatusPatch(Stored(a->key), a->status), api::kAdmissionManager);
  }
  return {};
}

kube::Step WorkloadWrites::Patch(const std::string& what, const api::ObjectKey& key, PatchType type,
                                 Json patch, kube::WriteOptions options) {
  return [this, what, key, type, patch = std::make_shared<const Json>(std::move(patch)),
          options = std::move(options)](std::function<void(Status)> next) {
    client_.PatchAndRead(
        api::KindOf<api::Workload>(), key, type, patch, options, workloads_.reader(),
        [this, what, key, next = std::move(next)](const Result<kube::ReadObject>& done) {
          if (!done) return EndFailed(key, done.error(), what, next);
          workloads_.Ingest(*done);
          next(OkStatus());
        });
  };
}

kube::Step WorkloadWrites::RemoveFinalizer(const api::ObjectKey& key) {
  return [this, key](std::function<void(Status)> next) {
    const auto workload = workloads_.Get(key);
    if (workload == nullptr || !api::HasFinalizer(workload->meta, api::kResourceInUseFinalizer)) {
      return next(OkStatus());
    }
    Json rest = Json::array();
    for (const std::string& finalizer : workload->meta.finalizers) {
      if (finalizer != api::kResourceInUseFinalizer) rest.push_back(finalizer);
    }
    Json patch = {{"metadata",
                   {{"finalizers", rest.empty() ? Json() : std::move(rest)},
                    {"resourceVersion", workload->meta.resource_version}}}};
    client_.PatchAndRead(
        api::KindOf<api::Workload>(), key, PatchType::kMerge,
        std::make_shared<const Json>(std::move(patch)), {}, workloads_.reader(),
        [this, key, next = std::move(next)](const Result<kube::ReadObject>& done) {
          if (!done) {
            return next(
                OkIfGone(Annotate(done.error(), "removing the finalizer of " + key.ToString())));
          }
          // The answer for a Workload that is being deleted shows its last state.
          const auto written = std::static_pointer_cast<const api::Workload>(done->object);
          if (written != nullptr && !written->meta.deletion_timestamp) workloads_.Ingest(*done);
          next(OkStatus());
        });
  };
}

kube::Step WorkloadWrites::Delete(const api::ObjectKey& key) {
  return [this, key](std::function<void(Status)> next) {
    client_.Delete(api::KindOf<api::Workload>(), key, {},
                   [key, next = std::move(next)](Status done) { next(OkIfGone(std::move(done))); });
  };
}

// An event tells of the refusal. The Workload is read again, so that the next look has a fresh
// base.
void WorkloadWrites::EndFailed(const api::ObjectKey& key, const Error& error,
                               const std::string& what, std::function<void(Status)> next) {
  Error named = Annotate(error, what + " of " + key.ToString());
  if (!kube::IsRefusal(error)) return next(std::move(named));
  if (const auto workload = workloads_.Get(key)) {
    kube::RecordRefusedWrite(events_, kube::ReferenceTo(*workload), error);
  }
  client_.Get(api::KindOf<api::Workload>(), key,
              [this, named = std::move(named),
               next = std::move(next)](const Result<kube::JsonPtr>& answer) {
                if (answer && *answer != nullptr) workloads_.Ingest(**answer);
                next(named);
              });
}

}  // namespace berth::integrations
