#include "view/screens/usage.h"

#include <algorithm>
#include <set>

#include "api/reasons.h"
#include "queue/workload_info.h"
#include "view/screens/reason.h"

namespace berth::view {
namespace {

void AddQuota(const api::ClusterQueue& queue, QueueUse& use) {
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        ResourceUse& resource = use.resources[quota.resource];
        resource.nominal = api::AddAmounts(resource.nominal, quota.nominal_quota);
      }
    }
  }
}

// Adds the usage that the controller last wrote to status.
void AddStatus(const api::QueueStatus& status, QueueUse& use) {
  use.waiting = status.pending_workloads;
  use.running = status.admitted_workloads;
  for (const api::FlavorUsage& flavor : status.flavors_reservation) {
    for (const auto& reserved : flavor.resources) {
      ResourceUse& resource = use.resources[reserved.resource];
      resource.used = api::AddAmounts(resource.used, reserved.total);
      resource.borrowed = api::AddAmounts(resource.borrowed, reserved.borrowed);
    }
  }
}

// {flavor, resource} → amount.
using FlavorAmounts = std::map<std::pair<std::string, std::string>, api::Amount>;

// Adds the quota that the Workload holds, without that of reclaimable pods.
void AddReserved(const api::Workload& workload, FlavorAmounts& reserved) {
  if (IsFinished(workload) || !workload.status.admission ||
      !api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
    return;
  }
  const std::vector<std::int32_t> counts = queue::CountsAfterReclaim(workload);
  for (const api::PodSetAssignment& assigned : workload.status.admission->pod_set_assignments) {
    std::int32_t left = assigned.count;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (workload.spec.pod_sets[i].name == assigned.name) left = std::min(left, counts[i]);
    }
    for (const auto& [resource, amount] : assigned.resource_usage) {
      const auto flavor = assigned.flavors.find(resource);
      if (flavor == assigned.flavors.end()) continue;
      api::Amount& sum = reserved[{flavor->second, resource}];
      sum = api::AddAmounts(sum, left < assigned.count && assigned.count > 0
                                     ? amount / assigned.count * left
                                     : amount);
    }
  }
}

void AddUsed(const FlavorAmounts& reserved, QueueUse& use) {
  FlavorAmounts nominal;
  for (const api::ResourceGroup& group : use.queue->spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        nominal[{flavor.flavor, quota.resource}] = quota.nominal_quota;
      }
    }
  }
  for (const auto& [where, amount] : reserved) {
    ResourceUse& resource = use.resources[where.second];
    resource.used = api::AddAmounts(resource.used, amount);
    if (use.queue->spec.cohort_name.empty()) continue;
    const api::Amount over = api::SubtractAmounts(amount, nominal[where]);
    resource.borrowed = api::AddAmounts(resource.borrowed, std::max<api::Amount>(over, 0));
  }
}

// Fills `lent` where exactly one member of a cohort tree has unused quota of a resource.
void AddLent(const ClusterView& view, std::map<std::string, QueueUse>& use_by_queue) {
  std::map<std::pair<std::string, std::string>, api::Amount> borrowed;  // {root, resource}
  std::map<std::pair<std::string, std::string>, std::vector<ResourceUse*>> spare;
  for (auto& [name, use] : use_by_queue) {
    if (use.queue->spec.cohort_name.empty()) continue;
    const std::string root = RootCohort(view, use.queue->spec.cohort_name);
    for (auto& [resource, amounts] : use.resources) {
      borrowed[{root, resource}] = api::AddAmounts(borrowed[{root, resource}], amounts.borrowed);
      if (amounts.used < amounts.nominal) spare[{root, resource}].push_back(&amounts);
    }
  }
  for (const auto& [where, amount] : borrowed) {
    auto& lenders = spare[where];
    if (amount > 0 && lenders.size() == 1) {
      lenders.front()->lent =
          std::min(amount, api::SubtractAmounts(lenders.front()->nominal, lenders.front()->used));
    }
  }
}

class TreeDrawer {
 public:
  TreeDrawer(const ClusterView& view, bool ascii) : ascii_(ascii) {
    for (const api::Cohort& cohort : view.cohorts) {
      cohorts_.insert(cohort.meta.name);
      if (!cohort.spec.parent_name.empty()) {
        cohorts_.insert(cohort.spec.parent_name);
        children_[cohort.spec.parent_name].insert(cohort.meta.name);
        has_parent_.insert(cohort.meta.name);
      }
    }
    for (const api::ClusterQueue& queue : view.cluster_queues) {
      if (!queue.spec.cohort_name.empty()) cohorts_.insert(queue.spec.cohort_name);
      queues_[queue.spec.cohort_name].push_back(&queue);
    }
    for (auto& [cohort, queues] : queues_) {
      std::sort(queues.begin(), queues.end(),
                [](const auto* a, const auto* b) { return a->meta.name < b->meta.name; });
    }
  }

  std::vector<QueueTreeLine> Draw() {
    for (const std::string& cohort : cohorts_) {
      if (!has_parent_.contains(cohort)) DrawCohort(cohort, "", "");
    }
    for (const std::string& cohort : cohorts_) DrawCohort(cohort, "", "");  // cohorts in cycles
    for (const api::ClusterQueue* queue : queues_[""]) lines_.push_back({"", "", queue});
    return std::move(lines_);
  }

 private:
  void DrawCohort(const std::string& cohort, const std::string& own, const std::string& below) {
    if (!drawn_.insert(cohort).second) return;
    lines_.push_back({own, cohort, nullptr});
    const auto& queues = queues_[cohort];
    const auto& children = children_[cohort];
    std::size_t left = queues.size() + children.size();
    for (const api::ClusterQueue* queue : queues) {
      lines_.push_back({below + Branch(--left == 0), "", queue});
    }
    for (const std::string& child : children) {
      const bool last = --left == 0;
      DrawCohort(child, below + Branch(last), below + Trunk(last));
    }
  }
  const char* Branch(bool last) const {
    if (ascii_) return last ? "`- " : "|- ";
    return last ? "└─ " : "├─ ";
  }
  const char* Trunk(bool last) const {
    if (last) return "   ";
    return ascii_ ? "|  " : "│  ";
  }

  bool ascii_;
  std::set<std::string> cohorts_;
  std::set<std::string> has_parent_;
  std::set<std::string> drawn_;
  std::map<std::string, std::set<std::string>> children_;
  std::map<std::string, std::vector<const api::ClusterQueue*>> queues_;
  std::vector<QueueTreeLine> lines_;
};

}  // namespace

std::string RootCohort(const ClusterView& view, const std::string& cohort) {
  std::string root = cohort;
  std::set<std::string> seen{root};
  while (true) {
    const auto found =
        std::find_if(view.cohorts.begin(), view.cohorts.end(),
                     [&](const api::Cohort& candidate) { return candidate.meta.name == root; });
    if (found == view.cohorts.end() || found->spec.parent_name.empty() ||
        !seen.insert(found->spec.parent_name).second) {
      return root;
    }
    root = found->spec.parent_name;
  }
}

std::map<std::string, QueueUse> SumUse(const ClusterView& view) {
  const bool has_all_workloads = view.namespace_name.empty() && IsKnown(view, "workloads");
  std::map<std::string, QueueUse> use_by_queue;
  for (const api::ClusterQueue& queue : view.cluster_queues) {
    QueueUse& use = use_by_queue[queue.meta.name];
    use.queue = &queue;
    AddQuota(queue, use);
    if (!has_all_workloads) AddStatus(queue.status, use);
  }
  if (has_all_workloads) {
    std::map<std::string, FlavorAmounts> reserved_by_queue;
    for (const api::Workload& workload : view.workloads) {
      const auto found = use_by_queue.find(ClusterQueueOf(view, workload));
      if (found == use_by_queue.end()) continue;
      AddReserved(workload, reserved_by_queue[found->first]);
      if (IsRunning(workload)) ++found->second.running;
      if (!IsWaiting(workload)) continue;
      ++found->second.waiting;
      const api::Workload*& oldest = found->second.oldest;
      if (oldest == nullptr || WaitingSince(workload) < WaitingSince(*oldest)) oldest = &workload;
    }
    for (const auto& [name, reserved] : reserved_by_queue) AddUsed(reserved, use_by_queue.at(name));
  }
  AddLent(view, use_by_queue);
  return use_by_queue;
}

std::map<std::string, std::map<std::string, ResourceUse>> SumCohorts(
    const ClusterView& view, const std::map<std::string, QueueUse>& uses) {
  std::map<std::string, std::string> parents;
  for (const api::Cohort& cohort : view.cohorts) {
    parents[cohort.meta.name] = cohort.spec.parent_name;
  }
  std::map<std::string, std::map<std::string, ResourceUse>> sums;
  // A cycle of Cohorts ends.
  const auto add = [&](std::string cohort, const std::string& resource, api::Amount nominal,
                       api::Amount used) {
    for (std::set<std::string> seen; !cohort.empty() && seen.insert(cohort).second;
         cohort = parents[cohort]) {
      ResourceUse& sum = sums[cohort][resource];
      sum.nominal = api::AddAmounts(sum.nominal, nominal);
      sum.used = api::AddAmounts(sum.used, used);
    }
  };
  for (const api::Cohort& cohort : view.cohorts) {
    sums[cohort.meta.name];
    for (const api::ResourceGroup& group : cohort.spec.resource_groups) {
      for (const api::FlavorQuotas& flavor : group.flavors) {
        for (const api::ResourceQuota& quota : flavor.resources) {
          add(cohort.meta.name, quota.resource, quota.nominal_quota, 0);
        }
      }
    }
  }
  for (const auto& [name, use] : uses) {
    if (!use.queue->spec.cohort_name.empty()) sums[use.queue->spec.cohort_name];
    for (const auto& [resource, amounts] : use.resources) {
      add(use.queue->spec.cohort_name, resource, amounts.nominal, amounts.used);
    }
  }
  for (auto& [name, by_resource] : sums) {
    for (auto& [resource, sum] : by_resource) {
      sum.borrowed = std::max<api::Amount>(api::SubtractAmounts(sum.used, sum.nominal), 0);
    }
  }
  return sums;
}

std::vector<QueueTreeLine> DrawQueueTree(const ClusterView& view, bool ascii) {
  return TreeDrawer(view, ascii).Draw();
}

}  // namespace berth::view
