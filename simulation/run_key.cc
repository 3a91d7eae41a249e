#include "simulation/run_key.h"

#include <algorithm>

#include "api/job_user.h"
#include "api/object_meta.h"
#include "api/pod.h"
#include "provisioning/run_duration.h"

namespace berth::simulation {
namespace {

bool HasDigit(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string StemOf(const std::string& name) {
  std::string stem = name;
  for (std::size_t dash = stem.rfind('-'); dash != std::string::npos && dash > 0;
       dash = stem.rfind('-')) {
    if (!HasDigit(stem.substr(dash + 1))) break;
    stem.resize(dash);
  }
  return stem;
}

RunKey RunKeyOf(const api::Workload& workload, std::optional<std::int64_t> job_deadline) {
  RunKey key{.queue = workload.meta.namespace_name + "/" + workload.spec.queue_name,
             .name = workload.meta.name};
  if (const api::OwnerReference* owner = api::ControllerOf(workload.meta)) {
    key.kind = owner->kind;
    key.name = owner->name;
  }
  if (const auto* user = api::FindValue(workload.meta.annotations, api::kUserAnnotation)) {
    key.user = *user;
  }
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    for (const auto& [resource, amount] : api::PodRequests(pods.pod_template.spec)) {
      key.requests[resource] =
          api::AddAmounts(key.requests[resource], api::MultiplyAmounts(amount, pods.count));
    }
  }
  key.image = provisioning::ImagesOf(workload);
  key.declared = provisioning::ExpectedRun(workload, job_deadline);
  if (!key.declared) key.declared = provisioning::RunParameter(workload, {});
  return key;
}

}  // namespace berth::simulation
