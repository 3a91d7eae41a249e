#include "provisioning/prewarm.h"

#include <algorithm>
#include <chrono>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "base/cron_schedule.h"
#include "base/rfc3339.h"
#include "provisioning/lease.h"
#include "provisioning/policy_steps.h"

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

std::optional<WallTime> IdleSince(const api::Workload& workload) {
  const std::string* text = api::FindValue(workload.meta.annotations, api::kIdleSinceAnnotation);
  return text == nullptr ? std::nullopt : ParseTime(*text);
}

// Whether the Workload's nodes were idle for too long in this window, and are not asked for again.
bool IsGivenUp(const api::Workload& workload, const api::ProvisioningPrewarm& rule,
               const PrewarmWindow& window, WallTime now) {
  const auto since = IdleSince(workload);
  if (workload.spec.active || !since || rule.max_idle_seconds == 0 || !window.begin) return false;
  const WallTime end = *since + seconds(rule.max_idle_seconds);
  return *window.begin <= end && end <= now;
}

void WakeIn(Duration wait, PrewarmDecision& decision) {
  decision.next_wake = std::min(decision.next_wake.value_or(wait), wait);
}

// Follows since when the nodes of an active Workload have been idle.
void FollowIdle(const PrewarmSituation& situation, const api::Workload& workload, WallTime now,
                PrewarmDecision& decision) {
  const seconds limit(situation.policy->prewarm->max_idle_seconds);
  const auto since = IdleSince(workload);
  bool idle = limit > seconds(0) && !situation.brought.empty();
  for (const api::Node* node : situation.brought) {
    const auto lease = LeaseOf(*node);
    if (!idle || !lease || !Lives(*lease, now)) continue;
    WakeIn(lease->until - now, decision);  // a holder that died renews no lease
    idle = false;
  }
  PrewarmIdle mark{.workload = workload.meta.key(),
                   .resource_version = workload.meta.resource_version};
  if (!idle) {
    if (since) decision.idle = mark;
    return;
  }
  mark.since = since.value_or(CutToSeconds(now));
  const WallTime end = *mark.since + limit;
  mark.ends = end <= now;
  if (!mark.ends) WakeIn(end - now, decision);
  if (!since || mark.ends) decision.idle = mark;
}

}  // namespace

PrewarmWindow WindowAt(const api::ProvisioningPrewarm& rule, const TimeZone& zone, WallTime now) {
  if (rule.schedule.empty()) return {.open = true};
  const auto schedule = CronSchedule::Parse(rule.schedule);
  if (!schedule) return {};
  const seconds lead(rule.lead_seconds);
  const seconds length(rule.duration_seconds);
  const auto begin = schedule->Latest(now - length, now + lead, zone);
  const auto next = schedule->Next(now + lead, zone);
  if (begin && now < *begin + length) {
    // The time before a window may begin within the window before it.
    const WallTime end = *begin + length;
    return {
        .open = true, .change = next ? std::min(end, *next - lead) : end, .begin = *begin - lead};
  }
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
  bool given_up = false;
  for (const api::Workload* each : situation.workloads) {
    bool same =
        workload && each->meta.key() == workload->meta.key() && AsksForTheSame(*each, *workload);
    const bool idled = same && IsGivenUp(*each, *policy->prewarm, window, now);
    if (same && !idled && !each->spec.active && IdleSince(*each)) same = false;
    const auto renewal = same && !idled ? RenewalOf(*each) : std::nullopt;
    if (renewal) {
      same = now < *renewal;
      if (same) WakeIn(*renewal - now, decision);
    }
    if (same && !idled && each->spec.active) FollowIdle(situation, *each, now, decision);
    given_up = given_up || idled;
    exists = exists || each->meta.key() == (workload ? workload->meta.key() : api::ObjectKey{});
    leaves = leaves || !same;
    if (!same && !each->meta.deletion_timestamp) decision.remove.push_back(each->meta.key());
  }
  if (workload && !exists) decision.create = std::move(workload);
  const bool keeps = window.open && !leaves && !given_up;
  if (keeps) {
    for (const api::Node* node : situation.brought) {
      const bool others = node->meta.annotations.contains(api::kScaleDownDisabledAnnotation);
      if (!others) decision.keep.push_back(node->meta.name);
    }
  }
  for (const api::Node* node : situation.kept) {
    const bool ours = std::find(situation.brought.begin(), situation.brought.end(), node) !=
                      situation.brought.end();
    if (!keeps || !ours) decision.release.push_back(node->meta.name);
  }
  return decision;
}

}  // namespace berth::provisioning
