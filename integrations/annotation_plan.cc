#include "integrations/annotation_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "api/deadline.h"
#include "api/holds.h"
#include "api/labels.h"
#include "integrations/workload_build.h"

namespace berth::integrations {
namespace {

// The gates of the Workload without those that its job does not have any more; nullopt: no change.
std::optional<std::string> GatesWithout(const api::ObjectMeta& job,
                                        const api::ObjectMeta& workload) {
  const std::string* held = api::FindValue(workload.annotations, api::kAdmissionGatedByAnnotation);
  if (held == nullptr) return std::nullopt;
  const std::string* wanted = api::FindValue(job.annotations, api::kAdmissionGatedByAnnotation);
  if (wanted != nullptr && *wanted == *held) return std::nullopt;
  const std::vector<std::string> known = api::AdmissionGatesOf(job);
  std::string kept;
  bool fewer = false;
  for (const std::string& gate : api::AdmissionGatesOf(workload)) {
    if (std::find(known.begin(), known.end(), gate) == known.end()) {
      fewer = true;
      continue;
    }
    if (!kept.empty()) kept += ',';
    kept += gate;
  }
  if (!fewer) return std::nullopt;
  return kept;
}

void Follow(const api::Workload& workload, const char* annotation, std::string value,
            const std::string& what, std::vector<JobAction>& actions) {
  const api::ObjectKey key = workload.meta.key();
  actions.emplace_back(SetAnnotation{key, annotation, std::move(value)});
  actions.emplace_back(EmitEvent{EmitEvent::Type::kNormal, "UpdatedWorkload",
                                 "Updated " + what + ": " + key.ToString(), ""});
}

}  // namespace

std::vector<JobAction> PlanAnnotations(const JobView& job, const api::Workload& workload) {
  if (job.bare_pods || PrebuiltWorkloadOf(job.meta) != nullptr) return {};
  std::vector<JobAction> actions;
  if (std::optional<std::string> gates = GatesWithout(job.meta, workload.meta)) {
    Follow(workload, api::kAdmissionGatedByAnnotation, *std::move(gates), "admission gates",
           actions);
  }
  const std::string* wanted = api::FindValue(job.meta.annotations, api::kDeadlineAnnotation);
  const std::string* known = api::FindValue(workload.meta.annotations, api::kDeadlineAnnotation);
  const bool is_time = api::DeadlineOf(job.meta.annotations).has_value();
  if (is_time && (known == nullptr || *known != *wanted)) {
    Follow(workload, api::kDeadlineAnnotation, *wanted, "deadline", actions);
  }
  return actions;
}

}  // namespace berth::integrations
