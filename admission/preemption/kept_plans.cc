#include "admission/preemption/kept_plans.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "admission/messages.h"
#include "api/condition.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

constexpr Duration kClockSkew = std::chrono::minutes(1);  // between two replicas' clocks
constexpr int kMostPauses = 16;

bool WaitsSince(const api::Workload& object, WallTime since) {
  const api::Condition* reserved =
      api::FindCondition(object.status.conditions, api::kQuotaReserved);
  return reserved != nullptr && reserved->status == api::ConditionStatus::kFalse &&
         reserved->last_transition_time == since;
}

// The usage of the plan's assignment, over all its pod sets.
Usage AskedBy(const Assignment& plan, const queue::WorkloadInfo& info) {
  Usage asked;
  for (std::size_t i = 0; i < plan.pod_sets.size(); ++i) {
    for (const FlavorChoice& choice : plan.pod_sets[i].flavors) {
      const auto& requests = info.pod_sets[i].per_pod;
      const auto request = std::find_if(requests.begin(), requests.end(), [&](const auto& one) {
        return one.resource == choice.resource;
      });
      if (request == requests.end()) continue;
      const Amount amount = api::MultiplyAmounts(request->amount, plan.pod_sets[i].count);
      const auto known = std::find_if(asked.begin(), asked.end(), [&](const auto& item) {
        return item.flavor_resource == choice.flavor_resource;
      });
      if (known == asked.end()) {
        asked.push_back({choice.flavor_resource, amount});
      } else {
        known->amount = api::AddAmounts(known->amount, amount);
      }
    }
  }
  return asked;
}

Amount AmountOf(const KeptPlan::Victim& victim, const std::string& flavor,
                const std::string& resource) {
  const auto usage = victim.usage.find(flavor);
  if (usage == victim.usage.end()) return 0;
  const auto amount = usage->second.find(resource);
  return amount == usage->second.end() ? 0 : amount->second;
}

Amount AmountOf(const PreemptionPlan::Freed& freed, FlavorResourceId fr) {
  const auto found = std::find_if(freed.usage.begin(), freed.usage.end(),
                                  [fr](const auto& item) { return item.flavor_resource == fr; });
  return found == freed.usage.end() ? 0 : found->amount;
}

}  // namespace

std::optional<PlanStamp> KeptPlans::StampOf(const api::Workload& object) const {
  const std::optional<WorkloadId> id = context_.records.Find(object.meta.key());
  if (!id) return std::nullopt;
  const WorkloadRecord& kept = context_.records.at(*id);
  if (kept.plan == nullptr && kept.pause == nullptr) return std::nullopt;
  const auto queue = context_.queues.local_queues().ClusterQueueOf(
      {object.meta.namespace_name, object.spec.queue_name});
  const api::Condition* reserved =
      api::FindCondition(object.status.conditions, api::kQuotaReserved);
  if (!queue || reserved == nullptr) return std::nullopt;
  return PlanStamp{kept.plan_version, object.meta.generation, *queue,
                   reserved->last_transition_time};
}

std::optional<KeptPlan> KeptPlans::ToKeep(const api::Workload& object) const {
  const std::optional<PlanStamp> stamp = StampOf(object);
  if (!stamp) return std::nullopt;
  const WorkloadRecord& kept = context_.records.at(*context_.records.Find(object.meta.key()));
  const Vocabulary& names = context_.state.vocabulary();
  KeptPlan text;
  text.generation = stamp->generation;
  text.cluster_queue = context_.queues.cluster_queue_names()[stamp->cluster_queue];
  text.waiting_since = stamp->waiting_since;
  if (kept.pause != nullptr) {
    text.pauses = kept.pause->count;
    text.paused_until = CutToSeconds(kept.pause->until);
  }
  if (kept.plan == nullptr) return text;
  text.progress_at = CutToSeconds(kept.plan->progress_at);
  for (const PodSetDecision& pod_set : kept.plan->assignment.pod_sets) {
    KeptPlan::PodSet& made = text.pod_sets.emplace_back();
    made.name = pod_set.name;
    made.count = pod_set.count;
    for (const FlavorChoice& choice : pod_set.flavors) {
      made.flavors[names.resources[choice.resource]] = names.flavors[choice.flavor];
    }
  }
  for (const PreemptionPlan::Freed& freed : kept.plan->freed) {
    if (text.victims.size() == KeptPlan::kMostVictims) break;
    KeptPlan::Victim& made = text.victims.emplace_back();
    made.uid = freed.uid;
    made.cluster_queue = context_.queues.cluster_queue_names()[freed.cluster_queue];
    for (const FlavorResourceAmount& item : freed.usage) {
      made.usage[names.flavors[names.flavor_resources.FlavorOf(item.flavor_resource)]]
                [names.resources[names.flavor_resources.ResourceOf(item.flavor_resource)]] =
          item.amount;
    }
  }
  return text;
}

void KeptPlans::Restore(const std::vector<std::pair<api::ObjectKey, KeptPlan>>& kept,
                        WallTime now) {
  if (!context_.own_rules.preemptor_keeps_what_it_freed || kept.empty()) return;
  std::map<std::string_view, std::vector<WorkloadId>> victims;  // by the preemptor's UID
  for (const auto& [key, plan] : kept) {
    if (const auto id = context_.records.Find(key))
      victims[context_.records.at(*id).info.object->meta.uid];
  }
  for (std::size_t slot = 0; slot < context_.records.size(); ++slot) {
    const api::Workload* object =
        context_.records.at(static_cast<WorkloadId>(slot)).info.object.get();
    if (object == nullptr) continue;
    const auto found = victims.find(PreemptorUidOf(*object));
    if (found != victims.end()) found->second.push_back(static_cast<WorkloadId>(slot));
  }
  for (const auto& [key, plan] : kept) {
    const auto id = context_.records.Find(key);
    if (!id) continue;
    const std::string& uid = context_.records.at(*id).info.object->meta.uid;
    if (!uid.empty()) RestoreOne(*id, plan, victims[uid], now);
  }
}

void KeptPlans::RestoreOne(WorkloadId id, const KeptPlan& kept,
                           const std::vector<WorkloadId>& victims, WallTime now) {
  WorkloadRecord& restored = context_.records.at(id);
  const api::Workload& object = *restored.info.object;
  const auto queue =
      context_.queues.local_queues().RouteOf({object.meta.namespace_name, object.spec.queue_name});
  if (restored.phase != WorkloadRecord::Phase::kPending || restored.plan != nullptr || !queue ||
      !context_.state.cluster_queues().Has(*queue) ||
      context_.state.queue(*queue).name != kept.cluster_queue ||
      object.meta.generation != kept.generation || !WaitsSince(object, kept.waiting_since)) {
    return;
  }
  RestorePause(restored, kept, now);
  if (kept.pod_sets.empty() || victims.empty() || kept.progress_at > now + kClockSkew) return;
  if (now - kept.progress_at >= context_.timeout) return;
  std::optional<Assignment> assignment = AssignmentOf(kept, restored.info, *queue);
  if (!assignment) return;
  auto plan = std::make_unique<PreemptionPlan>();
  plan->assignment = *std::move(assignment);
  plan->progress_at = std::min(kept.progress_at, now);
  for (const WorkloadId victim : victims) {
    const Reservation* held = context_.state.reservation(victim);
    if (held == nullptr || !held->evicted) continue;
    plan->victims.push_back(victim);
    plan->freed.push_back(
        {victim, held->object->meta.uid, held->cluster_queue, held->usage, held->placed});
  }
  Usage unproven = AskedBy(plan->assignment, restored.info);
  for (FlavorResourceAmount& item : unproven) {
    for (const PreemptionPlan::Freed& proven : plan->freed) {
      item.amount = std::max<Amount>(0, item.amount - AmountOf(proven, item.flavor_resource));
    }
  }
  for (const WorkloadId victim : victims) {
    if (context_.state.reservation(victim) == nullptr) RestoreFreed(*plan, kept, victim, unproven);
  }
  plan->still_held = context_.plans.HeldByVictims(*plan);
  restored.plan = std::move(plan);
  context_.plans.Changed(restored);
  context_.queues.preemptor(*queue).Restore(id);
}

// The written pause, or the one that began when the written plan timed out.
void KeptPlans::RestorePause(WorkloadRecord& restored, const KeptPlan& kept, WallTime now) {
  const int pauses = std::clamp(kept.pauses, 0, kMostPauses);
  PlanPause pause{now, std::min(kept.paused_until, now + context_.plans.PauseAfter(kMostPauses)),
                  pauses};
  const WallTime ended = kept.progress_at + context_.timeout;
  if (!kept.pod_sets.empty() && ended <= now) {
    pause.until = ended + context_.plans.PauseAfter(pauses);
    pause.count = pauses + 1;
  }
  if (pause.count == 0) return;
  restored.pause = std::make_unique<PlanPause>(pause);
  context_.plans.Changed(restored);
}

// nullopt: the Workload may not get this assignment.
std::optional<Assignment> KeptPlans::AssignmentOf(const KeptPlan& kept,
                                                  const queue::WorkloadInfo& info,
                                                  ClusterQueueId queue) const {
  if (kept.pod_sets.size() != info.pod_sets.size()) return std::nullopt;
  const Vocabulary& names = context_.state.vocabulary();
  Assignment assignment;
  assignment.mode = AssignmentMode::kPreempt;
  for (std::size_t i = 0; i < info.pod_sets.size(); ++i) {
    const KeptPlan::PodSet& wanted = kept.pod_sets[i];
    const queue::PodSetInfo& allowed = info.pod_sets[i];
    const std::int32_t most = info.object->spec.pod_sets[i].count;
    const std::int32_t least = std::min(allowed.min_count, allowed.count);
    if (wanted.name != allowed.name || wanted.count < least || wanted.count > most) {
      return std::nullopt;
    }
    PodSetDecision& made = assignment.pod_sets.emplace_back();
    made.name = wanted.name;
    made.count = wanted.count;
    for (const auto& [resource_name, flavor_name] : wanted.flavors) {
      const ResourceId resource = names.resources.Find(resource_name);
      const FlavorId flavor = names.flavors.Find(flavor_name);
      const CompiledGroup* group = context_.state.queue(queue).GroupOf(resource);
      if (resource < 0 || flavor < 0 || group == nullptr || !group->Has(flavor)) {
        return std::nullopt;
      }
      const auto index = std::find(group->flavors.begin(), group->flavors.end(), flavor);
      FlavorChoice choice;
      choice.resource = resource;
      choice.flavor = flavor;
      choice.flavor_resource =
          group->Find(static_cast<std::size_t>(index - group->flavors.begin()), resource);
      choice.mode = AssignmentMode::kPreempt;
      made.flavors.push_back(choice);
    }
  }
  return assignment;
}

// A victim that has stopped: only the preemptor's Workload records its former usage.
void KeptPlans::RestoreFreed(PreemptionPlan& plan, const KeptPlan& kept, WorkloadId victim,
                             Usage& unproven) const {
  const std::string& uid = context_.records.at(victim).info.object->meta.uid;
  const auto told = std::find_if(kept.victims.begin(), kept.victims.end(),
                                 [&uid](const auto& other) { return other.uid == uid; });
  if (told == kept.victims.end()) return;
  const std::optional<ClusterQueueId> from =
      context_.state.cluster_queues().Find(told->cluster_queue);
  if (!from) return;
  const Vocabulary& names = context_.state.vocabulary();
  Usage usage;
  for (FlavorResourceAmount& item : unproven) {
    const Amount amount = std::clamp<Amount>(
        AmountOf(*told, names.flavors[names.flavor_resources.FlavorOf(item.flavor_resource)],
                 names.resources[names.flavor_resources.ResourceOf(item.flavor_resource)]),
        0, item.amount);
    if (amount == 0) continue;
    item.amount = api::SubtractAmounts(item.amount, amount);
    usage.push_back({item.flavor_resource, amount});
  }
  if (!usage.empty()) plan.freed.push_back({victim, uid, *from, std::move(usage), {}});
}

}  // namespace berth::admission
