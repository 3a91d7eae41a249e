#include "admission/lifecycle/node_failure.h"

#include <algorithm>
#include <set>

#include "api/labels.h"
#include "api/pod_owner.h"
#include "api/pod_phase.h"
#include "api/reasons.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

using Health = NodeVerdict::Health;

constexpr char kReady[] = "Ready";

bool HoldsNodes(const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  return workload.status.admission && api::IsTrue(conditions, api::kQuotaReserved) &&
         api::IsTrue(conditions, api::kAdmitted) && !api::IsTrue(conditions, api::kFinished) &&
         !api::IsTrue(conditions, api::kEvicted);
}

bool NamesHost(const api::PodSetAssignment& assigned, const std::string& hostname) {
  const auto& topology = assigned.topology_assignment;
  if (!topology || topology->levels.empty() || topology->levels.back() != api::kHostnameLabel) {
    return false;
  }
  return std::any_of(topology->domains.begin(), topology->domains.end(), [&](const auto& domain) {
    return domain.count > 0 && !domain.values.empty() && domain.values.back() == hostname;
  });
}

// The tolerations of running pods of one pod set: those of the template, the flavors and the
// checks.
std::vector<api::Toleration> TolerationsOf(const api::Workload& workload,
                                           const api::PodSetAssignment& assigned,
                                           const FlavorLookup& flavors) {
  std::vector<api::Toleration> all;
  const auto add = [&all](const std::vector<api::Toleration>& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    if (pods.name == assigned.name) add(pods.pod_template.spec.tolerations);
  }
  std::set<std::string> names;
  for (const auto& [resource, flavor] : assigned.flavors) names.insert(flavor);
  for (const std::string& name : names) {
    if (const api::ResourceFlavor* flavor = flavors(name)) add(flavor->tolerations);
  }
  for (const api::AdmissionCheckState& check : workload.status.admission_checks) {
    for (const api::PodSetUpdate& update : check.pod_set_updates) {
      if (update.name == assigned.name) add(update.tolerations);
    }
  }
  return all;
}

enum class Refusal : std::uint8_t { kNone, kNewPods, kAllPods };

// What taints of the node do to pods of the workload: refuse new ones, or evict those that run,
// too, at once or after a delay.
Refusal RefusalOf(const std::string& hostname, const api::Node& node, const api::Workload& workload,
                  const FlavorLookup& flavors) {
  Refusal refusal = Refusal::kNone;
  for (const api::PodSetAssignment& assigned : workload.status.admission->pod_set_assignments) {
    if (!NamesHost(assigned, hostname)) continue;
    const std::vector<api::Toleration> tolerations = TolerationsOf(workload, assigned, flavors);
    for (const api::Taint& taint : node.taints) {
      if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
      const bool for_good =
          std::any_of(tolerations.begin(), tolerations.end(), [&taint](const auto& toleration) {
            return !toleration.toleration_seconds && api::Tolerates(toleration, taint);
          });
      if (for_good) continue;
      if (taint.effect == "NoExecute") return Refusal::kAllPods;
      refusal = Refusal::kNewPods;
    }
  }
  return refusal;
}

// A node that accepts no pods: unhealthy unless pods of the workload run there.
NodeVerdict UnlessPodsRun(const api::Node& node, const WorkloadOnNode& on_node) {
  const bool runs =
      std::any_of(on_node.bound.begin(), on_node.bound.end(), [&node](const auto& pod) {
        return pod.spec.node_name == node.meta.name && !pod.meta.deletion_timestamp &&
               !api::HasEnded(pod);
      });
  return {runs ? Health::kHealthy : Health::kUnhealthy, !runs, std::nullopt};
}

NodeVerdict JudgeNotReady(const api::Condition& ready, const api::Node& node,
                          const WorkloadOnNode& on_node, const NodeFailureOptions& options,
                          WallTime now) {
  const Duration left = options.delay - (now - ready.last_transition_time);
  if (!options.replace_on_pod_termination || options.replace_after_delay) {
    if (left <= Duration::zero()) return {Health::kUnhealthy, true, std::nullopt};
  }
  if (!options.replace_on_pod_termination) return {Health::kHealthy, false, left};
  NodeVerdict verdict = UnlessPodsRun(node, on_node);
  if (options.replace_after_delay && verdict.health == Health::kHealthy) verdict.look_again = left;
  return verdict;
}

NodeVerdict JudgeNode(const std::string& hostname, const api::Node& node,
                      const WorkloadOnNode& on_node, const FlavorLookup& flavors,
                      const NodeFailureOptions& options, WallTime now) {
  const api::Condition* ready = api::FindCondition(node.conditions, kReady);
  if (ready == nullptr) return {Health::kUnhealthy, true, std::nullopt};
  if (ready->status != api::ConditionStatus::kTrue) {
    return JudgeNotReady(*ready, node, on_node, options, now);
  }
  if (!options.replace_on_taints) return {};
  const Refusal refusal = RefusalOf(hostname, node, *on_node.workload, flavors);
  if (refusal == Refusal::kNone) return {};
  // The pods that run may stay for ever beside one that cannot be bound.
  if (refusal == Refusal::kNewPods && !on_node.waiting.empty()) {
    return {Health::kUnhealthy, true, std::nullopt};
  }
  return UnlessPodsRun(node, on_node);
}

// The hostname fails with the last of its nodes.
NodeVerdict JudgeAssigned(const std::string& hostname, const std::vector<const api::Node*>& nodes,
                          const WorkloadOnNode& on_node, const FlavorLookup& flavors,
                          const NodeFailureOptions& options, WallTime now) {
  NodeVerdict all{Health::kUnhealthy, true, std::nullopt};
  for (const api::Node* node : nodes) {
    const NodeVerdict one = JudgeNode(hostname, *node, on_node, flavors, options, now);
    if (one.health == Health::kUnhealthy) continue;
    if (!one.look_again) return one;
    if (!all.look_again || *all.look_again < *one.look_again) all = one;
  }
  return all;
}

}  // namespace

bool IsCalledUnhealthy(const api::Workload& workload, const std::string& hostname) {
  const auto& unhealthy = workload.status.unhealthy_nodes;
  return std::find(unhealthy.begin(), unhealthy.end(), hostname) != unhealthy.end();
}

std::vector<std::string> HostnamesOf(const api::Workload& workload) {
  if (!HoldsNodes(workload)) return {};
  std::set<std::string> names;
  for (const api::PodSetAssignment& assigned : workload.status.admission->pod_set_assignments) {
    const auto& topology = assigned.topology_assignment;
    if (!topology || topology->levels.empty() || topology->levels.back() != api::kHostnameLabel) {
      continue;
    }
    for (const auto& domain : topology->domains) {
      if (domain.count > 0 && !domain.values.empty()) names.insert(domain.values.back());
    }
  }
  return {names.begin(), names.end()};
}

NodeVerdict JudgeHostname(const std::string& hostname, const std::vector<const api::Node*>& nodes,
                          const WorkloadOnNode& on_node, const FlavorLookup& flavors,
                          const NodeFailureOptions& options, WallTime now) {
  const api::Workload& workload = *on_node.workload;
  const auto& assignments = workload.status.admission->pod_set_assignments;
  const bool is_assigned =
      std::any_of(assignments.begin(), assignments.end(),
                  [&hostname](const auto& assigned) { return NamesHost(assigned, hostname); });
  // The workload's pods have moved: pods that wait for this hostname can never run.
  if (!is_assigned) return {Health::kHealthy, true, std::nullopt};
  NodeVerdict verdict = JudgeAssigned(hostname, nodes, on_node, flavors, options, now);
  if (api::IsOfOnePod(workload.meta)) verdict.health = Health::kHealthy;
  return verdict;
}

WorkloadPlan PlanNodeHealth(const api::Workload& workload, const std::string& hostname,
                            Health health, WallTime now) {
  WorkloadPlan plan;
  const std::vector<std::string>& unhealthy = workload.status.unhealthy_nodes;
  if (IsCalledUnhealthy(workload, hostname) == (health == Health::kUnhealthy)) return plan;
  api::WorkloadStatus status = workload.status;
  if (health == Health::kHealthy) {
    std::erase(status.unhealthy_nodes, hostname);
  } else if (unhealthy.empty()) {
    status.unhealthy_nodes.push_back(hostname);
  } else {
    std::vector<std::string> all = unhealthy;
    all.push_back(hostname);
    const Eviction eviction{api::kNodeFailures,
                            "Workload eviction triggered due to multiple TAS assigned node "
                            "failures, including: " +
                                Join(all, ", "),
                            ""};
    Evict(status, eviction, workload.meta.generation, now);
    plan.events.push_back(
        {PlannedEvent::Type::kNormal, "EvictedDueTo" + eviction.reason, eviction.message});
  }
  plan.status = std::move(status);
  return plan;
}

Eviction NoReplacement(const api::Workload& workload) {
  return {api::kNodeFailures,
          "Workload was evicted as there was no replacement for unhealthy node(s): " +
              Join(workload.status.unhealthy_nodes, ","),
          ""};
}

}  // namespace berth::admission
