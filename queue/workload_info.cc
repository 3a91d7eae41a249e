#include "queue/workload_info.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "api/condition.h"
#include "api/deadline.h"
#include "api/holds.h"
#include "api/labels.h"
#include "api/reasons.h"

namespace berth::queue {
namespace {

constexpr const char* kAvoidedAnnotations[] = {api::kAvoidedFlavorsAnnotation,
                                               api::kReactiveAvoidedFlavorsAnnotation};

// Whether the list, joined by commas, has the name.
bool IsInList(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view each = list.substr(0, list.find(','));
    if (each == name) return true;
    list.remove_prefix(std::min(each.size() + 1, list.size()));
  }
  return false;
}

// FNV-1a over length-prefixed parts, then an avalanche: distinguishes shapes, and gives the same
// value on every machine.
class ShapeHash {
 public:
  void Add(std::string_view text) {
    Add(static_cast<std::int64_t>(text.size()));
    for (const char c : text) Mix(static_cast<unsigned char>(c));
  }
  void Add(std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    for (unsigned shift = 0; shift < 64; shift += 8) Mix((bits >> shift) & 0xFFU);
  }
  std::uint64_t Finish() const {
    std::uint64_t hash = state_;
    hash = (hash ^ (hash >> 33U)) * 0xFF51AFD7ED558CCDU;
    hash = (hash ^ (hash >> 33U)) * 0xC4CEB9FE1A85EC53U;
    hash ^= hash >> 33U;
    return hash == kUnknownShape ? 1 : hash;
  }

 private:
  void Mix(std::uint64_t byte) { state_ = (state_ ^ byte) * 0x100000001B3U; }
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

void AddNodeTerm(const api::NodeSelectorTerm& term, ShapeHash& hash) {
  for (const auto* requirements : {&term.match_expressions, &term.match_fields}) {
    hash.Add(static_cast<std::int64_t>(requirements->size()));
    for (const api::NodeSelectorRequirement& requirement : *requirements) {
      hash.Add(requirement.key);
      hash.Add(requirement.op);
      hash.Add(static_cast<std::int64_t>(requirement.values.size()));
      for (const std::string& value : requirement.values) hash.Add(value);
    }
  }
}

void AddSelection(const api::PodSpec& spec, ShapeHash& hash) {
  hash.Add(static_cast<std::int64_t>(spec.node_selector.size()));
  for (const auto& [key, value] : spec.node_selector) {
    hash.Add(key);
    hash.Add(value);
  }
  hash.Add(static_cast<std::int64_t>(spec.tolerations.size()));
  for (const api::Toleration& toleration : spec.tolerations) {
    hash.Add(toleration.key);
    hash.Add(toleration.op);
    hash.Add(toleration.value);
    hash.Add(toleration.effect);
    hash.Add(toleration.toleration_seconds.value_or(-1));
  }
  hash.Add(spec.required_node_affinity.has_value() ? 1 : 0);
  if (spec.required_node_affinity) {
    for (const api::NodeSelectorTerm& term : *spec.required_node_affinity) AddNodeTerm(term, hash);
  }
  for (const api::PreferredNodes& nodes : spec.preferred_node_affinity) {
    hash.Add(nodes.weight);
    AddNodeTerm(nodes.preference, hash);
  }
}

void AddTopologyRequest(const api::TopologyRequest& request, ShapeHash& hash) {
  hash.Add(request.required.value_or(""));
  hash.Add(request.preferred.value_or(""));
  hash.Add(request.unconstrained ? 1 : 0);
  hash.Add(request.pod_set_group_name.value_or(""));
  hash.Add(request.slice_required_topology.value_or(""));
  hash.Add(request.slice_size.value_or(0));
  for (const auto& constraint : request.slice_constraints) {
    hash.Add(constraint.topology);
    hash.Add(constraint.size);
  }
}

std::uint64_t ShapeOf(const WorkloadInfo& info, const Names& resources) {
  ShapeHash hash;
  hash.Add(info.priority);
  // A slice asks for the difference to the one that it replaces.
  if (const std::string* replaced =
          api::FindValue(info.object->meta.annotations, api::kSliceReplacementForAnnotation)) {
    hash.Add(*replaced);
  }
  for (const char* key : kAvoidedAnnotations) {
    const std::string* avoided = api::FindValue(info.object->meta.annotations, key);
    if (avoided == nullptr) continue;
    hash.Add(std::string_view(key));
    hash.Add(*avoided);
  }
  for (std::size_t i = 0; i < info.pod_sets.size(); ++i) {
    const PodSetInfo& pod_set = info.pod_sets[i];
    const api::PodSet& spec = info.object->spec.pod_sets[i];
    hash.Add(pod_set.name);
    hash.Add(pod_set.count);
    hash.Add(spec.min_count.value_or(-1));
    hash.Add(static_cast<std::int64_t>(pod_set.per_pod.size()));
    for (const ResourceRequest& request : pod_set.per_pod) {
      hash.Add(resources[request.resource]);
      hash.Add(request.amount);
    }
    AddSelection(spec.pod_template.spec, hash);
    if (spec.topology_request) AddTopologyRequest(*spec.topology_request, hash);
  }
  return hash.Finish();
}

bool HasPrefix(std::string_view text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
    return text.substr(0, prefix.size()) == prefix;
  });
}

__extension__ using Wide = __int128;

// Whole units, rounded up: transformations use these, whatever the resource's unit is.
api::Amount WholeUnits(std::string_view resource, api::Amount amount) {
  return resource == "cpu" ? amount / 1000 + (amount % 1000 > 0 ? 1 : 0) : amount;
}

// Returns billionths; a larger value has no digits behind the milli anyway.
Wide InNano(const api::Quantity& factor) {
  constexpr std::int64_t kMostInNano = INT64_MAX / 1'000'000'000;
  const std::int64_t whole = factor.Value();
  if (whole > -kMostInNano && whole < kMostInNano) return factor.NanoValue();
  return static_cast<Wide>(factor.MilliValue()) * 1'000'000;
}

// The amount in the unit of `resource`, rounded up, never below 0.
api::Amount FromNano(std::string_view resource, Wide nano) {
  const Wide unit = resource == "cpu" ? 1'000'000 : 1'000'000'000;
  const Wide amount = nano <= 0 ? 0 : nano / unit + (nano % unit > 0 ? 1 : 0);
  return amount > INT64_MAX ? INT64_MAX : static_cast<api::Amount>(amount);
}

// Source: Kueue pkg/workload (applyResourceTransformations). In Kueue a retained resource replaces,
// or is replaced by, the output of other transformations of the same resource, in map order; here
// the two are added.
api::ResourceAmounts Transformed(const api::ResourceAmounts& requests,
                                 const std::vector<ResourceTransformation>& transformations) {
  api::ResourceAmounts result;
  std::map<std::string, Wide> made;  // in billionths
  for (const auto& [resource, amount] : requests) {
    const auto found = std::find_if(transformations.begin(), transformations.end(),
                                    [&name = resource](const auto& t) { return t.input == name; });
    if (found == transformations.end()) {
      result[resource] = api::AddAmounts(result[resource], amount);
      continue;
    }
    api::Amount input = amount;
    if (const auto by = requests.find(found->multiply_by); by != requests.end()) {
      input = api::MultiplyAmounts(amount, WholeUnits(by->first, by->second));
    }
    for (const auto& [output, factor] : found->outputs) {
      Wide& sum = made[output];
      const Wide more = WholeUnits(resource, input) * InNano(factor);
      if (__builtin_add_overflow(sum, more, &sum)) sum = static_cast<Wide>(INT64_MAX) * INT64_MAX;
    }
    if (found->strategy == ResourceTransformation::Strategy::kRetain) {
      result[resource] = api::AddAmounts(result[resource], input);
    }
  }
  for (const auto& [output, nano] : made) {
    result[output] = api::AddAmounts(result[output], FromNano(output, nano));
  }
  return result;
}

}  // namespace

bool DecidingAnnotationsDiffer(const api::Workload& before, const api::Workload& after) {
  const auto differs = [&](const char* key) {
    const std::string* old_one = api::FindValue(before.meta.annotations, key);
    const std::string* new_one = api::FindValue(after.meta.annotations, key);
    if (old_one == nullptr || new_one == nullptr) return old_one != new_one;
    return *old_one != *new_one;
  };
  return differs(api::kPriorityBoostAnnotation) || differs(api::kDeadlineAnnotation) ||
         std::any_of(std::begin(kAvoidedAnnotations), std::end(kAvoidedAnnotations), differs);
}

bool WorkloadInfo::Avoids(std::string_view flavor) const {
  return std::any_of(std::begin(kAvoidedAnnotations), std::end(kAvoidedAnnotations),
                     [&](const char* key) {
                       const std::string* list = api::FindValue(object->meta.annotations, key);
                       return list != nullptr && IsInList(*list, flavor);
                     });
}

api::ResourceAmounts EffectiveRequests(const api::PodSet& pod_set, const InfoOptions& options) {
  api::ResourceAmounts requests = api::PodRequests(pod_set.pod_template.spec);
  api::ResourceAmounts devices;
  for (const std::string& resource : options.device_resources) {
    if (auto claimed = requests.extract(resource)) devices.insert(std::move(claimed));
  }
  if (!options.excluded_resource_prefixes.empty()) {
    std::erase_if(requests, [&](const auto& entry) {
      return HasPrefix(entry.first, options.excluded_resource_prefixes);
    });
  }
  if (!options.transformations.empty()) requests = Transformed(requests, options.transformations);
  for (const auto& [resource, amount] : devices) {
    requests[resource] = api::AddAmounts(requests[resource], amount);
  }
  return requests;
}

std::vector<std::int32_t> CountsAfterReclaim(const api::Workload& workload, ReclaimRule rule) {
  std::vector<std::int32_t> counts;
  counts.reserve(workload.spec.pod_sets.size());
  for (const api::PodSet& pod_set : workload.spec.pod_sets) {
    std::int32_t count = pod_set.count;
    for (const api::ReclaimablePod& reclaimable : workload.status.reclaimable_pods) {
      const bool frees = rule == ReclaimRule::kFrees && reclaimable.pod_set == pod_set.name;
      if (frees) count -= reclaimable.count;
    }
    counts.push_back(std::max(count, 0));
  }
  return counts;
}

WorkloadInfo BuildWorkloadInfo(std::shared_ptr<const api::Workload> object,
                               const InfoOptions& options, Names& resources) {
  WorkloadInfo info;
  info.priority = EffectivePriority(*object, options.ordering);
  info.queued_at = QueueOrderTime(*object, options.ordering);
  info.run_seconds = object->spec.maximum_execution_time_seconds.value_or(kUnknownRunSeconds);
  info.expected_run_seconds = info.run_seconds;
  info.deadline = api::DeadlineOf(object->meta.annotations).value_or(kNoDeadline);
  info.avoids_flavors =
      std::any_of(std::begin(kAvoidedAnnotations), std::end(kAvoidedAnnotations),
                  [&](const char* key) { return object->meta.annotations.contains(key); });
  info.failed_check = std::any_of(
      object->status.admission_checks.begin(), object->status.admission_checks.end(),
      [](const api::AdmissionCheckState& check) {
        return check.state == api::CheckState::kRetry || check.state == api::CheckState::kRejected;
      });
  const std::vector<std::int32_t> counts = CountsAfterReclaim(*object, options.reclaim);
  info.pod_sets.reserve(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const api::PodSet& spec = object->spec.pod_sets[i];
    PodSetInfo& pod_set = info.pod_sets.emplace_back();
    pod_set.name = spec.name;
    pod_set.count = counts[i];
    pod_set.topology_request = spec.topology_request.has_value();
    pod_set.may_shrink = spec.min_count.has_value();
    pod_set.min_count = spec.min_count.value_or(spec.count);
    const api::ResourceAmounts requests = EffectiveRequests(spec, options);
    pod_set.per_pod.reserve(requests.size());
    for (const auto& [resource, amount] : requests) {
      pod_set.per_pod.push_back({resources.Lend(resource), amount});
    }
  }
  info.object = std::move(object);
  if (options.equivalence_hashing) info.shape = ShapeOf(info, resources);
  return info;
}

bool BelongsInQueue(const api::Workload& workload) {
  return !workload.meta.deletion_timestamp && workload.spec.active && !api::IsGated(workload) &&
         !api::IsOnHold(workload) && !api::IsTrue(workload.status.conditions, api::kFinished) &&
         !api::IsTrue(workload.status.conditions, api::kQuotaReserved);
}

}  // namespace berth::queue
