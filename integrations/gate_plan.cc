#include "integrations/gate_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

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

}  // namespace

std::vector<JobAction> PlanGates(const JobView& job, const api::Workload& workload) {
  if (job.bare_pods || PrebuiltWorkloadOf(job.meta) != nullptr) return {};
  std::optional<std::string> gates = GatesWithout(job.meta, workload.meta);
  if (!gates) return {};
  const std::string key = workload.meta.key().ToString();
  return {SetAdmissionGates{workload.meta.key(), *std::move(gates)},
          EmitEvent{EmitEvent::Type::kNormal, "UpdatedWorkload", "Updated admission gates: " + key,
                    ""}};
}

}  // namespace berth::integrations
