#include "admission/controller/loop/scheduler_loop.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "admission/controller/feeds/scheduler_feed.h"
#include "admission/controller/loop/decided_writes.h"
#include "admission/controller/loop/preemption_events.h"
#include "admission/controller/metrics/admission_metrics.h"
#include "admission/controller/notes/decision_note.h"
#include "admission/controller/notes/plan_json.h"
#include "admission/decision_facts.h"
#include "admission/messages.h"
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

constexpr Duration kRetry = std::chrono::milliseconds(100);  // doubles
constexpr Duration kLongestRetry = std::chrono::seconds(10);
constexpr int kMostDoublings = 10;
constexpr Duration kPutAside = std::chrono::seconds(10);
constexpr Duration kAllHeadsEvery = std::chrono::seconds(1);

}  // namespace

SchedulerLoop::SchedulerLoop(SchedulerLoopParts parts)
    : parts_(parts),
      scheduler_(parts.driver.scheduler()),
      workloads_(parts.manager.InformerFor<api::Workload>()),
      pace_(parts.manager.executor(), parts.clock, parts.wake_up_batch, PacedWork()),
      self_(std::make_shared<SchedulerLoop*>(this)),
      second_pass_({parts.manager, parts.driver, parts.writer, parts.events, parts.clock,
                    [this](const api::Workload& before, const WorkloadPlan& plan) {
                      parts_.metrics.OnPlan(before, plan, parts_.clock.Now());
                    },
                    [this](const api::ObjectKey& key) { ReadBack(key, 0); }}) {}

CyclePace::Work SchedulerLoop::PacedWork() {
  return {// The end of a write kicks again.
          .may_run = [this] { return open_writes_ < kMaxOpenWrites && HasHeads(); },
          .has_heads = [this] { return scheduler_.HasHeads(); },
          .run_cycle = [this] { return RunCycle(); },
          .has_wake_ups = [this] { return scheduler_.HasWakeUps(); },
          .has_new_wake_ups = [this] { return scheduler_.HasWakeUps(Scheduler::WakeUps::kNew); },
          .run_wake_ups = [this](std::int64_t from) { RunWakeUps(from); }};
}

// Whether the scheduler has nothing to do. A change after which it has something must start a
// cycle, whatever field changed.
bool SchedulerLoop::IsStill() const { return !scheduler_.HasHeads() && !scheduler_.HasWakeUps(); }

queue::OrderingOptions SchedulerLoop::Ordering() const {
  return {.priority_boost = scheduler_.config().gates.priority_boost};
}

// Whether other workloads waited for this workload's pods (blockAdmission).
bool SchedulerLoop::Unblocks(const api::Workload& before, const api::Workload& after) const {
  return scheduler_.config().block_admission &&
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
    scheduler_.ApplyWorkload(object, parts_.clock.Now());
  };
  workloads_.AddHandler({.on_add =
                             [this, apply](const auto& object) {
                               apply(object);
                               if (queue::BelongsInQueue(*object)) {
                                 pace_.NoteArrival(queue::EffectivePriority(*object, Ordering()));
                               }
                               NoteParkedOnArrival(*object);
                               WorkloadChanged();
                             },
                         .on_update =
                             [this, apply](const auto& before, const auto& object) {
                               const bool was_still = IsStill();
                               apply(object);
                               ScheduleNextTurn();
                               SayIfGateCleared(*before, *object);
                               // The workload reconciler writes the reason of a refused workload: a
                               // note of an earlier attempt would be written against it for ever.
                               if (scheduler_.IsRefused(object->meta.key())) {
                                 parts_.notes.Forget(object->meta.key());
                               }
                               if (HasLostItsReason(*before, *object)) {
                                 parts_.notes.Renew(object->meta.key());
                               }
                               if (Matters(*before, *object) || Unblocks(*before, *object) ||
                                   (was_still && !IsStill())) {
                                 WorkloadChanged();
                               }
                             },
                         .on_delete =
                             [this](const auto& object) {
                               const api::ObjectKey key = object->meta.key();
                               put_aside_.erase(key);
                               failures_.erase(key);
                               unanswered_.erase(key);
                               parts_.notes.Forget(key);
                               scheduler_.Forget<api::Workload>(key);
                               WorkloadChanged();
                             }});
}

void SchedulerLoop::Connect() {
  parts_.notes.WritePlans(
      {.stamp = [this](const auto& workload) { return scheduler_.kept_plans().StampOf(workload); },
       .text =
           [this](const auto& workload) {
             const std::optional<KeptPlan> plan = scheduler_.kept_plans().ToKeep(workload);
             return plan ? EncodePlan(*plan) : std::string();
           }});
  FeedQueues(parts_.manager, scheduler_, [this] { Changed(); });
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
  scheduler_.kept_plans().Restore(plans, parts_.clock.Now());
}

void SchedulerLoop::Start() {
  pace_.Start();
  RestorePlans();
  Changed();
}

bool SchedulerLoop::idle() const {
  return open_writes_ == 0 && awaiting_end_.empty() && !pace_.awaits_wake_up() &&
         !scheduler_.HasWakeUps() && (!scheduler_.HasHeads() || pace_.at_rest());
}

void SchedulerLoop::Changed() {
  all_heads_are_due_ = true;
  WorkloadChanged();
}

// The scheduler knows which heads the change concerns.
void SchedulerLoop::WorkloadChanged() {
  pace_.OnChange();
  ScheduleNextTurn();
}

void SchedulerLoop::RunWakeUps(std::int64_t from) {
  scheduler_.RunWakeUps(parts_.clock.Now(), from);
  if (from == queue::kEveryPriority) parked_shapes_.clear();
  if (parts_.on_turn) parts_.on_turn();
  ScheduleNextTurn();
}

// Workloads that have quota and lack nodes become heads when their second pass is due.
bool SchedulerLoop::HasHeads() const {
  if (scheduler_.HasHeads()) return true;
  const std::optional<WallTime> next = scheduler_.NextTurn();
  return next && *next <= parts_.clock.Now();
}

void SchedulerLoop::ScheduleNextTurn() {
  if (!pace_.running()) return;
  const std::optional<WallTime> next = scheduler_.NextTurn();
  if (!next || (next_turn_at_ && *next_turn_at_ <= *next)) return;
  next_turn_at_ = next;
  const Duration wait =
      std::max<Duration>(*next - parts_.clock.Now(), std::chrono::milliseconds(1));
  parts_.manager.executor().PostAfter(wait, [weak = std::weak_ptr(self_), at = *next] {
    const auto self = weak.lock();
    if (self == nullptr || (*self)->next_turn_at_ != at) return;
    (*self)->next_turn_at_.reset();
    if (!(*self)->HasHeads()) return (*self)->ScheduleNextTurn();  // after the clock was set back
    (*self)->pace_.Kick();
  });
}

// All heads from time to time: decisions depend on the time, too.
Scheduler::Heads SchedulerLoop::DueHeads(SteadyTime now) {
  const bool all =
      std::exchange(all_heads_are_due_, false) || now - all_heads_taken_at_ >= kAllHeadsEvery;
  if (all) all_heads_taken_at_ = now;
  return all ? Scheduler::Heads::kAll : Scheduler::Heads::kOfDueTrees;
}

SchedulerLoop::Progress SchedulerLoop::RunCycle() {
  const SteadyTime start = parts_.clock.SteadyNow();
  const CycleResult& result = scheduler_.RunCycle(parts_.clock.Now(), DueHeads(start));
  if (!result.decisions.empty() || result.refused_parked > 0) {
    Count(result, parts_.clock.SteadyNow() - start);
  }
  const Progress progress = Perform(result);
  if (parts_.on_turn) parts_.on_turn();
  ScheduleNextTurn();
  return progress;
}

void SchedulerLoop::Count(const CycleResult& result, Duration span) {
  ++cycle_count_;
  const bool admitted = std::any_of(result.decisions.begin(), result.decisions.end(), GivesQuota);
  parts_.metrics.OnCycle(admitted, span);
  const auto name_of = [this](ClusterQueueId id) { return scheduler_.state().queue(id).name; };
  parts_.metrics.OnDecisions(result.decisions, name_of);
  parts_.metrics.OnPlaces(scheduler_.kept_places(), name_of);
}

SchedulerLoop::Progress SchedulerLoop::Perform(const CycleResult& result) {
  // A head that was parked makes room for the next one.
  Progress progress = result.refused_parked > 0 ? Progress::kSome : Progress::kNone;
  for (const Decision& decision : result.decisions) {
    if (decision.to == queue::Destination::kInadmissible) progress = Progress::kSome;
    std::shared_ptr<const Decision> copy;  // made for the first write that is sent
    for (const DecidedWrite& write : parts_.driver.WritesOf(decision)) {
      if (Perform(write, copy) == Progress::kSome) progress = Progress::kSome;
    }
  }
  NoteParked(result);
  return progress;
}

SchedulerLoop::Progress SchedulerLoop::Perform(const DecidedWrite& write,
                                               std::shared_ptr<const Decision>& copy) {
  switch (write.kind) {
    case DecidedWrite::Kind::kReserve: Reserve(write, copy); return Progress::kSome;
    case DecidedWrite::Kind::kFinish: return Progress::kNone;  // once the reservation is written
    case DecidedWrite::Kind::kPreempt: return Evict(write, copy);
    case DecidedWrite::Kind::kExplain: NotePending(*write.decision); return Progress::kNone;
    default:
      return second_pass_.Perform(write) == SecondPass::Progress::kSome ? Progress::kSome
                                                                        : Progress::kNone;
  }
}

DecidedWrites SchedulerLoop::Writes() const {
  return {parts_.manager, parts_.driver, parts_.writer, parts_.clock, self_};
}

void SchedulerLoop::Reserve(const DecidedWrite& decided, std::shared_ptr<const Decision>& copy) {
  const api::ObjectKey key = decided.workload().meta.key();
  parts_.notes.Forget(key);
  DropRetry(key);
  ++open_writes_;
  const auto write = Keep(decided, copy);
  Writes().Send(write, write->decision->object,
                [this, write, key](const Result<api::WorkloadStatus>& written) {
                  --open_writes_;
                  if (scheduler_.HasHeads()) pace_.Kick();
                  if (written) return OnReserved(*write->decision, *written);
                  TellIfWritten(key, written.error(), [this, write](const auto& fresh) {
                    if (parts_.driver.IsWritten(*write, fresh)) {
                      OnReserved(*write->decision, fresh.status);
                    }
                  });
                  TakeBack(key, written.error());
                });
}

void SchedulerLoop::OnReserved(const Decision& decision, const api::WorkloadStatus& status) {
  const api::Workload& workload = *decision.object;
  failures_.erase(workload.meta.key());
  const WallTime now = parts_.clock.Now();
  const std::string& queue = status.admission->cluster_queue;
  const std::int64_t waited = WaitSeconds(QueuedSince(workload), now);
  const bool is_admitted = api::IsTrue(status.conditions, api::kAdmitted);
  std::string wait = ", wait time since queued was " + std::to_string(waited) + "s";
  if (is_admitted) wait += ", wait time since reservation was 0s";
  const std::string considered =
      ConsideredFlavors(decision.assignment, scheduler_.state().vocabulary());
  if (!considered.empty()) wait += "; Flavors considered: " + considered;
  const kube::ObjectReference reference = kube::ReferenceTo(workload);
  // An admission without checks is one event, that of the admission.
  if (is_admitted) {
    parts_.events.Record(reference, kube::EventType::kNormal, "Admitted", "Admitted",
                         "Admitted by ClusterQueue " + queue + wait);
  } else {
    parts_.events.Record(reference, kube::EventType::kNormal, "QuotaReserved", "QuotaReserved",
                         QuotaReservedMessage(queue) + wait);
  }
  parts_.metrics.OnQuotaReserved(workload, queue, waited);
  if (decision.replaces != nullptr) EndReplaced(decision);
  if (!is_admitted) return;
  parts_.metrics.OnAdmitted(workload, queue, waited, 0);
}

// The controller of the job ends the slice where this write fails.
void SchedulerLoop::EndReplaced(const Decision& decision) {
  const DecidedWrite write{DecidedWrite::Kind::kFinish, &decision, nullptr, ""};
  const auto replaced = workloads_.Get(write.workload().meta.key());
  if (replaced == nullptr || !parts_.driver.IsDue(write, *replaced)) return;
  parts_.metrics.OnSliceReplaced(scheduler_.state().queue(decision.cluster_queue).name);
  parts_.writer.Finish(*replaced, EndOfReplaced(decision, *replaced, parts_.clock.Now()),
                       [key = replaced->meta.key()](const Status& written) {
                         if (written) return;
                         LogInfo(
                             "replaced slice not finished yet",
                             {{"workload", key.ToString()}, {"error", written.error().message}});
                       });
}

SchedulerLoop::Progress SchedulerLoop::Evict(const DecidedWrite& decided,
                                             std::shared_ptr<const Decision>& copy) {
  const api::ObjectKey key = decided.workload().meta.key();
  const auto current = workloads_.Get(key);
  if (current == nullptr || !parts_.driver.IsDue(decided, *current)) return Progress::kNone;
  const WallTime now = parts_.clock.Now();
  parts_.driver.Assume(decided, *current, now);
  DropRetry(key);
  pace_.NotePreemption(queue::EffectivePriority(*decided.decision->object, Ordering()));
  const std::optional<WallTime> soon_done_at = decided.victim->soon_done_at;
  if (!soon_done_at || *soon_done_at <= now) {
    SendEviction(Keep(decided, copy), current);
  } else if (awaiting_end_.insert(key).second) {
    parts_.manager.executor().PostAfter(
        *soon_done_at - now, [weak = std::weak_ptr(self_), write = Keep(decided, copy), current] {
          if (const auto self = weak.lock()) (*self)->EvictIfStillDue(write, current);
        });
  }
  return Progress::kSome;
}

// The victim was expected to have ended by now.
void SchedulerLoop::EvictIfStillDue(const std::shared_ptr<const DecidedWrite>& write,
                                    const std::shared_ptr<const api::Workload>& decided_on) {
  const api::ObjectKey key = decided_on->meta.key();
  awaiting_end_.erase(key);
  const auto current = workloads_.Get(key);
  if (!pace_.running() || current == nullptr) return;
  if (api::IsTrue(current->status.conditions, api::kFinished)) return;
  const Decision& decision = *write->decision;
  const auto preemptor = workloads_.Get(decision.object->meta.key());
  const bool waits = preemptor != nullptr && queue::BelongsInQueue(*preemptor) &&
                     scheduler_.state().cluster_queues().Has(decision.cluster_queue);
  if (waits && parts_.driver.IsDue(*write, *current) &&
      parts_.driver.StillHolds(*write, *decided_on, *current)) {
    return SendEviction(write, current);
  }
  Reapply(key);
}

void SchedulerLoop::SendEviction(const std::shared_ptr<const DecidedWrite>& write,
                                 const std::shared_ptr<const api::Workload>& current) {
  ++open_writes_;
  const api::ObjectKey key = current->meta.key();
  const auto tell = [this, write, current,
                     queue = scheduler_.state().queue(write->decision->cluster_queue).name] {
    OnEvicted(*write, *current, queue);
  };
  Writes().Send(write, current,
                [this, write, key, tell](const Result<api::WorkloadStatus>& written) {
                  --open_writes_;
                  if (written) return tell();
                  TellIfWritten(key, written.error(), [this, write, tell](const auto& fresh) {
                    if (parts_.driver.IsWritten(*write, fresh)) tell();
                  });
                  OnNotEvicted(key, written.error());
                });
}

void SchedulerLoop::OnEvicted(const DecidedWrite& write, const api::Workload& before,
                              const std::string& preempting_queue) {
  failures_.erase(before.meta.key());
  RecordPreemption(parts_.events, Ordering(), *write.decision->object, before, write.message);
  parts_.metrics.OnPreempted(before, preempting_queue, ToString(write.victim->reason),
                             parts_.clock.Now());
}

void SchedulerLoop::NotePending(const Decision& decision) {
  if (pace_.repeats() && parts_.notes.Has(decision.object->meta.key())) return;
  const std::shared_ptr<const PendingNote> note = DecisionNote::Of(decision, scheduler_);
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
  const std::optional<WorkloadId> id = scheduler_.workloads().Find(key);
  if (!pace_.running() || !id ||
      scheduler_.queues().PlaceOf(*id) != queue::Destination::kInadmissible) {
    return;
  }
  const auto queue = scheduler_.queues().local_queues().ClusterQueueOf(
      {key.namespace_name, workload.spec.queue_name});
  if (!queue) return;
  const auto known = parked_shapes_.find({*queue, scheduler_.workloads().ShapeOf(*id)});
  if (known == parked_shapes_.end()) return;
  parts_.notes.Note(key, known->second, PendingNotes::Verdict::kOfAnEqual);
}

// Workloads that were parked in bulk share the note of the equal one that was tried. Each gets the
// note once, after all others (PendingNotes): writing it to ten thousand workloads after every
// change of the queue would flood the API with repetitions.
void SchedulerLoop::NoteParked(const CycleResult& result) {
  std::optional<std::size_t> like;
  std::shared_ptr<const PendingNote> note;  // the note of the decision `like`; may be null
  for (const CycleResult::Parked& parked : result.bulk_parked) {
    if (like != parked.like) {
      like = parked.like;
      note = DecisionNote::Of(result.decisions[*like], scheduler_);
    }
    const api::Workload* workload = scheduler_.workloads().object(parked.workload).get();
    if (note == nullptr || workload == nullptr) continue;
    if (WasTold(*workload, *note)) continue;
    parts_.notes.Note(workload->meta.key(), note, PendingNotes::Verdict::kOfAnEqual);
  }
}

// The SchedulerLoop's reactions to decisions whose write failed.

void SchedulerLoop::TakeBack(const api::ObjectKey& key, const Error& error) {
  Log(error.code == ErrorCode::kConflict ? LogLevel::kInfo : LogLevel::kWarning,
      "admission not written",
      {{"workload", key.ToString()},
       {"code", std::string(ErrorCodeName(error.code))},
       {"error", error.message}});
  parts_.metrics.OnAdmissionFailed();
  switch (error.code) {
    case ErrorCode::kNotFound: return;  // the informer will deliver the deletion
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kInternal:
    case ErrorCode::kConflict:  // the informer's copy is old: read, decide again
      return AfterFailure(key, &SchedulerLoop::ReadBackNow);
    default: break;
  }
  // The API refuses the write for good: the workload leaves the queues until it changes, or a time.
  scheduler_.Forget<api::Workload>(key);
  put_aside_.insert(key);
  parts_.manager.executor().PostAfter(kPutAside, [weak = std::weak_ptr(self_), key] {
    const auto self = weak.lock();
    if (self != nullptr && (*self)->put_aside_.erase(key) > 0) (*self)->Reapply(key);
  });
}

// The next cycle decides on its preemptor again.
void SchedulerLoop::OnNotEvicted(const api::ObjectKey& key, const Error& error) {
  LogWarning("preemption not written, will be decided again",
             {{"workload", key.ToString()}, {"error", error.message}});
  switch (error.code) {
    case ErrorCode::kNotFound: return;  // the informer will deliver the deletion
    case ErrorCode::kConflict:          // the present object has just been read
      return AfterFailure(key, &SchedulerLoop::Reapply);
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kInternal: return AfterFailure(key, &SchedulerLoop::ReadBackNow);
    default: break;
  }
  // The API refuses the write for good; deciding again at once would repeat the refusal.
  parts_.manager.executor().PostAfter(kPutAside, [weak = std::weak_ptr(self_), key] {
    if (const auto self = weak.lock()) (*self)->Reapply(key);
  });
}

// The first failure is read back at once; repeated failures are read back at growing intervals.
// Until then the decision stays assumed.
void SchedulerLoop::AfterFailure(const api::ObjectKey& key,
                                 void (SchedulerLoop::*act)(const api::ObjectKey&)) {
  Failures& failures = failures_[key];
  const int before = failures.count++;
  if (before == 0) return (this->*act)(key);
  failures.retry = next_retry_++;
  const Duration wait =
      std::min<Duration>(kRetry * (1 << std::min(before, kMostDoublings)), kLongestRetry);
  parts_.manager.executor().PostAfter(
      wait, [weak = std::weak_ptr(self_), key, act, retry = failures.retry] {
        const auto self = weak.lock();
        if (self == nullptr) return;
        const auto found = (*self)->failures_.find(key);
        if (found != (*self)->failures_.end() && found->second.retry == retry) ((**self).*act)(key);
      });
}

void SchedulerLoop::TellIfWritten(const api::ObjectKey& key, const Error& error, Tell tell) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kInternal: unanswered_[key] = std::move(tell); return;
    default: return;
  }
}

void SchedulerLoop::DropRetry(const api::ObjectKey& key) {
  unanswered_.erase(key);
  if (const auto found = failures_.find(key); found != failures_.end()) found->second.retry = 0;
}

// Until the answer the workload stays assumed: it holds its quota, and no cycle decides on it.
void SchedulerLoop::ReadBack(const api::ObjectKey& key, int attempt) {
  parts_.manager.client().Get(
      api::KindOf<api::Workload>(), key,
      [weak = std::weak_ptr(self_), key, attempt](const Result<kube::JsonPtr>& answer) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        SchedulerLoop& loop = **self;
        if (answer && *answer != nullptr) {
          loop.workloads_.Ingest(**answer);
          const auto fresh = loop.workloads_.Get(key);
          if (auto unanswered = loop.unanswered_.extract(key); unanswered && fresh != nullptr) {
            unanswered.mapped()(*fresh);
          }
          return loop.Reapply(key);
        }
        if (answer || answer.error().code == ErrorCode::kNotFound) {
          loop.failures_.erase(key);  // the Workload is gone
          loop.unanswered_.erase(key);
          return;
        }
        const Duration wait = std::min<Duration>(kRetry * (1 << attempt), kLongestRetry);
        loop.parts_.manager.executor().PostAfter(wait, [weak, key, attempt] {
          if (const auto still = weak.lock()) {
            (*still)->ReadBack(key, std::min(attempt + 1, kMostDoublings));
          }
        });
      });
}

// Drops the assumption and applies the informer's object.
void SchedulerLoop::Reapply(const api::ObjectKey& key) {
  const WallTime now = parts_.clock.Now();
  scheduler_.Unassume(key, now);
  if (const auto object = workloads_.Get(key)) scheduler_.ApplyWorkload(object, now);
  WorkloadChanged();
}

}  // namespace berth::admission
