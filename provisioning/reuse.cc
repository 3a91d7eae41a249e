#include "provisioning/reuse.h"

#include <algorithm>
#include <map>

#include "api/first_fit.h"
#include "api/labels.h"
#include "api/node_match.h"
#include "base/rfc3339.h"
#include "provisioning/gang.h"
#include "provisioning/lease.h"

namespace berth::provisioning {
namespace {

constexpr std::int64_t kSpareSeconds = 300;
constexpr std::int64_t kMostSeconds = 365LL * 24 * 3600;

// Pods of a reused queued node get the toleration with the lease.
bool ToleratesAll(const api::PodSpec& spec, const api::Node& node) {
  return std::all_of(node.taints.begin(), node.taints.end(), [&spec](const api::Taint& taint) {
    if (taint.key == api::kGkeQueuedTaint || taint.effect == "PreferNoSchedule") return true;
    return std::any_of(spec.tolerations.begin(), spec.tolerations.end(),
                       [&taint](const auto& each) { return api::Tolerates(each, taint); });
  });
}

bool MayRunOn(const api::PodSpec& spec, const api::Node& node) {
  const bool selected =
      std::all_of(spec.node_selector.begin(), spec.node_selector.end(), [&node](const auto& each) {
        const std::string* value = api::FindValue(node.meta.labels, each.first);
        return value != nullptr && *value == each.second;
      });
  if (!selected || !ToleratesAll(spec, node)) return false;
  const auto& affinity = spec.required_node_affinity;
  return !affinity || std::any_of(affinity->begin(), affinity->end(), [&node](const auto& term) {
    return api::Matches(term, node.meta.labels, node.meta.name);
  });
}

api::ResourceAmounts FreeOf(const NodeSeen& seen) {
  api::ResourceAmounts free = seen.node->allocatable;
  for (const auto& [resource, amount] : seen.taken) {
    free[resource] = api::SubtractAmounts(free[resource], amount);
  }
  return free;
}

class Planner {
 public:
  explicit Planner(const ReuseInput& input) : input_(input) {
    for (const PodSetGroup& group : input.groups) {
      api::Demand demand{api::PodRequests(group.pod_template.spec), group.count};
      demand.pod["pods"] = 1;
      pods_ += group.count;
      demands_.push_back(std::move(demand));
    }
    for (const NodeSeen& seen : input.seen.nodes) {
      if (IsCandidate(seen)) candidates_.push_back(&seen);
    }
    std::sort(candidates_.begin(), candidates_.end(),
              [](const auto* a, const auto* b) { return a->node->meta.name < b->node->meta.name; });
  }

  std::optional<std::vector<const api::Node*>> Plan() const {
    // Nodes that are leased already come first: a crash between two writes loses nothing.
    std::vector<const NodeSeen*> held = candidates_;
    std::erase_if(held, [this](const auto* seen) { return !HeldByUs(*seen); });
    if (auto plan = Fit(held)) return plan;
    for (const Set& set : WholeSets()) {
      auto plan = Fit(set);
      if (plan && plan->size() == set.size()) return plan;
    }
    std::vector<const NodeSeen*> open = candidates_;
    std::erase_if(open, [this](const auto* seen) { return !HeldByUs(*seen) && IsKept(*seen); });
    std::stable_partition(open.begin(), open.end(),
                          [this](const auto* seen) { return HeldByUs(*seen); });
    return Fit(open);
  }

 private:
  using Set = std::vector<const NodeSeen*>;

  bool HeldByUs(const NodeSeen& seen) const {
    const auto lease = LeaseOf(*seen.node);
    return lease && lease->holder == input_.holder && Lives(*lease, input_.now);
  }

  bool IsPromised(const NodeSeen& seen) const {
    if (const auto lease = LeaseOf(*seen.node); lease && Lives(*lease, input_.now)) {
      return lease->holder != input_.holder;
    }
    const std::string set = SetOf(*seen.node);
    return set.empty() ? input_.seen.unnamed_booking : input_.seen.booked.contains(set);
  }

  bool IsCandidate(const NodeSeen& seen) const {
    const api::Node& node = *seen.node;
    if (!seen.idle || node.unschedulable || node.meta.deletion_timestamp) return false;
    if (!api::IsTrue(node.conditions, "Ready") || IsPromised(seen)) return false;
    const auto end = EndOf(node);
    if (end && *end < input_.now + std::chrono::seconds(input_.needed_seconds)) return false;
    return std::any_of(
        input_.groups.begin(), input_.groups.end(),
        [&node](const PodSetGroup& group) { return MayRunOn(group.pod_template.spec, node); });
  }

  // The sets that are idle as a whole: those with a node that is leased already first, then by
  // name.
  std::vector<Set> WholeSets() const {
    std::map<std::string, Set> by_name;
    for (const NodeSeen* seen : candidates_) {
      if (seen->set_size > 1) by_name[SetOf(*seen->node)].push_back(seen);
    }
    std::vector<Set> sets;
    for (auto& [name, set] : by_name) {
      if (static_cast<std::int64_t>(set.size()) == set.front()->set_size) {
        sets.push_back(std::move(set));
      }
    }
    std::stable_partition(sets.begin(), sets.end(), [this](const Set& set) {
      return std::any_of(set.begin(), set.end(),
                         [this](const auto* seen) { return HeldByUs(*seen); });
    });
    return sets;
  }

  // Whether the node's set is kept together for a larger gang that waits.
  bool IsKept(const NodeSeen& seen) const {
    if (input_.rule.shape_rule == api::ProvisioningReuse::ShapeRule::kAny || seen.set_size <= 1) {
      return false;
    }
    return std::any_of(input_.seen.waiting.begin(), input_.seen.waiting.end(),
                       [&](const api::Workload* each) { return IsLargerGangFor(*each, seen); });
  }

  bool IsLargerGangFor(const api::Workload& workload, const NodeSeen& seen) const {
    if (GangOf(workload, input_.config).pods() <= pods_) return false;
    return std::any_of(workload.spec.pod_sets.begin(), workload.spec.pod_sets.end(),
                       [&](const api::PodSet& pods) {
                         return UsesManaged(pods.pod_template.spec, input_.config) &&
                                MayRunOn(pods.pod_template.spec, *seen.node);
                       });
  }

  std::optional<std::vector<const api::Node*>> Fit(const Set& set) const {
    if (set.empty()) return std::nullopt;
    api::Rooms rooms;
    for (const NodeSeen* seen : set) rooms.free.push_back(FreeOf(*seen));
    rooms.allows = [&](std::size_t demand, std::size_t room) {
      return MayRunOn(input_.groups[demand].pod_template.spec, *set[room]->node);
    };
    const auto pods = api::FirstFit(std::move(rooms), demands_);
    if (!pods) return std::nullopt;
    std::vector<const api::Node*> nodes;
    for (std::size_t at = 0; at < set.size(); ++at) {
      if ((*pods)[at] > 0) nodes.push_back(set[at]->node);
    }
    std::sort(nodes.begin(), nodes.end(),
              [](const auto* a, const auto* b) { return a->meta.name < b->meta.name; });
    return nodes;
  }

  const ReuseInput& input_;
  std::vector<api::Demand> demands_;
  std::int64_t pods_ = 0;
  std::vector<const NodeSeen*> candidates_;
};

}  // namespace

std::optional<std::vector<const api::Node*>> PlanReuse(const ReuseInput& input) {
  return Planner(input).Plan();
}

std::string SetOf(const api::Node& node) {
  const std::string* name = api::FindValue(node.meta.labels, api::kGkeRequestLabel);
  return name == nullptr ? "" : *name;
}

std::int64_t NeededLife(const api::ProvisioningReuse& rule, std::optional<std::int64_t> run) {
  if (!run) return rule.min_life_seconds;
  return std::clamp<std::int64_t>(*run, 0, kMostSeconds) + kSpareSeconds;
}

std::optional<WallTime> EndOf(const api::Node& node) {
  const std::string* text = api::FindValue(node.meta.annotations, api::kGkeNodeEndAnnotation);
  return text == nullptr ? std::nullopt : ParseTime(*text);
}

}  // namespace berth::provisioning
