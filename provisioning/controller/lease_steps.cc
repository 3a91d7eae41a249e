#include "provisioning/controller/lease_steps.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "base/log/log.h"
#include "base/rfc3339.h"
#include "checks/controller_names.h"

namespace berth::provisioning {
namespace {

using kube::Json;

constexpr Duration kRefusedFor = std::chrono::minutes(10);

}  // namespace

LeaseSteps::LeaseSteps(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                       NodeView& nodes)
    : manager_(manager), clock_(clock), events_(events), nodes_(nodes) {}

bool LeaseSteps::AreRefused() const {
  return refused_at_ && clock_.SteadyNow() - *refused_at_ < kRefusedFor;
}

kube::Step LeaseSteps::Write(const std::string& node, Json metadata,
                             std::function<void(const Error&)> refused) {
  Json patch;
  patch["metadata"] = std::move(metadata);
  return [this, node, patch = std::move(patch),
          refused = std::move(refused)](std::function<void(Status)> next) {
    manager_.client().Patch(
        api::KindOf<api::Node>(), {"", node}, kube::PatchType::kMerge, patch,
        {.field_manager = checks::kProvisioningCheckController},
        [this, node, refused, next = std::move(next)](const Result<kube::JsonPtr>& written) {
          if (!written) {
            if (written.error().code == ErrorCode::kForbidden) refused(written.error());
            return next(Annotate(written.error(), "leasing node " + node));
          }
          nodes_.Ingest(**written);
          next(OkStatus());
        });
  };
}

kube::Step LeaseSteps::Take(std::shared_ptr<const api::Workload> workload,
                            const TakeLease& action) {
  Json metadata = {{"resourceVersion", action.resource_version},
                   {"labels", {{api::kLeaseLabel, action.holder}}},
                   {"annotations",
                    {{api::kLeaseUntilAnnotation, FormatTime(action.until)},
                     {api::kLeaseOfAnnotation, workload->meta.key().ToString()}}}};
  const auto refused = [this, workload = std::move(workload)](const Error& error) {
    refused_at_ = clock_.SteadyNow();
    LogWarning("no node is reused", {{"error", error.message}});
    events_.Record(
        kube::ReferenceTo(*workload), kube::EventType::kWarning, "LeaseRefused", "",
        "idle nodes are not reused, new capacity is requested: " + error.message +
            "; `kubectl apply -f manifests/components/reuse/role.yaml` grants the right");
  };
  return Write(action.node, std::move(metadata), refused);
}

kube::Step LeaseSteps::Release(const ReleaseLease& action) {
  Json metadata = {
      {"resourceVersion", action.resource_version},
      {"labels", {{api::kLeaseLabel, nullptr}}},
      {"annotations", {{api::kLeaseUntilAnnotation, nullptr}, {api::kLeaseOfAnnotation, nullptr}}}};
  const auto refused = [this](const Error& error) {
    refused_at_ = clock_.SteadyNow();
    LogWarning("a lease is not released and ends by itself", {{"error", error.message}});
  };
  kube::Step write = Write(action.node, std::move(metadata), refused);
  return [write = std::move(write)](std::function<void(Status)> next) {
    write([next = std::move(next)](Status done) {
      const bool gone = !done && done.error().code == ErrorCode::kNotFound;
      const bool forbidden = !done && done.error().code == ErrorCode::kForbidden;
      next(gone || forbidden ? OkStatus() : std::move(done));
    });
  };
}

}  // namespace berth::provisioning
