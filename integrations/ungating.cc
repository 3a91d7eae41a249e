#include "integrations/ungating.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/labels.h"
#include "api/pod_phase.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "integrations/slice_ungating.h"

namespace berth::integrations {
namespace {

using Domain = api::TopologyAssignment::Domain;

// The ranks of a pod set's pods: [0, size), after `offset` is subtracted from the pod's index.
// Indexes count through the sets of a group; the smaller one (the leader) is first.
struct RankRange {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

const api::PodSet* PodSetOf(const api::Workload& workload, const std::string& name) {
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    if (pods.name == name) return &pods;
  }
  return nullptr;
}

const std::string* GroupOf(const api::Workload& workload, const std::string& pod_set) {
  const api::PodSet* pods = PodSetOf(workload, pod_set);
  if (pods == nullptr || !pods->topology_request) return nullptr;
  const auto& name = pods->topology_request->pod_set_group_name;
  return name ? &*name : nullptr;
}

RankRange RanksOf(const api::Workload& workload, const api::PodSetAssignment& assigned) {
  RankRange range{0, assigned.count};
  if (const api::PodSet* pods = PodSetOf(workload, assigned.name)) {
    const std::string* offset =
        api::FindValue(pods->pod_template.annotations, api::kPodIndexOffsetAnnotation);
    const auto ranks = offset == nullptr ? std::nullopt : ParseInt64(*offset);
    if (ranks && *ranks >= 0 && *ranks <= INT32_MAX) range.offset = *ranks;
  }
  const std::string* group = GroupOf(workload, assigned.name);
  if (group == nullptr) return range;
  bool seen = false;
  for (const api::PodSetAssignment& other : workload.status.admission->pod_set_assignments) {
    if (other.name == assigned.name) {
      seen = true;
      continue;
    }
    const std::string* its_group = GroupOf(workload, other.name);
    if (its_group == nullptr || *its_group != *group) continue;
    if (other.count < assigned.count || (other.count == assigned.count && !seen)) {
      range.offset += other.count;
    }
  }
  return range;
}

// The pods and domains of one pod set.
class PodSetUngating {
 public:
  PodSetUngating(const api::Workload& workload, const api::PodSetAssignment& assigned,
                 const std::vector<PodPtr>& pods)
      : workload_(workload),
        assigned_(assigned),
        levels_(assigned.topology_assignment->levels),
        domains_(assigned.topology_assignment->domains),
        taken_(domains_.size(), 0) {
    std::int64_t ranks = 0;
    for (std::size_t domain = 0; domain < domains_.size(); ++domain) {
      by_values_.emplace(domains_[domain].values, domain);
      ranks_below_.push_back(ranks += domains_[domain].count);
    }
    for (const PodPtr& pod : pods) Sort(pod);
  }

  void Plan(std::vector<Ungating>& out) {
    if (gated_.empty()) return;
    if (const auto ranks = Ranks()) return PlanByRank(*ranks, out);
    std::size_t domain = 0;
    for (const PodPtr& pod : InOrder()) {
      while (domain < domains_.size() && !Take(domain, pod, out)) ++domain;
    }
  }

 private:
  using PodsByRank = std::map<std::int64_t, PodPtr>;

  void Sort(const PodPtr& pod) {
    const std::string* pod_set = api::FindValue(pod->meta.labels, api::kPodSetLabel);
    if (pod_set == nullptr || *pod_set != assigned_.name || api::HasEnded(*pod)) return;
    const bool is_gated = IsTopologyGated(*pod);
    if (is_gated && IsElasticGated(*pod)) return;  // its slice has no room for the pod yet
    if (!is_gated) {
      const std::optional<std::size_t> domain = DomainOf(*pod);
      if (domain) ++taken_[*domain];
    }
    if (pod->meta.deletion_timestamp) return;
    (is_gated ? gated_ : running_).push_back(pod);
  }

  // The domain of an ungated pod; nullopt: a domain that the present assignment lacks.
  std::optional<std::size_t> DomainOf(const api::Pod& pod) const {
    std::vector<std::string> values;
    for (const std::string& level : levels_) {
      const std::string* value = api::FindValue(pod.spec.node_selector, level);
      if (value == nullptr) return std::nullopt;
      values.push_back(*value);
    }
    const auto found = by_values_.find(values);
    if (found == by_values_.end()) return std::nullopt;
    return found->second;
  }

  std::optional<std::int64_t> RankOf(const api::Pod& pod, const RankRange& range) const {
    const api::PodSet* pods = PodSetOf(workload_, assigned_.name);
    const auto& request = pods == nullptr ? no_request_ : pods->topology_request;
    const auto read = [&pod](const std::string& label) -> std::optional<std::int64_t> {
      const std::string* text = api::FindValue(pod.meta.labels, label);
      return text == nullptr ? std::nullopt : ParseInt64(*text);
    };
    // Pods of an implied request have an index all the same.
    auto index = read(request && request->pod_index_label ? *request->pod_index_label
                                                          : api::kCompletionIndexLabel);
    if (!index || *index < 0 || *index > INT32_MAX) return std::nullopt;
    std::int64_t rank = *index - range.offset;
    if (request && request->sub_group_index_label) {
      const std::int64_t groups = request->sub_group_count.value_or(0);
      const auto group = read(*request->sub_group_index_label);
      if (groups < 1 || !group || *group < 0 || *group >= groups) return std::nullopt;
      const std::int64_t group_size = range.size / groups;
      if (*index >= group_size) return std::nullopt;
      rank += *group * group_size;
    }
    if (rank < 0 || rank >= range.size) return std::nullopt;
    return rank;
  }

  std::optional<std::size_t> DomainOfRank(std::int64_t rank) const {
    const auto found = std::upper_bound(ranks_below_.begin(), ranks_below_.end(), rank);
    if (found == ranks_below_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - ranks_below_.begin());
  }

  // nullopt: ranks cannot be used.
  std::optional<PodsByRank> Ranks() const {
    const RankRange range = RanksOf(workload_, assigned_);
    PodsByRank ranks;
    for (const auto* list : {&gated_, &running_}) {
      for (const PodPtr& pod : *list) {
        const auto rank = RankOf(*pod, range);
        const auto domain = rank ? DomainOfRank(*rank) : std::nullopt;
        if (!domain || !ranks.emplace(*rank, pod).second) return std::nullopt;
        if (list == &running_ && DomainOf(*pod) != domain) return std::nullopt;
      }
    }
    return ranks;
  }

  void PlanByRank(const PodsByRank& ranks, std::vector<Ungating>& out) {
    for (const auto& [rank, pod] : ranks) {
      if (IsTopologyGated(*pod)) Take(*DomainOfRank(rank), pod, out);
    }
  }

  // Sorted by index if there is one, else by name.
  std::vector<PodPtr> InOrder() const {
    const auto place = [](const PodPtr& pod) {
      const std::string* text = api::FindValue(pod->meta.labels, api::kCompletionIndexLabel);
      const auto index = text == nullptr ? std::nullopt : ParseInt64(*text);
      return std::pair(index.value_or(INT64_MAX), pod->meta.key());
    };
    std::vector<PodPtr> ordered = gated_;
    std::sort(ordered.begin(), ordered.end(),
              [&](const PodPtr& a, const PodPtr& b) { return place(a) < place(b); });
    return ordered;
  }

  bool IsUnhealthy(const Domain& domain) const {
    const std::vector<std::string>& unhealthy = workload_.status.unhealthy_nodes;
    return !unhealthy.empty() && levels_.back() == api::kHostnameLabel &&
           std::find(unhealthy.begin(), unhealthy.end(), domain.values.back()) != unhealthy.end();
  }

  // Returns false where the domain is full, or unhealthy.
  bool Take(std::size_t domain, const PodPtr& pod, std::vector<Ungating>& out) {
    if (taken_[domain] >= domains_[domain].count || IsUnhealthy(domains_[domain])) return false;
    ++taken_[domain];
    Ungating& one = out.emplace_back();
    one.pod = pod;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      one.node_labels[levels_[level]] = domains_[domain].values[level];
    }
    return true;
  }

  const api::Workload& workload_;
  const api::PodSetAssignment& assigned_;
  const std::vector<std::string>& levels_;
  const std::vector<Domain>& domains_;
  const std::optional<api::TopologyRequest> no_request_;
  std::map<std::vector<std::string>, std::size_t> by_values_;
  std::vector<std::int64_t> ranks_below_;  // by domain: the first rank beyond it
  std::vector<std::int32_t> taken_;        // by domain: pods that it has
  std::vector<PodPtr> gated_;
  std::vector<PodPtr> running_;  // ungated, neither ended nor being deleted
};

bool IsWellFormed(const api::TopologyAssignment& assignment) {
  return !assignment.levels.empty() &&
         std::all_of(assignment.domains.begin(), assignment.domains.end(),
                     [&](const Domain& domain) {
                       return domain.values.size() == assignment.levels.size();
                     });
}

}  // namespace

bool IsPlacedByTopology(const api::Workload& workload) {
  const auto& status = workload.status;
  if (!status.admission || !api::IsTrue(status.conditions, api::kAdmitted) ||
      api::IsTrue(status.conditions, api::kEvicted) ||
      api::IsTrue(status.conditions, api::kFinished)) {
    return false;
  }
  const auto& assignments = status.admission->pod_set_assignments;
  return std::any_of(assignments.begin(), assignments.end(),
                     [](const auto& assigned) { return assigned.topology_assignment.has_value(); });
}

bool IsTopologyGated(const api::Pod& pod) {
  const std::vector<std::string>& gates = pod.spec.scheduling_gates;
  return std::find(gates.begin(), gates.end(), api::kTopologyGate) != gates.end();
}

std::vector<Ungating> PlanUngating(const api::Workload& workload, const std::vector<PodPtr>& pods) {
  std::vector<Ungating> plan;
  if (!IsPlacedByTopology(workload)) return plan;
  for (const api::PodSetAssignment& assigned : workload.status.admission->pod_set_assignments) {
    if (!assigned.topology_assignment || !IsWellFormed(*assigned.topology_assignment)) continue;
    PodSetUngating(workload, assigned, pods).Plan(plan);
  }
  return plan;
}

}  // namespace berth::integrations
