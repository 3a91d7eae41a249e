#include "checks/controller/active_condition.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/reasons.h"

namespace berth::checks {

void WriteActive(kube::Manager& manager, const api::AdmissionCheck& check,
                 const std::string& problem, WallTime now, kube::Reconciler::Done done) {
  api::Condition wanted{.type = api::kActive,
                        .status = api::ConditionStatus::kTrue,
                        .reason = "Active",
                        .message = "The admission check is active",
                        .last_transition_time = CutToSeconds(now),
                        .observed_generation = check.meta.generation};
  if (!problem.empty()) {
    wanted.status = api::ConditionStatus::kFalse;
    wanted.reason = "BadParametersRef";
    wanted.message = problem;
  }
  const api::Condition* told = api::FindCondition(check.conditions, api::kActive);
  if (told != nullptr && told->status == wanted.status && told->reason == wanted.reason &&
      told->message == wanted.message) {
    return done(kube::NextLook{});
  }
  if (told != nullptr && told->status == wanted.status) {
    wanted.last_transition_time = told->last_transition_time;
  }
  const api::ResourceKind& kind = api::KindOf<api::AdmissionCheck>();
  const kube::Json applied = {{"apiVersion", kind.api_version()},
                              {"kind", kind.kind},
                              {"metadata", {{"name", check.meta.name}}},
                              {"status", {{"conditions", {api::Encode(wanted)}}}}};
  manager.client().Patch(
      kind, check.meta.key(), kube::PatchType::kApply, applied,
      {.field_manager = check.controller_name, .force = kube::Force::kYes, .subresource = "status"},
      [&manager, done = std::move(done)](const Result<kube::JsonPtr>& written) {
        if (!written) return done(written.error());
        manager.InformerFor<api::AdmissionCheck>().Ingest(**written);
        done(kube::NextLook{});
      });
}

}  // namespace berth::checks
