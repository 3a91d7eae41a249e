#include "admission/controller/scheduler_loop.h"

#include <algorithm>
#include <utility>

#include "admission/controller/admission_metrics.h"
#include "admission/controller/decision_facts.h"
#include "admission/controller/decision_note.h"
#include "admission/controller/plan_json.h"
#include "admission/controller/preemption_events.h"
#include "admission/controller/rebased_write.h"
#include "admission/controller/scheduler_feed.h"
#include "admission/messages.h"
#include "admission/workload_slices.h"
#include "api/holds.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "base/log/log.h"

namespace berth::admission {
namespace {

constexpr std::size_t kMaxOpenWrites = 512;
constexpr std::size_t kMaxParkedShapes = 10'000;

// Whether the workload's condition has the note's reason already, from before a restart. Amounts
// may have changed meanwhile, as for every parked workload. A note on another generation (other
// requests, another queue) does not count.
bool WasTold(const api::Workload& workload, const PendingNote& note) {
  const api::Condition* told = api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  return told != nullptr && told->status == api::ConditionStatus::kFalse &&
         told->reason == note.reason() && told->observed_generation == workload.meta.generation;
}

// Whether another client has removed the reason why the workload waits.
bool HasLostItsReason(const api::Workload& before, const api::Workload& after) {
  return api::FindCondition(before.status.conditions, api::kQuotaReserved) != nullptr &&
         api::FindCondition(after.status.conditions, api::kQuotaReserved) == nullptr;
}

}  // namespace

SchedulerLoop::SchedulerLoop(SchedulerLoopParts parts)
    : parts_(parts),
      workloads_(parts.manager.InformerFor<api::Workload>()),
      pace_(parts.manager.executor(), parts.clock, parts.wake_up_batch, PacedWork()),
      self_(std::make_shared<SchedulerLoop*>(this)),
      second_pass_({parts.manager, parts.scheduler, parts.writer, parts.events, parts.clock,
                    [this](const api::Workload& before, const WorkloadPlan& plan) {
                      parts_.metrics.OnPlan(before, plan, parts_.clock.Now());
                    },
                    [this](const api::ObjectKey& key) { ReadBack(key, 0); }}) {}

CyclePace::Work SchedulerLoop::PacedWork() {
  return {// The end of a write kicks again.
          .may_run = [this] { return open_writes_ < kMaxOpenWrites && HasHeads(); },
          .has_heads = [this] { return parts_.scheduler.HasHeads(); },
          .run_cycle = [this] { return RunCycle(); },
          .has_wake_ups = [this] { return parts_.scheduler.HasWakeUps(); },
          .run_wake_ups = [this] { RunWakeUps(); }};
}

// Whether the scheduler has nothing to do. A change after which it has something must start a
// cycle, whatever field changed.
bool SchedulerLoop::IsStill() const {
  return !parts_.scheduler.HasHeads() && !parts_.scheduler.HasWakeUps();
}

// Whether other workloads waited for this workload's pods (blockAdmission).
bool SchedulerLoop::Unblocks(const api::Workload& before, const api::Workload& after) const {
  return parts_.scheduler.config().block_admission &&
         !api::IsTrue(before.status.conditions, api::kPodsReady) &&
         api::IsTrue(after.status.conditions, api::kPodsReady);
}

// Recorded here, not with the condition: the workload may be admitted before the condition.
void SchedulerLoop::SayIfGateCleared(const api::Workload& before, const api::Workload& after) {
  if (!pace_.running() || !api::IsGated(before) || api::IsGated(after)) return;
  parts_.events.Record(kube::ReferenceTo(after), kube::EventType::kNormal, "AdmissionGateCleared",
                       "AdmissionGateCleared",
                       "Admission gate cleared, workload is now admissible");
}

void SchedulerLoop::FeedWorkloads() {
  const auto apply = [this](const auto& object) {
    put_aside_.erase(object->meta.key());
    parts_.scheduler.ApplyWorkload(object, parts_.clock.Now());
  };
  workloads_.AddHandler({.on_add =
                             [this, apply](const auto& object) {
                               apply(object);
                               if (queue::BelongsInQueue(*object)) {
                                 pace_.NoteArrival(object->spec.priority.value_or(0));
                               }
                               NoteParkedOnArrival(*object);
                               Changed();
                             },
                         .on_update =
                             [this, apply](const auto& before, const auto& object) {
                               const bool was_still = IsStill();
                               apply(object);
                               ScheduleSecondPass();
                               SayIfGateCleared(*before, *object);
                               // The workload reconciler writes the reason of a refused workload: a
                               // note of an earlier attempt would be written against it for ever.
                               if (parts_.scheduler.IsRefused(object->meta.key())) {
                                 parts_.notes.Forget(object->meta.key());
                               }
                               if (HasLostItsReason(*before, *object)) {
                                 parts_.notes.Renew(object->meta.key());
                               }
                               if (Matters(*before, *object) || Unblocks(*before, *object) ||
                                   (was_still && !IsStill())) {
                                 Changed();
                               }
                             },
                         .on_delete =
                             [this](const auto& object) {
                               const api::ObjectKey key = object->meta.key();
                               put_aside_.erase(key);
                               failures_.erase(key);
                               unanswered_.erase(key);
                               parts_.notes.Forget(key);
                               parts_.scheduler.ForgetWorkload(key);
                               Changed();
                             }});
}

void SchedulerLoop::Connect() {
  parts_.notes.WritePlans(
      {.stamp = [this](const auto& workload) { return parts_.scheduler.StampOfPlan(workload); },
       .text =
           [this](const auto& workload) {
             const std::optional<KeptPlan> plan = parts_.scheduler.PlanToKeep(workload);
             return plan ? EncodePlan(*plan) : std::string();
           }});
  FeedQueues(parts_.manager, parts_.scheduler, [this] { Changed(); });
  FeedWorkloads();
}

// Restores the plans of the earlier leader.
void SchedulerLoop::RestorePlans() {
  std::vector<std::pair<api::ObjectKey, KeptPlan>> plans;
  for (const auto& workload : workloads_.objects()) {
    const std::string* text =
        api::FindValue(workload->meta.annotations, api::kPreemptionPlanAnnotation);
    if (text == nullptr) continue;
    if (auto plan = DecodePlan(*text)) plans.emplace_back(workload->meta.key(), *std::move(plan));
  }
  parts_.scheduler.RestorePlans(plans, parts_.clock.Now());
}

void SchedulerLoop::Start() {
  pace_.Start();
  RestorePlans();
  Changed();
}

bool SchedulerLoop::idle() const {
  return open_writes_ == 0 && !pace_.awaits_wake_up() && !parts_.scheduler.HasWakeUps() &&
         (!parts_.scheduler.HasHeads() || pace_.at_rest());
}

void SchedulerLoop::Changed() {
  pace_.OnChange();
  ScheduleSecondPass();
}

void SchedulerLoop::RunWakeUps() {
  parts_.scheduler.RunWakeUps(parts_.clock.Now());
  parked_shapes_.clear();
  if (parts_.on_turn) parts_.on_turn();
  ScheduleSecondPass();
}

// Workloads that have quota and lack nodes become heads when their second pass is due.
bool SchedulerLoop::HasHeads() const {
  if (parts_.scheduler.HasHeads()) return true;
  const std::optional<WallTime> next = parts_.scheduler.NextSecondPass();
  return next && *next <= parts_.clock.Now();
}

void SchedulerLoop::ScheduleSecondPass() {
  if (!pace_.running()) return;
  const std::optional<WallTime> next = parts_.scheduler.NextSecondPass();
  if (!next || (second_pass_at_ && *second_pass_at_ <= *next)) return;
  second_pass_at_ = next;
  const Duration wait =
      std::max<Duration>(*next - parts_.clock.Now(), std::chrono::milliseconds(1));
  parts_.manager.executor().PostAfter(wait, [weak = std::weak_ptr(self_), at = *next] {
    const auto self = weak.lock();
    if (self == nullptr || (*self)->second_pass_at_ != at) return;
    (*self)->second_pass_at_.reset();
    if (!(*self)->HasHeads()) return (*self)->ScheduleSecondPass();  // after the clock was set back
    (*self)->pace_.Kick();
  });
}

SchedulerLoop::Progress SchedulerLoop::RunCycle() {
  ++cycle_count_;
  const SteadyTime start = parts_.clock.SteadyNow();
  const CycleResult& result = parts_.scheduler.RunCycle(parts_.clock.Now());
  const Duration span = parts_.clock.SteadyNow() - start;
  const bool admitted =
      std::any_of(result.decisions.begin(), result.decisions.end(), [](const Decision& decision) {
        return decision.outcome == Outcome::kAdmitted ||
               decision.outcome == Outcome::kQuotaReserved;
      });
  parts_.metrics.OnCycle(admitted, span);
  parts_.metrics.OnDecisions(result.decisions, [this](ClusterQueueId id) {
    return parts_.scheduler.state().queue(id).name;
  });
  const Progress progress = Perform(result);
  if (parts_.on_turn) parts_.on_turn();
  ScheduleSecondPass();
  return progress;
}

SchedulerLoop::Progress SchedulerLoop::Perform(const CycleResult& result) {
  // A head that was parked makes room for the next one.
  Progress progress = result.refused_parked > 0 ? Progress::kSome : Progress::kNone;
  for (const Decision& decision : result.decisions) {
    if (decision.second_pass) {
      if (second_pass_.Perform(decision) == SecondPass::Progress::kSome) {
        progress = Progress::kSome;
      }
      continue;
    }
    if (decision.to == queue::Destination::kInadmissible) progress = Progress::kSome;
    switch (decision.outcome) {
      case Outcome::kAdmitted:
      case Outcome::kQuotaReserved:
        Reserve(decision);
        progress = Progress::kSome;
        break;
      case Outcome::kPreempting:
        for (const Victim& victim : decision.victims) {
          if (!victim.ongoing && Evict(decision, victim) == Progress::kSome) {
            progress = Progress::kSome;
          }
        }
        NotePending(decision);
        break;
      default: NotePending(decision);
    }
  }
  NoteParked(result);
  return progress;
}

// Other clients may write meanwhile.
void SchedulerLoop::Reserve(const Decision& decided) {
  parts_.notes.Forget(decided.object->meta.key());
  DropRetry(decided.object->meta.key());
  ++open_writes_;
  const auto decision = std::make_shared<const Decision>(decided);
  WriteRebased(parts_.manager, parts_.writer, self_, *decision->object,
               {.status_on =
                    [this, decision](const api::Workload& base) {
                      api::WorkloadStatus status = base.status;
                      const WallTime now = parts_.clock.Now();
                      ReserveQuota(status, AdmissionOf(*decision, parts_.scheduler),
                                   decision->checks, base.meta.generation, now);
                      if (parts_.pods_ready_is_reported) AwaitPods(status, base.meta, now);
                      return status;
                    },
                .still_holds =
                    [decision](const api::Workload& fresh) {
                      return RestsOnTheSame(*decision->object, fresh);
                    },
                .done =
                    [this, decision](const Result<api::WorkloadStatus>& written) {
                      --open_writes_;
                      if (parts_.scheduler.HasHeads()) pace_.Kick();
                      if (written) return OnReserved(*decision, *written);
                      const api::ObjectKey key = decision->object->meta.key();
                      TellIfWritten(key, written.error(), [this, decision](const auto& fresh) {
                        if (api::IsTrue(fresh.status.conditions, api::kQuotaReserved) &&
                            fresh.status.admission == AdmissionOf(*decision, parts_.scheduler)) {
                          OnReserved(*decision, fresh.status);
                        }
                      });
                      TakeBack(key, written.error());
                    }});
}

void SchedulerLoop::OnReserved(const Decision& decision, const api::WorkloadStatus& status) {
  const api::Workload& workload = *decision.object;
  failures_.erase(workload.meta.key());
  const WallTime now = parts_.clock.Now();
  const std::string& queue = status.admission->cluster_queue;
  const std::int64_t waited = WaitSeconds(QueuedSince(workload), now);
  std::string message =
      QuotaReservedMessage(queue) + ", wait time since queued was " + std::to_string(waited) + "s";
  const std::string considered =
      ConsideredFlavors(decision.assignment, parts_.scheduler.vocabulary());
  if (!considered.empty()) message += "; Flavors considered: " + considered;
  const kube::ObjectReference reference = kube::ReferenceTo(workload);
  parts_.events.Record(reference, kube::EventType::kNormal, "QuotaReserved", "QuotaReserved",
                       message);
  parts_.metrics.OnQuotaReserved(workload, queue, waited);
  if (decision.replaces != nullptr) EndReplaced(decision);
  if (!api::IsTrue(status.conditions, api::kAdmitted)) return;
  parts_.events.Record(
      reference, kube::EventType::kNormal, "Admitted", "Admitted",
      "Admitted by ClusterQueue " + queue + ", wait time since reservation was 0s");
  parts_.metrics.OnAdmitted(workload, queue, waited, 0);
}

// The controller of the job ends the slice where this write fails.
void SchedulerLoop::EndReplaced(const Decision& decision) {
  const auto replaced = workloads_.Get(decision.replaces->meta.key());
  if (replaced == nullptr || replaced->meta.uid != decision.replaces->meta.uid ||
      api::IsTrue(replaced->status.conditions, api::kFinished)) {
    return;
  }
  parts_.metrics.OnSliceReplaced(parts_.scheduler.state().queue(decision.cluster_queue).name);
  parts_.writer.Finish(*replaced,
                       {.type = api::kFinished,
                        .status = api::ConditionStatus::kTrue,
                        .reason = api::kWorkloadSliceReplaced,
                        .message = SliceReplacedMessage(*decision.object),
                        .last_transition_time = CutToSeconds(parts_.clock.Now()),
                        .observed_generation = replaced->meta.generation},
                       [key = replaced->meta.key()](const Status& written) {
                         if (written) return;
                         LogInfo(
                             "replaced slice not finished yet",
                             {{"workload", key.ToString()}, {"error", written.error().message}});
                       });
}

// Applies the victim's future state to the scheduler, so that no later cycle evicts it again.
SchedulerLoop::Progress SchedulerLoop::Evict(const Decision& decision, const Victim& victim) {
  const api::ObjectKey key = victim.object->meta.key();
  const auto current = workloads_.Get(key);
  if (current == nullptr || !api::IsTrue(current->status.conditions, api::kQuotaReserved)) {
    return Progress::kNone;  // its reservation is being written; a later cycle retries
  }
  const WallTime now = parts_.clock.Now();
  const std::string reason = ToString(victim.reason);
  const std::string message = PreemptedMessage(*decision.object, victim.reason,
                                               parts_.scheduler.PathOf(decision.cluster_queue),
                                               parts_.scheduler.PathOf(victim.cluster_queue));
  auto evicted = std::make_shared<api::Workload>(*current);
  Preempt(evicted->status, reason, message, current->meta.generation, now);
  parts_.scheduler.ApplyWorkload(evicted, now);
  DropRetry(key);
  pace_.NotePreemption();
  ++open_writes_;
  const std::string preemptor_queue = parts_.scheduler.state().queue(decision.cluster_queue).name;
  WriteRebased(
      parts_.manager, parts_.writer, self_, *current,
      {.status_on =
           [this, reason, message](const api::Workload& base) {
             api::WorkloadStatus status = base.status;
             Preempt(status, reason, message, base.meta.generation, parts_.clock.Now());
             return status;
           },
       .still_holds =
           [current](const api::Workload& fresh) {
             return RestsOnTheSame(*current, fresh) &&
                    current->status.admission == fresh.status.admission;
           },
       .done =
           [this, current, reason, message, preemptor_queue,
            preemptor = decision.object](const Result<api::WorkloadStatus>& written) {
             --open_writes_;
             const auto tell = [this, current, reason, message, preemptor_queue, preemptor] {
               failures_.erase(current->meta.key());
               RecordPreemption(parts_.events,
                                {.priority_boost = parts_.scheduler.config().gates.priority_boost},
                                *preemptor, *current, message);
               parts_.metrics.OnPreempted(*current, preemptor_queue, reason, parts_.clock.Now());
             };
             if (written) return tell();
             const api::ObjectKey victim_key = current->meta.key();
             TellIfWritten(victim_key, written.error(), [message, tell](const auto& fresh) {
               const auto* stored = api::FindCondition(fresh.status.conditions, api::kEvicted);
               if (stored != nullptr && stored->message == message) tell();
             });
             OnNotEvicted(victim_key, written.error());
           }});
  return Progress::kSome;
}

void SchedulerLoop::NotePending(const Decision& decision) {
  if (pace_.repeats() && parts_.notes.Has(decision.object->meta.key())) return;
  const std::shared_ptr<const PendingNote> note = DecisionNote::Of(decision, parts_.scheduler);
  if (note == nullptr) return;
  if (decision.to == queue::Destination::kInadmissible) {
    if (parked_shapes_.size() >= kMaxParkedShapes) parked_shapes_.clear();
    parked_shapes_[{decision.cluster_queue, decision.assignment.scan.shape}] = note;
  }
  parts_.notes.Note(decision.object->meta.key(), note, PendingNotes::Verdict::kItsOwn);
}

// A workload equal to one that was parked gets no decision of its own.
void SchedulerLoop::NoteParkedOnArrival(const api::Workload& workload) {
  const api::ObjectKey key = workload.meta.key();
  const std::optional<WorkloadId> id = parts_.scheduler.Find(key);
  if (!pace_.running() || !id || !parts_.scheduler.queues().IsInadmissible(*id)) return;
  const auto queue =
      parts_.scheduler.queues().ClusterQueueOf({key.namespace_name, workload.spec.queue_name});
  if (!queue) return;
  const auto known = parked_shapes_.find({*queue, parts_.scheduler.ShapeOf(*id)});
  if (known == parked_shapes_.end()) return;
  parts_.notes.Note(key, known->second, PendingNotes::Verdict::kOfAnEqual);
}

// Workloads that were parked in bulk share the note of the equal one that was tried. Each gets the
// note once, after all others (PendingNotes): writing it to ten thousand workloads after every
// change of the queue would flood the API with repetitions.
void SchedulerLoop::NoteParked(const CycleResult& result) {
  std::optional<std::size_t> like;
  std::shared_ptr<const PendingNote> note;  // of the decision `like`; may be null
  for (const CycleResult::Parked& parked : result.bulk_parked) {
    if (like != parked.like) {
      like = parked.like;
      note = DecisionNote::Of(result.decisions[*like], parts_.scheduler);
    }
    const api::Workload* workload = parts_.scheduler.workload(parked.workload);
    if (note == nullptr || workload == nullptr) continue;
    if (WasTold(*workload, *note)) continue;
    parts_.notes.Note(workload->meta.key(), note, PendingNotes::Verdict::kOfAnEqual);
  }
}

}  // namespace berth::admission
