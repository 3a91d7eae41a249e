#include "admission/workloads/pod_defaults.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace berth::admission {
namespace {

using api::ResourceAmounts;

constexpr char kContainer[] = "Container";
constexpr char kPod[] = "Pod";

enum class Keep { kFirst, kLowest, kHighest };

void Merge(ResourceAmounts& into, const ResourceAmounts& more, Keep keep) {
  for (const auto& [resource, amount] : more) {
    const auto [found, is_new] = into.emplace(resource, amount);
    if (is_new || keep == Keep::kFirst) continue;
    found->second =
        keep == Keep::kLowest ? std::min(found->second, amount) : std::max(found->second, amount);
  }
}

// Resources for which `amounts` exceeds `most`, if `most` has the resource.
std::vector<std::string> Exceeding(const ResourceAmounts& amounts, const ResourceAmounts& most) {
  std::vector<std::string> names;
  for (const auto& [resource, amount] : amounts) {
    const auto found = most.find(resource);
    if (found != most.end() && amount > found->second) names.push_back(resource);
  }
  return names;
}

std::string Refusal(const std::string& path, const std::vector<std::string>& resources,
                    const char* why) {
  std::string list;
  for (const std::string& resource : resources) {
    list += (list.empty() ? "\"" : ",\"") + resource + '"';
  }
  return path + ": Invalid value: [" + list + "]: " + why;
}

std::string Aggregate(const char* what, const std::vector<std::string>& errors) {
  if (errors.empty()) return "";
  const std::string all = Join(errors, ", ");
  return std::string(what) + ": " + (errors.size() == 1 ? all : "[" + all + "]");
}

// Calls `visit(spec, path)` for each pod set.
template <typename Visit>
void ForEachSpec(const api::Workload& workload, Visit visit) {
  for (std::size_t i = 0; i < workload.spec.pod_sets.size(); ++i) {
    visit(workload.spec.pod_sets[i].pod_template.spec,
          "spec.podSets[" + std::to_string(i) + "].template.spec");
  }
}

// Calls `visit(container, path)` for each container of the pod.
template <typename Visit>
void ForEachContainer(const api::PodSpec& spec, const std::string& path, Visit visit) {
  const auto each = [&](const auto& containers, const std::string& list) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      visit(containers[i], list + "[" + std::to_string(i) + "]");
    }
  };
  each(spec.init_containers, path + ".initContainers");
  each(spec.containers, path + ".containers");
}

bool Exceeds(const ResourceAmounts& requests, const ResourceAmounts& limits) {
  return std::any_of(limits.begin(), limits.end(), [&](const auto& limit) {
    const auto found = requests.find(limit.first);
    return found != requests.end() && found->second > limit.second;
  });
}

bool AsksForMoreThanItsLimit(const api::Container& container) {
  return Exceeds(container.requests, container.limits);
}

bool SomeAskForMoreThanTheirLimit(const api::Workload& workload) {
  const auto& pod_sets = workload.spec.pod_sets;
  return std::any_of(pod_sets.begin(), pod_sets.end(), [](const api::PodSet& pods) {
    const api::PodSpec& spec = pods.pod_template.spec;
    return std::any_of(spec.containers.begin(), spec.containers.end(), AsksForMoreThanItsLimit) ||
           std::any_of(spec.init_containers.begin(), spec.init_containers.end(),
                       AsksForMoreThanItsLimit) ||
           Exceeds(spec.pod_requests, spec.pod_limits);
  });
}

// Whether `amounts` lacks some resource of `more`.
bool Lacks(const ResourceAmounts& amounts, const ResourceAmounts& more) {
  return std::any_of(more.begin(), more.end(),
                     [&](const auto& entry) { return !amounts.contains(entry.first); });
}

// Whether AddDefaults would change the containers.
bool WouldAddDefaults(const std::vector<api::Container>& containers,
                      const api::LimitRangeItem& defaults) {
  return std::any_of(containers.begin(), containers.end(), [&](const api::Container& container) {
    return Lacks(container.requests, container.limits) ||
           Lacks(container.limits, defaults.default_limits) ||
           Lacks(container.requests, defaults.default_requests);
  });
}

void AddDefaults(std::vector<api::Container>& containers, const api::LimitRangeItem& defaults) {
  for (api::Container& container : containers) {
    Merge(container.requests, container.limits, Keep::kFirst);
    Merge(container.limits, defaults.default_limits, Keep::kFirst);
    Merge(container.requests, defaults.default_requests, Keep::kFirst);
  }
}

constexpr char kAboveMax[] = "requests must not be above the limitRange max";
constexpr char kBelowMin[] = "requests must not be below the limitRange min";

void CheckRange(const ResourceAmounts& lowest, const ResourceAmounts& highest,
                const api::LimitRangeItem& range, const std::string& path,
                std::vector<std::string>& errors) {
  const std::vector<std::string> above = Exceeding(highest, range.max);
  if (!above.empty()) errors.push_back(Refusal(path, above, kAboveMax));
  std::vector<std::string> below;
  for (const auto& [resource, least] : range.min) {
    const auto found = lowest.find(resource);
    if (found != lowest.end() && found->second < least) below.push_back(resource);
  }
  if (!below.empty()) errors.push_back(Refusal(path, below, kBelowMin));
}

}  // namespace

void PodDefaults::Set(const api::LimitRange& range) {
  Limits& limits = limits_[range.meta.namespace_name];
  limits.ranges[range.meta.name] = range;
  Summarize(limits);
}

void PodDefaults::Set(const api::RuntimeClass& runtime_class) {
  overheads_[runtime_class.meta.name] = runtime_class.overhead;
}

void PodDefaults::RemoveLimitRange(const api::ObjectKey& key) {
  const auto found = limits_.find(key.namespace_name);
  if (found == limits_.end()) return;
  found->second.ranges.erase(key.name);
  if (found->second.ranges.empty()) {
    limits_.erase(found);
  } else {
    Summarize(found->second);
  }
}

void PodDefaults::Summarize(Limits& limits) {
  limits.by_type.clear();
  for (const auto& [name, range] : limits.ranges) {
    for (const api::LimitRangeItem& item : range.items) {
      api::LimitRangeItem& sum = limits.by_type[item.type];
      Merge(sum.max, item.max, Keep::kLowest);
      Merge(sum.min, item.min, Keep::kHighest);
      Merge(sum.default_limits, item.default_limits, Keep::kFirst);
      Merge(sum.default_requests, item.default_requests, Keep::kFirst);
    }
  }
}

const PodDefaults::Limits* PodDefaults::LimitsOf(const std::string& namespace_name) const {
  const auto found = limits_.find(namespace_name);
  return found == limits_.end() ? nullptr : &found->second;
}

std::shared_ptr<const api::Workload> PodDefaults::Completed(
    std::shared_ptr<const api::Workload> workload) const {
  if (limits_.empty() && overheads_.empty()) return workload;
  const api::LimitRangeItem* defaults = nullptr;
  if (const Limits* limits = LimitsOf(workload->meta.namespace_name)) {
    const auto found = limits->by_type.find(kContainer);
    if (found != limits->by_type.end()) defaults = &found->second;
  }
  const auto overhead_of = [this](const api::PodSpec& spec) {
    if (spec.runtime_class_name.empty() || !spec.overhead.empty()) return overheads_.end();
    return overheads_.find(spec.runtime_class_name);
  };
  // Checked before copying: pod sets that workloads share stay shared.
  const auto& pod_sets = workload->spec.pod_sets;
  const bool changes = std::any_of(pod_sets.begin(), pod_sets.end(), [&](const api::PodSet& pods) {
    const api::PodSpec& spec = pods.pod_template.spec;
    const auto found = overhead_of(spec);
    return (found != overheads_.end() && !found->second.empty()) ||
           (defaults != nullptr && (WouldAddDefaults(spec.init_containers, *defaults) ||
                                    WouldAddDefaults(spec.containers, *defaults)));
  });
  if (!changes) return workload;
  auto completed = std::make_shared<api::Workload>(*workload);
  for (api::PodSet& pods : completed->spec.pod_sets) {
    api::PodSpec& spec = pods.pod_template.spec;
    if (const auto found = overhead_of(spec); found != overheads_.end()) {
      spec.overhead = found->second;
    }
    if (defaults == nullptr) continue;
    AddDefaults(spec.init_containers, *defaults);
    AddDefaults(spec.containers, *defaults);
  }
  return completed;
}

std::string PodDefaults::Problem(const api::Workload& workload) const {
  const Limits* limits = LimitsOf(workload.meta.namespace_name);
  if (limits == nullptr && !SomeAskForMoreThanTheirLimit(workload)) return "";  // the frequent case
  std::vector<std::string> errors;
  const auto check_limits = [&errors](const ResourceAmounts& requests,
                                      const ResourceAmounts& limits_of_them,
                                      const std::string& path) {
    if (!Exceeds(requests, limits_of_them)) return;
    errors.push_back(
        Refusal(path, Exceeding(requests, limits_of_them), "requests must not exceed its limits"));
  };
  ForEachSpec(workload, [&](const api::PodSpec& spec, const std::string& path) {
    ForEachContainer(spec, path, [&](const api::Container& container, const std::string& at) {
      check_limits(container.requests, container.limits, at);
    });
    check_limits(spec.pod_requests, spec.pod_limits, path + ".resources");
  });
  if (!errors.empty()) return Aggregate("resources validation failed", errors);
  if (limits == nullptr) return "";
  if (const auto found = limits->by_type.find(kContainer); found != limits->by_type.end()) {
    const auto check_range = [&](const api::Container& container, const std::string& path) {
      ResourceAmounts lowest = container.requests;
      Merge(lowest, container.limits, Keep::kLowest);
      ResourceAmounts highest = container.requests;
      Merge(highest, container.limits, Keep::kHighest);
      CheckRange(lowest, highest, found->second, path, errors);
    };
    ForEachSpec(workload, [&](const api::PodSpec& spec, const std::string& path) {
      ForEachContainer(spec, path, check_range);
    });
  }
  if (const auto found = limits->by_type.find(kPod); found != limits->by_type.end()) {
    ForEachSpec(workload, [&](const api::PodSpec& spec, const std::string& path) {
      const ResourceAmounts total = api::PodRequests(spec);
      CheckRange(total, total, found->second, path, errors);
    });
  }
  return Aggregate("resources didn't satisfy LimitRange constraints", errors);
}

}  // namespace berth::admission
