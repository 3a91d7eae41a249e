#include "admission/flavors/claimed_devices.h"

#include <algorithm>
#include <optional>
#include <set>

namespace berth::admission {
namespace {

constexpr char kInvalidNull[] = ": Invalid value: null: ";
constexpr char kInternal[] = ": Internal error: ";

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

std::string RequestPath(std::size_t index) {
  return ".devices.requests[" + std::to_string(index) + "]";
}

// Lists several errors in the form that Kubernetes uses.
std::string Listed(const std::vector<std::string>& problems) {
  if (problems.size() < 2) return problems.empty() ? "" : problems.front();
  std::string text = "[";
  for (const std::string& problem : problems) text += (text.size() > 1 ? ", " : "") + problem;
  return text + "]";
}

// The selectors of a class, or what hinders a request from using it.
struct ClassSelectors {
  std::optional<DeviceSelectors> selectors;
  std::string problem;
};

ClassSelectors SelectorsOfClass(const DevicePool& pool, const std::string& name) {
  const api::DeviceClass* known = pool.ClassNamed(name);
  if (known == nullptr) {
    return {{},
            "failed to get DeviceClass " + name + ": deviceclasses.resource.k8s.io " +
                Quoted(name) + " not found"};
  }
  Result<DeviceSelectors> compiled = DeviceSelectors::Compile(known->selectors);
  if (compiled) return {*std::move(compiled), ""};
  return {{}, "DeviceClass " + name + " has invalid CEL selector: " + compiled.error().message};
}

}  // namespace

void DeviceClaims::Set(const api::ResourceClaimTemplate& object) {
  templates_[object.meta.key()] = object;
  charges_.erase(object.meta.key());
}

void DeviceClaims::Remove(const api::ObjectKey& key) {
  templates_.erase(key);
  charges_.erase(key);
}

// The number of devices of each class that a claim asks for.
std::string DeviceClaims::CountClasses(const api::ResourceClaimTemplate& claimed,
                                       std::map<std::string, std::int64_t>& devices) const {
  const std::string of = "ResourceClaimTemplate " + claimed.meta.name + ": ";
  for (std::size_t i = 0; i < claimed.requests.size(); ++i) {
    const api::DeviceRequest& request = claimed.requests[i];
    const std::string at = RequestPath(i);
    if (request.first_available) {
      return at + kInvalidNull + of + "FirstAvailable device selection is not supported";
    }
    if (!request.exactly) {
      return at + kInvalidNull + of + "Exactly must be set if FirstAvailable is nil";
    }
    if (const auto compiled = DeviceSelectors::Compile(request.selectors); !compiled) {
      const std::string field = at + ".exactly.selectors";
      return field + kInvalidNull + of + field.substr(1) + compiled.error().message;
    }
    if (request.admin_access) continue;
    const std::string& mode = request.allocation_mode;
    if (!mode.empty() && mode != "ExactCount") {
      return at + ".exactly.allocationMode: Invalid value: " + Quoted(mode) + ": " + of +
             (mode == "All" ? "AllocationMode 'All' is not supported"
                            : "unsupported allocation mode: " + mode);
    }
    if (request.device_class.empty()) continue;
    std::int64_t& count = devices[request.device_class];
    count = api::AddAmounts(count, std::max<std::int64_t>(request.count, 0));
  }
  return "";
}

// Whether the cluster has devices for all requests with selectors, each device for one of them.
std::string DeviceClaims::CheckSelectors(const api::ResourceClaimTemplate& claimed,
                                         std::uint64_t& budget) const {
  const std::string of = "ResourceClaimTemplate " + claimed.meta.name + ": ";
  std::vector<std::string> problems;
  std::set<DevicePool::Place> taken;
  for (std::size_t i = 0; i < claimed.requests.size(); ++i) {
    const api::DeviceRequest& request = claimed.requests[i];
    if (request.selectors.empty()) continue;
    const std::string at = RequestPath(i) + ".exactly.selectors";
    const std::string& name = request.device_class;
    ClassSelectors of_class;
    if (!name.empty()) of_class = SelectorsOfClass(pool_, name);
    if (!of_class.problem.empty()) {
      problems.push_back(RequestPath(i) + kInternal + of + of_class.problem);
      continue;
    }
    const Result<DeviceSelectors> selectors = DeviceSelectors::Compile(request.selectors);
    if (!selectors) continue;  // CountClasses has told
    DevicePool::Question question{.selectors = {}, .drivers = {}, .most = request.count};
    if (of_class.selectors) question.selectors.push_back(&*of_class.selectors);
    question.selectors.push_back(&*selectors);
    const auto found = pool_.Find(question, taken, budget);
    if (!found) {
      problems.push_back(at + kInvalidNull + of + "CEL evaluation failed for DeviceClass " + name +
                         ": " + found.error().message);
      continue;
    }
    for (const DevicePool::Found& each : *found) taken.insert(each.place);
    const auto count = static_cast<std::int64_t>(found->size());
    if (count >= request.count) continue;
    problems.push_back(at + kInternal + of +
                       "insufficient matching devices for CEL selector in DeviceClass " + name +
                       ": " + std::to_string(count) + " device(s) match in the cluster but " +
                       std::to_string(request.count) + " requested");
  }
  return Listed(problems);
}

// The counters that the devices of a request take; `at`: the path of the request.
std::string DeviceClaims::AddCounters(const api::DeviceRequest& request, const std::string& at,
                                      std::uint64_t& budget, api::ResourceAmounts& amounts) const {
  const auto counters = counters_.find(request.device_class);
  if (counters == counters_.end() || request.admin_access) return "";
  const ClassSelectors of_class = SelectorsOfClass(pool_, request.device_class);
  if (!of_class.problem.empty()) return at + kInternal + of_class.problem;
  const Result<DeviceSelectors> of_request = DeviceSelectors::Compile(request.selectors);
  if (!of_request) return at + ".exactly.selectors" + of_request.error().message;
  for (const DeviceCounter& counter : counters->second) {
    const Result<DeviceSelectors> scope = DeviceSelectors::Compile({counter.selector});
    if (!scope) return at + ": deviceSelector " + scope.error().message;
    const auto found = pool_.Find({.selectors = {&*scope, &*of_class.selectors, &*of_request},
                                   .drivers = {counter.driver},
                                   .complete_pools = true,
                                   .most = {}},
                                  {}, budget);
    if (!found) return at + kInternal + "CEL evaluation error: " + found.error().message;
    const auto matched = static_cast<std::int64_t>(found->size());
    if (matched < request.count) {
      return at + kInternal +
             "insufficient matching devices for counter driver: " + std::to_string(matched) +
             " device(s) match but " + std::to_string(request.count) + " requested";
    }
    std::optional<api::Amount> most;
    for (const DevicePool::Found& each : *found) {
      const auto value = each.device->counters.find(counter.name);
      if (value == each.device->counters.end()) continue;
      most = std::max(most.value_or(0), value->second);
    }
    if (!most) {
      return at + kInternal + "matched devices have no consumesCounters entry for counter " +
             Quoted(counter.name);
    }
    api::Amount& amount = amounts[counter.resource];
    const std::int64_t count = std::max<std::int64_t>(request.count, 1);
    amount = api::AddAmounts(amount, api::MultiplyAmounts(*most, count));
  }
  return "";
}

const DeviceClaims::Charge& DeviceClaims::ChargeOf(
    const api::ResourceClaimTemplate& claimed) const {
  Charge& charge = charges_[claimed.meta.key()];
  if (charge.pool_version == pool_.version()) return charge;
  charge = {.pool_version = pool_.version(), .problem = "", .unmapped = "", .amounts = {}};
  std::map<std::string, std::int64_t> classes;
  charge.problem = CountClasses(claimed, classes);
  if (!charge.problem.empty()) return charge;
  std::uint64_t budget = DevicePool::kBudget;
  charge.problem = CheckSelectors(claimed, budget);
  if (!charge.problem.empty()) return charge;
  for (const auto& [name, count] : classes) {
    const auto resource = classes_.find(name);
    if (resource == classes_.end()) {
      charge.unmapped = name;
      return charge;
    }
    if (counters_.contains(name)) continue;
    api::Amount& amount = charge.amounts[resource->second];
    amount = api::AddAmounts(amount, count);
  }
  for (std::size_t i = 0; i < claimed.requests.size(); ++i) {
    charge.problem = AddCounters(claimed.requests[i], RequestPath(i), budget, charge.amounts);
    if (!charge.problem.empty()) return charge;
  }
  return charge;
}

std::string DeviceClaims::AddClaims(const api::Workload& workload, std::size_t pod_set,
                                    api::ResourceAmounts& devices) const {
  const api::PodSet& pods = workload.spec.pod_sets[pod_set];
  const std::vector<api::PodClaim>& claims = pods.pod_template.spec.claims;
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
      return path + kInternal + "failed to get claim spec for ResourceClaimTemplate " + name +
             " in podset " + pods.name + ": resourceclaimtemplates.resource.k8s.io " +
             Quoted(name) + " not found";
    }
    const Charge& charge = ChargeOf(found->second);
    if (!charge.unmapped.empty()) {
      return path + ".resourceClaimTemplateName: Not found: " +
             Quoted("DeviceClass " + charge.unmapped +
                    " is not mapped in DRA configuration for podset " + pods.name);
    }
    if (!charge.problem.empty()) {
      const bool several = charge.problem.front() == '[';
      return several ? path + ": " + charge.problem : path + charge.problem;
    }
    for (const auto& [resource, amount] : charge.amounts) {
      devices[resource] = api::AddAmounts(devices[resource], amount);
    }
  }
  return "";
}

bool DeviceClaims::HasExtended(const api::PodSpec& spec) const {
  if (!pool_.has_extended_resources()) return false;
  const auto serves = [this](const auto& named) { return pool_.ClassOf(named.first) != nullptr; };
  const auto asks = [&serves](const api::Container& container) {
    return std::any_of(container.requests.begin(), container.requests.end(), serves) ||
           std::any_of(container.limits.begin(), container.limits.end(), serves);
  };
  return std::any_of(spec.containers.begin(), spec.containers.end(), asks) ||
         std::any_of(spec.init_containers.begin(), spec.init_containers.end(), asks);
}

// Moves the extended resources that devices serve out of the containers' requests. Init containers
// run one after the other, the others side by side.
std::string DeviceClaims::AddExtended(std::size_t pod_set, api::PodSpec& spec,
                                      api::ResourceAmounts& devices) const {
  std::map<std::string, api::Amount> inits;
  std::map<std::string, api::Amount> others;
  std::string problem;
  const auto take = [&](std::vector<api::Container>& containers, const char* part, auto add) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      api::ResourceAmounts asked = containers[i].limits;
      for (const auto& [name, amount] : containers[i].requests) asked[name] = amount;
      for (const auto& [name, amount] : asked) {
        const api::DeviceClass* serves = amount == 0 ? nullptr : pool_.ClassOf(name);
        if (serves == nullptr || !classes_.contains(serves->meta.name)) continue;
        if (problem.empty() && counters_.contains(serves->meta.name)) {
          problem = "spec.podSets[" + std::to_string(pod_set) + "].template.spec." + part + "[" +
                    std::to_string(i) + "]: Invalid value: " + Quoted(name) +
                    ": extended resource " + name + " resolves to DeviceClass " +
                    serves->meta.name +
                    " with counters configured; use ResourceClaimTemplates with CEL selectors for "
                    "counter-based quota";
        }
        add(name, amount);
        containers[i].requests.erase(name);
        containers[i].limits.erase(name);
      }
    }
  };
  take(spec.init_containers, "initContainers", [&inits](const auto& name, api::Amount amount) {
    inits[name] = std::max(inits[name], amount);
  });
  take(spec.containers, "containers", [&others](const auto& name, api::Amount amount) {
    others[name] = api::AddAmounts(others[name], amount);
  });
  for (const auto& [name, amount] : inits) others[name] = std::max(others[name], amount);
  for (const auto& [name, amount] : others) {
    api::Amount& sum = devices[classes_.at(pool_.ClassOf(name)->meta.name)];
    sum = api::AddAmounts(sum, amount);
  }
  return problem;
}

bool DeviceClaims::AsksForDevices(const api::Workload& workload) const {
  return std::any_of(workload.spec.pod_sets.begin(), workload.spec.pod_sets.end(),
                     [this](const api::PodSet& pods) {
                       const api::PodSpec& spec = pods.pod_template.spec;
                       return spec.resource_claims || HasExtended(spec);
                     });
}

std::string DeviceClaims::Problem(const api::Workload& workload) const {
  if (classes_.empty() && api::ClaimsDevices(workload)) {
    return "The pods claim devices (spec.resourceClaims), and no device class is counted: map them "
           "in resources.deviceClassMappings of the Configuration, or ask for the devices as a "
           "resource";
  }
  if (classes_.empty()) return "";
  for (std::size_t i = 0; i < workload.spec.pod_sets.size(); ++i) {
    const api::PodSpec& spec = workload.spec.pod_sets[i].pod_template.spec;
    api::ResourceAmounts devices;
    std::string problem = spec.resource_claims ? AddClaims(workload, i, devices) : std::string();
    if (problem.empty() && HasExtended(spec)) {
      api::PodSpec changed = spec;
      problem = AddExtended(i, changed, devices);
    }
    if (!problem.empty()) return problem;
  }
  return "";
}

std::shared_ptr<const api::Workload> DeviceClaims::Counted(
    std::shared_ptr<const api::Workload> workload) const {
  if (classes_.empty() || !AsksForDevices(*workload)) return workload;
  auto counted = std::make_shared<api::Workload>(*workload);
  bool can_be_counted = true;
  for (std::size_t i = 0; i < counted->spec.pod_sets.size(); ++i) {
    api::PodSpec& spec = counted->spec.pod_sets[i].pod_template.spec;
    api::ResourceAmounts devices;
    if (spec.resource_claims) {
      can_be_counted = can_be_counted && AddClaims(*workload, i, devices).empty();
    }
    if (HasExtended(spec)) {
      can_be_counted = can_be_counted && AddExtended(i, spec, devices).empty();
    }
    spec.resource_claims = false;
    for (const auto& [resource, amount] : devices) {
      spec.overhead[resource] = api::AddAmounts(spec.overhead[resource], amount);
    }
  }
  if (can_be_counted) return counted;
  if (api::ClaimsDevices(*workload)) return workload;
  // The flag keeps the workload out of its queue.
  auto refused = std::make_shared<api::Workload>(*workload);
  refused->spec.pod_sets.front().pod_template.spec.resource_claims = true;
  return refused;
}

}  // namespace berth::admission
