#include "provisioning/prewarm.h"

#include <algorithm>
#include <chrono>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "base/cron_schedule.h"
#include "provisioning/steps.h"

namespace berth::provisioning {
namespace {

using std::chrono::seconds;

constexpr char kNamePrefix[] = "berth-prewarm-";
constexpr Duration kRestAfterEviction = std::chrono::minutes(5);
constexpr std::int32_t kLowestPriority = -2'000'000'000;

const api::ProvisioningStep* StepToPrewarm(const api::ProvisioningPolicy& policy) {
  for (const api::ProvisioningStep& step : StepsOf(policy)) {
    const bool named = policy.prewarm->step.empty() || policy.prewarm->step == step.name;
    if (named && step.pool && !step.flavor.empty()) return &step;
  }
  return nullptr;
}

// Whether the Workload still asks for what the policy wants.
bool AsksForTheSame(const api::Workload& have, const api::Workload& wanted) {
  if (have.spec.pod_sets.size() != 1 || have.spec.queue_name != wanted.spec.queue_name) {
    return false;
  }
  const api::PodSet& a = have.spec.pod_sets.front();
  const api::PodSet& b = wanted.spec.pod_sets.front();
  return a.count == b.count &&
         api::PodRequests(a.pod_template.spec) == api::PodRequests(b.pod_template.spec) &&
         a.pod_template.spec.node_selector == b.pod_template.spec.node_selector;
}

// When the Workload is to be made anew: it was evicted, and no job brings it back into the queue.
std::optional<WallTime> RenewalOf(const api::Workload& workload) {
  const api::Condition* evicted = api::FindCondition(workload.status.conditions, api::kEvicted);
  if (evicted == nullptr || evicted->status != api::ConditionStatus::kTrue) return std::nullopt;
  return evicted->last_transition_time + kRestAfterEviction;
}

}  // namespace

PrewarmWindow WindowAt(const api::ProvisioningPrewarm& rule, const TimeZone& zone, WallTime now) {
  if (rule.schedule.empty()) return {.open = true};
  const auto schedule = CronSchedule::Parse(rule.schedule);
  if (!schedule) return {};
  const seconds lead(rule.lead_seconds);
  const seconds length(rule.duration_seconds);
  const auto begin = schedule->Latest(now - length, now + lead, zone);
  if (begin && now < *begin + length) return {.open = true, .change = *begin + length};
  const auto next = schedule->Next(now + lead, zone);
  if (!next) return {};
  return {.open = false, .change = *next - lead};
}

api::ObjectKey PrewarmKey(const api::ProvisioningPolicy& policy) {
  return {policy.prewarm->namespace_name, kNamePrefix + policy.meta.name};
}

std::optional<api::Workload> PrewarmWorkload(const api::ProvisioningPolicy& policy,
                                             const FlavorsByName& flavors) {
  const api::ProvisioningStep* step = StepToPrewarm(policy);
  if (step == nullptr) return std::nullopt;
  const auto flavor = flavors.find(step->flavor);
  if (flavor == flavors.end()) return std::nullopt;
  api::Workload workload;
  const api::ObjectKey key = PrewarmKey(policy);
  workload.meta.namespace_name = key.namespace_name;
  workload.meta.name = key.name;
  workload.meta.labels = {{api::kPrewarmLabel, policy.meta.name}};
  workload.spec.queue_name = policy.prewarm->local_queue;
  workload.spec.priority = kLowestPriority;
  api::PodSet nodes;
  nodes.name = "nodes";
  nodes.count = policy.prewarm->min_nodes;
  api::Container container;
  // Nothing runs. Kubernetes refuses a PodTemplate without an image, and devices without a limit.
  container.name = "node";
  container.image = "registry.k8s.io/pause:3.10";
  container.requests = step->pool->node;
  container.limits = step->pool->node;
  nodes.pod_template.spec.containers = {std::move(container)};
  nodes.pod_template.spec.node_selector = flavor->second.node_labels;
  nodes.pod_template.spec.tolerations = {{.op = "Exists"}};
  workload.spec.pod_sets.push_back(std::move(nodes));
  return workload;
}

PrewarmDecision DecidePrewarm(const PrewarmSituation& situation, WallTime now) {
  PrewarmDecision decision;
  const api::ProvisioningPolicy* policy = situation.policy;
  const bool wanted = policy != nullptr && policy->prewarm;
  const PrewarmWindow window =
      wanted ? WindowAt(*policy->prewarm, situation.zone, now) : PrewarmWindow{};
  if (window.change) decision.next_wake = *window.change - now;
  std::optional<api::Workload> workload;
  if (window.open) workload = PrewarmWorkload(*policy, *situation.flavors);
  bool exists = false;
  bool leaves = false;
  for (const api::Workload* each : situation.workloads) {
    bool same =
        workload && each->meta.key() == workload->meta.key() && AsksForTheSame(*each, *workload);
    if (const auto renewal = same ? RenewalOf(*each) : std::nullopt) {
      same = now < *renewal;
      if (same)
        decision.next_wake = std::min(decision.next_wake.value_or(*renewal - now), *renewal - now);
    }
    exists = exists || each->meta.key() == (workload ? workload->meta.key() : api::ObjectKey{});
    leaves = leaves || !same;
    if (!same && !each->meta.deletion_timestamp) decision.remove.push_back(each->meta.key());
  }
  if (workload && !exists) decision.create = std::move(workload);
  if (window.open && !leaves) {
    for (const api::Node* node : situation.brought) {
      const bool others = node->meta.annotations.contains(api::kScaleDownDisabledAnnotation);
      if (!others) decision.keep.push_back(node->meta.name);
    }
  }
  for (const api::Node* node : situation.kept) {
    const bool ours = std::find(situation.brought.begin(), situation.brought.end(), node) !=
                      situation.brought.end();
    if (!window.open || leaves || !ours) decision.release.push_back(node->meta.name);
  }
  return decision;
}

}  // namespace berth::provisioning
