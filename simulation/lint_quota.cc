#include "simulation/lint_quota.h"

#include <algorithm>
#include <optional>

#include "api/queue_policy.h"

namespace berth::simulation {
namespace {

const api::ResourceQuota* FindQuota(const std::vector<api::ResourceGroup>& groups,
                                    const std::string& flavor, const api::ResourceName& resource) {
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& each : group.flavors) {
      if (each.flavor != flavor) continue;
      for (const api::ResourceQuota& quota : each.resources) {
        if (quota.resource == resource) return &quota;
      }
    }
  }
  return nullptr;
}

bool HasNominal(const api::ClusterQueue& queue) {
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        if (quota.nominal_quota > 0) return true;
      }
    }
  }
  return false;
}

// Nearly every pod asks for these.
bool IsNeededByPods(const api::ResourceName& resource) {
  return resource == "cpu" || resource == "memory";
}

std::vector<std::string> FieldOf(std::size_t group, std::size_t flavor) {
  return {"spec", "resourceGroups", std::to_string(group), "flavors", std::to_string(flavor)};
}

std::vector<QuotaProblem> ProblemsOfPolicy(const api::ObjectMeta& meta) {
  const auto policy = api::ReadQueuePolicy(meta.annotations);
  if (policy) return {};
  return {{true, "queue-policy", {"metadata", "annotations"}, policy.error().message}};
}

}  // namespace

LintQuota::LintQuota(const Cluster& cluster) : cluster_(cluster) {
  const auto note = [this](const std::vector<api::ResourceGroup>& groups) {
    for (const api::ResourceGroup& group : groups) {
      for (const api::FlavorQuotas& each : group.flavors) offered_.insert(each.flavor);
    }
  };
  for (const api::Cohort& each : cluster.cohorts) {
    parents_[each.meta.name] = each.spec.parent_name;
    note(each.spec.resource_groups);
  }
  for (const api::ClusterQueue& each : cluster.cluster_queues) note(each.spec.resource_groups);
}

std::string LintQuota::CycleAbove(const std::string& cohort) const {
  std::string path = cohort;
  std::string at = cohort;
  for (std::size_t steps = 0; steps <= parents_.size(); ++steps) {
    const auto parent = parents_.find(at);
    if (parent == parents_.end() || parent->second.empty()) return "";
    at = parent->second;
    path += " > " + at;
    if (at == cohort) return path;
  }
  return "";  // the cycle is above, and has Cohorts of its own
}

std::string LintQuota::RootOf(std::string cohort) const {
  for (std::size_t steps = 0; steps <= parents_.size(); ++steps) {
    const auto parent = parents_.find(cohort);
    if (parent == parents_.end() || parent->second.empty()) break;
    cohort = parent->second;
  }
  return cohort;
}

bool LintQuota::Lends(const api::ClusterQueue& queue) const {
  if (queue.spec.cohort_name.empty()) return false;
  const std::string root = RootOf(queue.spec.cohort_name);
  const bool has_takers = std::any_of(
      cluster_.cluster_queues.begin(), cluster_.cluster_queues.end(), [&](const auto& each) {
        return each.meta.name != queue.meta.name && !each.spec.cohort_name.empty() &&
               RootOf(each.spec.cohort_name) == root;
      });
  if (!has_takers) return false;
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        if (LentBy(queue, {flavor.flavor, quota.resource}) > 0) return true;
      }
    }
  }
  return false;
}

api::Amount LintQuota::LentBy(const api::ClusterQueue& queue, const Cell& cell) const {
  const auto* quota = FindQuota(queue.spec.resource_groups, cell.first, cell.second);
  if (quota == nullptr) return 0;
  return std::min(quota->nominal_quota, quota->lending_limit.value_or(quota->nominal_quota));
}

api::Amount LintQuota::LentTo(const api::ClusterQueue& queue, const Cell& cell) const {
  if (queue.spec.cohort_name.empty()) return 0;
  const std::string root = RootOf(queue.spec.cohort_name);
  api::Amount lent = 0;
  for (const api::ClusterQueue& each : cluster_.cluster_queues) {
    const bool other = each.meta.name != queue.meta.name && !each.spec.cohort_name.empty();
    if (!other || RootOf(each.spec.cohort_name) != root) continue;
    lent = api::AddAmounts(lent, LentBy(each, cell));
  }
  for (const api::Cohort& each : cluster_.cohorts) {
    if (RootOf(each.meta.name) != root) continue;
    const auto* quota = FindQuota(each.spec.resource_groups, cell.first, cell.second);
    if (quota != nullptr) lent = api::AddAmounts(lent, quota->nominal_quota);
  }
  return lent;
}

void LintQuota::LintLimits(const api::ClusterQueue& queue, const Cell& cell,
                           const api::ResourceQuota& quota, const std::vector<std::string>& field,
                           std::vector<QuotaProblem>& problems) const {
  const auto at = [&field](const char* name) {
    std::vector<std::string> path = field;
    path.emplace_back(name);
    return path;
  };
  const auto show = [&cell](api::Amount amount) { return api::FormatAmount(cell.second, amount); };
  const bool alone = queue.spec.cohort_name.empty();
  if (alone && (quota.borrowing_limit || quota.lending_limit)) {
    problems.push_back({true, "limit-without-cohort",
                        at(quota.borrowing_limit ? "borrowingLimit" : "lendingLimit"),
                        "the queue is in no cohort: the API server refuses the limit"});
    return;
  }
  if (quota.lending_limit && *quota.lending_limit > quota.nominal_quota) {
    problems.push_back({true, "limit-above-quota", at("lendingLimit"),
                        "the limit of " + show(*quota.lending_limit) + " is above the quota of " +
                            show(quota.nominal_quota) + ": the API server refuses it"});
  }
  if (!quota.borrowing_limit || *quota.borrowing_limit == 0) return;
  const api::Amount lent = LentTo(queue, cell);
  if (*quota.borrowing_limit <= lent) return;
  problems.push_back({false, "limit-out-of-reach", at("borrowingLimit"),
                      "the cohort can lend " + show(lent) + " " + cell.second + " of flavor " +
                          cell.first + " at most, the limit is " + show(*quota.borrowing_limit)});
}

void LintQuota::LintFlavor(const api::ClusterQueue& queue, std::size_t group, std::size_t flavor,
                           std::vector<QuotaProblem>& problems) const {
  const api::FlavorQuotas& quotas = queue.spec.resource_groups[group].flavors[flavor];
  std::vector<std::string> none;  // resources that the queue cannot get of the flavor
  for (std::size_t i = 0; i < quotas.resources.size(); ++i) {
    const api::ResourceQuota& quota = quotas.resources[i];
    const Cell cell{quotas.flavor, quota.resource};
    std::vector<std::string> field = FieldOf(group, flavor);
    field.insert(field.end(), {"resources", std::to_string(i)});
    LintLimits(queue, cell, quota, field, problems);
    const api::Amount borrowed =
        std::min(LentTo(queue, cell), quota.borrowing_limit.value_or(INT64_MAX));
    if (quota.nominal_quota == 0 && borrowed == 0) none.push_back(quota.resource);
  }
  if (none.size() == quotas.resources.size()) {
    problems.push_back({false, "flavor-out-of-reach", FieldOf(group, flavor),
                        "the queue has no quota of flavor " + quotas.flavor +
                            ", and its cohort has none to lend: no job of it gets the flavor"});
    return;
  }
  for (const std::string& resource : none) {
    if (!IsNeededByPods(resource)) continue;
    problems.push_back({false, "quota-unusable", FieldOf(group, flavor),
                        "there is no " + resource + " of flavor " + quotas.flavor +
                            ": pods that request " + resource +
                            " cannot use the other resources of the flavor"});
  }
}

std::vector<QuotaProblem> LintQuota::ProblemsOf(const api::ClusterQueue& queue,
                                                const std::set<std::string>& flavors) const {
  std::vector<QuotaProblem> problems = ProblemsOfPolicy(queue.meta);
  const auto& groups = queue.spec.resource_groups;
  if (groups.empty()) {
    problems.push_back(
        {true,
         "no-quota",
         {"spec", "resourceGroups"},
         "the queue has no resourceGroups: it admits no job that asks for anything"});
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = 0; j < groups[i].flavors.size(); ++j) {
      const std::string& name = groups[i].flavors[j].flavor;
      if (flavors.count(name) == 0) {
        std::vector<std::string> field = FieldOf(i, j);
        field.emplace_back("name");
        problems.push_back({true, "unknown-flavor", std::move(field),
                            "ResourceFlavor " + name +
                                " is not among the files: the queue is inactive without it"});
      }
      LintFlavor(queue, i, j, problems);
    }
  }
  return problems;
}

std::vector<const api::ClusterQueue*> LintQuota::QueuesBelow(const std::string& cohort) const {
  std::vector<const api::ClusterQueue*> below;
  for (const api::ClusterQueue& queue : cluster_.cluster_queues) {
    std::string at = queue.spec.cohort_name;
    for (std::size_t steps = 0; !at.empty() && steps <= parents_.size(); ++steps) {
      if (at == cohort) {
        below.push_back(&queue);
        break;
      }
      const auto parent = parents_.find(at);
      at = parent == parents_.end() ? "" : parent->second;
    }
  }
  return below;
}

std::vector<QuotaProblem> LintQuota::ProblemsOf(const api::Cohort& cohort,
                                                const std::set<std::string>& flavors) const {
  std::vector<QuotaProblem> problems = ProblemsOfPolicy(cohort.meta);
  const std::vector<const api::ClusterQueue*> queues = QueuesBelow(cohort.meta.name);
  if (queues.empty()) {
    problems.push_back({false,
                        "cohort-without-queue",
                        {"metadata", "name"},
                        "no ClusterQueue is in the Cohort or below it: nobody can use its quota"});
  }
  const auto is_listed = [&queues](const std::string& flavor, const api::ResourceName& resource) {
    return std::any_of(queues.begin(), queues.end(), [&](const api::ClusterQueue* each) {
      return FindQuota(each->spec.resource_groups, flavor, resource) != nullptr;
    });
  };
  const auto& groups = cohort.spec.resource_groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = 0; j < groups[i].flavors.size(); ++j) {
      const api::FlavorQuotas& quotas = groups[i].flavors[j];
      if (flavors.count(quotas.flavor) == 0) {
        std::vector<std::string> field = FieldOf(i, j);
        field.emplace_back("name");
        problems.push_back({true, "unknown-flavor", std::move(field),
                            "ResourceFlavor " + quotas.flavor +
                                " is not among the files: nobody can use the quota"});
        continue;
      }
      for (std::size_t k = 0; k < quotas.resources.size() && !queues.empty(); ++k) {
        const api::ResourceQuota& quota = quotas.resources[k];
        if (quota.nominal_quota == 0 || is_listed(quotas.flavor, quota.resource)) continue;
        std::vector<std::string> field = FieldOf(i, j);
        field.insert(field.end(), {"resources", std::to_string(k), "nominalQuota"});
        problems.push_back({false, "cohort-quota-unusable", std::move(field),
                            "no ClusterQueue below the Cohort lists " + quota.resource +
                                " of flavor " + quotas.flavor + ": nobody can use the quota"});
      }
    }
  }
  return problems;
}

std::string LintQuota::ReclaimerOf(const api::ClusterQueue& queue) const {
  if (queue.spec.cohort_name.empty() || queue.spec.resource_groups.empty() || HasNominal(queue)) {
    return "";
  }
  const std::string root = RootOf(queue.spec.cohort_name);
  for (const api::ClusterQueue& each : cluster_.cluster_queues) {
    const bool takes = each.spec.preemption.reclaim_within_cohort == api::PreemptionPolicy::kAny &&
                       HasNominal(each) && !each.spec.cohort_name.empty();
    if (takes && each.meta.name != queue.meta.name && RootOf(each.spec.cohort_name) == root) {
      return each.meta.name;
    }
  }
  return "";
}

}  // namespace berth::simulation
