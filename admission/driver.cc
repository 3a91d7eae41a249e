#include "admission/driver.h"

#include <algorithm>
#include <set>
#include <utility>

#include "admission/catalogue/required_checks.h"
#include "admission/decision_facts.h"
#include "admission/lifecycle/node_failure.h"
#include "admission/messages.h"
#include "admission/workloads/workload_slices.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

// A workload that the scheduler admits at once gets its checks with the reservation, in one write.
constexpr Duration kFirstTry = std::chrono::seconds(1);

// Copies the topology fields of `decided` to `admission`, pod set by pod set, and nothing else.
void TakePlacement(const api::Admission& decided, api::Admission& admission) {
  for (api::PodSetAssignment& assigned : admission.pod_set_assignments) {
    for (const api::PodSetAssignment& source : decided.pod_set_assignments) {
      if (source.name != assigned.name) continue;
      assigned.topology_assignment = source.topology_assignment;
      assigned.delayed_topology_request = source.delayed_topology_request;
    }
  }
}

DecidedWrite::Kind KindOfSecondPass(const Decision& decision) {
  if (GivesQuota(decision)) return DecidedWrite::Kind::kPlace;
  return decision.outcome == Outcome::kEvictForNodeFailure ? DecidedWrite::Kind::kEvict
                                                           : DecidedWrite::Kind::kReportNoNodes;
}

// The flavors that an admission uses, each once, sorted.
std::vector<std::string> FlavorsOf(const api::Admission& admission) {
  std::set<std::string> flavors;
  for (const api::PodSetAssignment& assignment : admission.pod_set_assignments) {
    for (const auto& [resource, flavor] : assignment.flavors) flavors.insert(flavor);
  }
  return {flavors.begin(), flavors.end()};
}

}  // namespace

api::Condition EndOfReplaced(const Decision& decision, const api::Workload& replaced,
                             WallTime now) {
  return {.type = api::kFinished,
          .status = api::ConditionStatus::kTrue,
          .reason = api::kWorkloadSliceReplaced,
          .message = SliceReplacedMessage(*decision.object),
          .last_transition_time = CutToSeconds(now),
          .observed_generation = replaced.meta.generation};
}

const api::Workload& DecidedWrite::workload() const {
  if (kind == Kind::kPreempt) return *victim->object;
  return kind == Kind::kFinish ? *decision->replaces : *decision->object;
}

std::shared_ptr<const DecidedWrite> Keep(const DecidedWrite& write,
                                         std::shared_ptr<const Decision>& copy) {
  struct Kept {
    std::shared_ptr<const Decision> decision;
    DecidedWrite write;
  };
  if (copy == nullptr) copy = std::make_shared<const Decision>(*write.decision);
  auto kept = std::make_shared<Kept>(Kept{copy, write});
  kept->write.decision = copy.get();
  if (write.victim != nullptr) {
    kept->write.victim = copy->victims.begin() + (write.victim - write.decision->victims.begin());
  }
  return {kept, &kept->write};
}

Driver::Driver(const DriverOptions& options)
    : pods_ready_(options.pods_ready),
      keep_finished_(options.keep_finished),
      scheduler_(options.scheduler) {}

Driver::Writes Driver::WritesOf(const Decision& decision) const {
  using Kind = DecidedWrite::Kind;
  Writes writes;
  if (decision.second_pass) {
    writes.push_back({KindOfSecondPass(decision), &decision, nullptr, ""});
    return writes;
  }
  if (GivesQuota(decision)) {
    writes.push_back({Kind::kReserve, &decision, nullptr, ""});
    if (decision.replaces != nullptr) writes.push_back({Kind::kFinish, &decision, nullptr, ""});
    return writes;
  }
  if (decision.outcome == Outcome::kPreempting) {
    for (const Victim& victim : decision.victims) {
      if (victim.ongoing) continue;
      writes.push_back({Kind::kPreempt, &decision, &victim,
                        PreemptedMessage(*decision.object, victim.reason,
                                         PathOf(scheduler_.state(), decision.cluster_queue),
                                         PathOf(scheduler_.state(), victim.cluster_queue))});
    }
  }
  writes.push_back({Kind::kExplain, &decision, nullptr, ""});
  return writes;
}

bool Driver::IsDue(const DecidedWrite& write, const api::Workload& current) const {
  const auto is = [&current](const char* type) {
    return api::IsTrue(current.status.conditions, type);
  };
  switch (write.kind) {
    // Its reservation may still be on its way; a later cycle preempts it then.
    case DecidedWrite::Kind::kPreempt: return is(api::kQuotaReserved);
    case DecidedWrite::Kind::kFinish:
      return current.meta.uid == write.workload().meta.uid && !is(api::kFinished);
    case DecidedWrite::Kind::kPlace:
    case DecidedWrite::Kind::kEvict: return NeedsSecondPass(current);
    case DecidedWrite::Kind::kReportNoNodes: return false;
    default: return true;
  }
}

bool Driver::StillHolds(const DecidedWrite& write, const api::Workload& base,
                        const api::Workload& fresh) const {
  switch (write.kind) {
    case DecidedWrite::Kind::kPreempt:
      return RestsOnTheSame(base, fresh) && base.status.admission == fresh.status.admission;
    case DecidedWrite::Kind::kPlace:
    case DecidedWrite::Kind::kEvict:
      return base.meta.uid == fresh.meta.uid && !fresh.meta.deletion_timestamp &&
             NeedsSecondPass(fresh) && base.status.admission == fresh.status.admission &&
             base.status.unhealthy_nodes == fresh.status.unhealthy_nodes;
    default: return RestsOnTheSame(base, fresh);
  }
}

void Driver::Change(const DecidedWrite& write, const api::Workload& base,
                    api::WorkloadStatus& status, WallTime now) const {
  const Decision& decision = *write.decision;
  const std::int64_t generation = base.meta.generation;
  switch (write.kind) {
    case DecidedWrite::Kind::kReserve:
      ReserveQuota(status, AdmissionOf(decision, scheduler_), decision.checks, generation, now);
      if (pods_ready_.enabled) AwaitPods(status, base.meta, now);
      return;
    case DecidedWrite::Kind::kFinish:
      api::SetCondition(status.conditions, EndOfReplaced(decision, base, now));
      return;
    case DecidedWrite::Kind::kPreempt:
      Preempt(status, ToString(write.victim->reason), write.message, generation, now);
      return;
    case DecidedWrite::Kind::kExplain: {
      const std::string_view reason = PendingReason(decision);
      if (reason.empty()) return;
      SetUnadmitted(status, reason,
                    PendingMessage(decision, scheduler_.state().vocabulary(),
                                   scheduler_.state().queue(decision.cluster_queue).name),
                    generation, now);
      return;
    }
    case DecidedWrite::Kind::kPlace:
      TakePlacement(AdmissionOf(decision, scheduler_), *status.admission);
      status.unhealthy_nodes.clear();
      return;
    case DecidedWrite::Kind::kEvict: Evict(status, NoReplacement(base), generation, now); return;
    case DecidedWrite::Kind::kReportNoNodes: return;
  }
}

void Driver::Assume(const DecidedWrite& write, const api::Workload& current, WallTime now) {
  auto assumed = std::make_shared<api::Workload>(current);
  Change(write, current, assumed->status, now);
  scheduler_.ApplyWorkload(std::move(assumed), now);
}

bool Driver::IsWritten(const DecidedWrite& write, const api::Workload& fresh) const {
  const auto& conditions = fresh.status.conditions;
  if (write.kind == DecidedWrite::Kind::kReserve) {
    return api::IsTrue(conditions, api::kQuotaReserved) &&
           fresh.status.admission == AdmissionOf(*write.decision, scheduler_);
  }
  const api::Condition* evicted = api::FindCondition(conditions, api::kEvicted);
  return evicted != nullptr && evicted->message == write.message;
}

// Returns the ClusterQueue of the reservation, else that of the LocalQueue; null: there is none.
const api::ClusterQueue* Driver::ObserveQueues(const QueueObjects& queues,
                                               WorkloadSituation& situation) const {
  const api::Workload& workload = *situation.workload;
  situation.local_queue.name = workload.spec.queue_name;
  const api::LocalQueue* local =
      queues.FindLocalQueue({workload.meta.namespace_name, workload.spec.queue_name});
  if (local != nullptr) {
    situation.local_queue = {.name = local->meta.name,
                             .exists = true,
                             .active = api::IsTrue(local->status.conditions, api::kActive),
                             .deleting = local->meta.deletion_timestamp.has_value(),
                             .stop_policy = local->stop_policy};
    situation.cluster_queue.name = local->cluster_queue;
  }
  const auto& admission = workload.status.admission;
  if (admission) situation.cluster_queue.name = admission->cluster_queue;
  const api::ClusterQueue* queue = queues.FindClusterQueue(situation.cluster_queue.name);
  if (queue == nullptr) return nullptr;
  const auto id = scheduler_.state().cluster_queues().Find(queue->meta.name);
  situation.cluster_queue.exists = true;
  situation.cluster_queue.active = id && scheduler_.state().queue(*id).active();
  situation.cluster_queue.deleting = queue->meta.deletion_timestamp.has_value();
  situation.cluster_queue.stop_policy = queue->spec.stop_policy;
  return queue;
}

// The checks of a Workload without reservation.
void Driver::ObserveChecks(const api::ClusterQueue& queue, WorkloadSituation& situation) const {
  const auto id = scheduler_.state().cluster_queues().Find(queue.meta.name);
  if (!id) return;
  situation.required_checks = ChecksBeforeReservation(scheduler_.state().queue(*id).spec);
  for (const api::AdmissionCheckRule& rule : queue.spec.admission_checks) {
    situation.queue_checks.push_back(rule.check);
  }
}

WorkloadPlan Driver::PlanWorkload(const api::Workload& workload, const QueueObjects& queues,
                                  WallTime now) const {
  WorkloadSituation situation;
  situation.workload = &workload;
  situation.pods_ready = pods_ready_;
  situation.keep_finished = keep_finished_;
  situation.hear_late_answers = scheduler_.config().own_rules.hear_late_answers;
  situation.nobody_stops_it = workload.meta.owner_references.empty();
  const api::ClusterQueue* queue = ObserveQueues(queues, situation);
  std::optional<Duration> first_try_ends;
  if (const auto& admission = workload.status.admission) {
    if (const auto id = scheduler_.state().cluster_queues().Find(admission->cluster_queue)) {
      situation.required_checks =
          RequiredChecks(scheduler_.state().queue(*id).spec, FlavorsOf(*admission));
    }
  } else if (queue != nullptr) {
    const Duration age = now - workload.meta.creation_timestamp;
    if (age >= kFirstTry) {
      ObserveChecks(*queue, situation);
    } else if (!queue->spec.admission_checks.empty()) {
      first_try_ends = kFirstTry - age;
    }
  }
  if (!api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
    situation.pod_problem = scheduler_.PodProblem(workload);
  }
  WorkloadPlan plan = admission::PlanWorkload(situation, now);
  if (first_try_ends) {
    plan.look_again = std::min(plan.look_again.value_or(*first_try_ends), *first_try_ends);
  }
  return plan;
}

}  // namespace berth::admission
