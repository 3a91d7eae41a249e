#include "admission/device_claims.h"

#include <algorithm>

namespace berth::admission {
namespace {

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

}  // namespace

std::string DeviceClaims::AddClaim(const api::ResourceClaimTemplate& claimed,
                                   const std::string& path, api::ResourceAmounts& devices) const {
  const std::string of = ": ResourceClaimTemplate " + claimed.meta.name + ": ";
  for (std::size_t i = 0; i < claimed.requests.size(); ++i) {
    const api::DeviceRequest& request = claimed.requests[i];
    const std::string at = path + ".devices.requests[" + std::to_string(i) + "]";
    if (request.first_available) {
      return at + ": Invalid value: null" + of + "FirstAvailable device selection is not supported";
    }
    if (!request.exactly) {
      return at + ": Invalid value: null" + of + "Exactly must be set if FirstAvailable is nil";
    }
    if (request.admin_access) continue;
    const std::string& mode = request.allocation_mode;
    if (!mode.empty() && mode != "ExactCount") {
      return at + ".exactly.allocationMode: Invalid value: " + Quoted(mode) + of +
             (mode == "All" ? "AllocationMode 'All' is not supported"
                            : "unsupported allocation mode: " + mode);
    }
    if (request.device_class.empty()) continue;
    const auto resource = classes_.find(request.device_class);
    if (resource == classes_.end()) {
      return path + ".resourceClaimTemplateName.deviceClassName: Not found: " +
             Quoted(request.device_class);
    }
    api::Amount& amount = devices[resource->second];
    amount = api::AddAmounts(amount, std::max<std::int64_t>(request.count, 0));
  }
  return "";
}

std::string DeviceClaims::Add(const api::Workload& workload, std::size_t pod_set,
                              api::ResourceAmounts& devices) const {
  const api::PodSet& pods = workload.spec.pod_sets[pod_set];
  const std::vector<api::PodClaim> claims =
      claims_of_ ? claims_of_(pods.pod_template) : std::vector<api::PodClaim>{};
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::string path = "spec.podSets[" + std::to_string(pod_set) +
                             "].template.spec.resourceClaims[" + std::to_string(i) + "]";
    if (!claims[i].claim_name.empty()) {
      return path +
             ".resourceClaimName: Forbidden: DynamicResourceAllocation feature does not "
             "support use of resource claims";
    }
    const std::string& name = claims[i].template_name;
    if (name.empty()) continue;
    const auto found = templates_.find({workload.meta.namespace_name, name});
    if (found == templates_.end()) {
      return path + ": Internal error: failed to get claim spec for ResourceClaimTemplate " + name +
             " in podset " + pods.name + ": resourceclaimtemplates.resource.k8s.io " +
             Quoted(name) + " not found";
    }
    std::string problem = AddClaim(found->second, path, devices);
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string DeviceClaims::Problem(const api::Workload& workload) const {
  if (!api::ClaimsDevices(workload)) return "";
  if (classes_.empty()) {
    return "The pods claim devices (spec.resourceClaims), and no device class is counted: map them "
           "in resources.deviceClassMappings of the Configuration, or ask for the devices as a "
           "resource";
  }
  for (std::size_t i = 0; i < workload.spec.pod_sets.size(); ++i) {
    if (!workload.spec.pod_sets[i].pod_template.spec.resource_claims) continue;
    api::ResourceAmounts devices;
    std::string problem = Add(workload, i, devices);
    if (!problem.empty()) return problem;
  }
  return "";
}

std::shared_ptr<const api::Workload> DeviceClaims::Counted(
    std::shared_ptr<const api::Workload> workload) const {
  if (classes_.empty() || !api::ClaimsDevices(*workload)) return workload;
  auto counted = std::make_shared<api::Workload>(*workload);
  for (std::size_t i = 0; i < counted->spec.pod_sets.size(); ++i) {
    api::ResourceAmounts devices;
    if (!Add(*workload, i, devices).empty()) return workload;
    api::PodSpec& spec = counted->spec.pod_sets[i].pod_template.spec;
    spec.resource_claims = false;
    for (const auto& [resource, amount] : devices) {
      spec.overhead[resource] = api::AddAmounts(spec.overhead[resource], amount);
    }
  }
  return counted;
}

}  // namespace berth::admission
