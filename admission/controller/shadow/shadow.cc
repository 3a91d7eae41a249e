#include "admission/controller/shadow/shadow.h"

#include <algorithm>
#include <utility>

#include "admission/controller/feeds/scheduler_feed.h"
#include "admission/controller/notes/decision_note.h"
#include "admission/decision_facts.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/messages.h"
#include "api/reasons.h"
#include "base/log/log.h"
#include "queue/workload_info.h"

namespace berth::admission {
namespace {

constexpr int kMaxCyclesAtOnce = 64;
constexpr int kMostTimesLonger = 5;  // doublings of the time aside
constexpr std::size_t kLoggedDifferences = 20;

DriverOptions ListingNew(DriverOptions options) {
  options.scheduler.listing = queue::Listing::kNew;
  return options;
}

bool HasQuota(const api::Workload& workload) {
  return workload.status.admission && api::IsTrue(workload.status.conditions, api::kQuotaReserved);
}

bool IsEvicted(const api::Workload& workload) {
  return api::IsTrue(workload.status.conditions, api::kEvicted);
}

}  // namespace

Shadow::Shadow(kube::Manager& manager, const Clock& clock, kube::Metrics& metrics,
               const ShadowOptions& options)
    : driver_(ListingNew(options.driver)),
      scheduler_(driver_.scheduler()),
      manager_(manager),
      clock_(clock),
      options_(options),
      workloads_(manager.InformerFor<api::Workload>()),
      report_(metrics, options.window),
      topology_feed_(manager, scheduler_, [this](TopologyFeed::Change) { Changed(); }),
      pod_defaults_feed_(
          manager, scheduler_, clock,
          {.workload = [](const api::ObjectKey&) {}, .scheduler = [this] { Changed(); }}),
      pace_(manager.executor(), clock, options.driver.wake_up_batch, PacedWork()) {
  workloads_.AddIndex(kShadowByUid, [](const api::Workload& workload) {
    return std::vector<std::string>{workload.meta.uid};
  });
  topology_feed_.Connect(options.driver.scheduler.gates.topology_aware_scheduling
                             ? TopologyFeed::Mode::kWithNodes
                             : TopologyFeed::Mode::kAsIs);
  pod_defaults_feed_.Connect();
  FeedQueues(manager, scheduler_, [this] { Changed(); });
  workloads_.AddHandler({.on_add =
                             [this](const WorkloadPtr& object) {
                               if (queue::BelongsInQueue(*object)) {
                                 pace_.NoteArrival(PriorityOf(*object));
                               }
                               Adopt(object);
                               Changed();
                             },
                         .on_update = [this](const WorkloadPtr& before,
                                             const WorkloadPtr& after) { OnUpdate(before, after); },
                         .on_delete = [this](const WorkloadPtr& object) { OnDelete(*object); }});
  manager.OnLeaderStart([this] { Start(); });
  manager.OnLeaderStop([this] { Stop(); });
}

void Shadow::Start() {
  pace_.Start();
  LogInfo("shadow: decides, writes nothing");
  SummariseLater();
  Changed();
}

void Shadow::Stop() {
  pace_.Stop();
  LogSummary(Detail::kWithDifferences);
}

void Shadow::LogSummary(Detail detail) const {
  const ShadowReport::Counts counts = report_.counts();
  const std::optional<double> agreement = counts.agreement();
  constexpr double kPercent = 100;
  LogInfo("shadow: compared with the incumbent",
          {{"agreement", agreement ? std::to_string(*agreement * kPercent) + "%" : "none yet"},
           {"same", std::to_string(counts.Of(ShadowResult::kSame))},
           {"differs", std::to_string(counts.Of(ShadowResult::kDiffers))},
           {"only_berth", std::to_string(counts.Of(ShadowResult::kOnlyBerth))},
           {"only_incumbent", std::to_string(counts.Of(ShadowResult::kOnlyIncumbent))},
           {"overtaken", std::to_string(counts.overtaken)},
           {"unjudged", std::to_string(counts.unjudged)},
           {"open", std::to_string(counts.open)}});
  if (detail == Detail::kCounts) return;
  for (const std::string& line : report_.Lines(kLoggedDifferences)) {
    LogInfo("shadow: difference", {{"what", line}});
  }
}

void Shadow::SummariseLater() {
  manager_.executor().PostAfter(options_.summary_interval, [weak = std::weak_ptr(self_)] {
    const auto self = weak.lock();
    if (self == nullptr || !(*self)->pace_.running()) return;
    (*self)->LogSummary(Detail::kCounts);
    (*self)->SummariseLater();
  });
}

void Shadow::After(Duration delay, const api::ObjectKey& key, std::uint64_t ticket,
                   void (Shadow::*act)(const api::ObjectKey&, std::uint64_t)) {
  manager_.executor().PostAfter(delay, [weak = std::weak_ptr(self_), key, ticket, act] {
    const auto self = weak.lock();
    if (self != nullptr) ((**self).*act)(key, ticket);
  });
}

std::int64_t Shadow::PriorityOf(const api::Workload& workload) const {
  return queue::EffectivePriority(workload,
                                  {.priority_boost = scheduler_.config().gates.priority_boost});
}

CyclePace::Work Shadow::PacedWork() {
  return {// The end of a comparison kicks again.
          .may_run = [this] { return scheduler_.HasHeads() && !IsFull(); },
          .has_heads = [this] { return scheduler_.HasHeads(); },
          .run_cycle = [this] { return Cycle(); },
          .has_wake_ups = [this] { return scheduler_.HasWakeUps(); },
          .has_new_wake_ups = [this] { return scheduler_.HasWakeUps(Scheduler::WakeUps::kNew); },
          .run_wake_ups = [this](std::int64_t from) { scheduler_.RunWakeUps(clock_.Now(), from); }};
}

bool Shadow::IsFull() const {
  return admissions_.size() + preemptions_.size() >= options_.max_open_decisions;
}

void Shadow::RunCyclesNow() {
  for (int cycles = 0; cycles < kMaxCyclesAtOnce && scheduler_.HasHeads() && !IsFull(); ++cycles) {
    if (Cycle() == Progress::kNone) break;
  }
  pace_.ScheduleWakeUps();
}

Shadow::Progress Shadow::Cycle() {
  const CycleResult& result = scheduler_.RunCycle(clock_.Now());
  Progress progress = result.refused_parked > 0 ? Progress::kSome : Progress::kNone;
  for (const Decision& decision : result.decisions) {
    if (OpenComparisons(decision) == Progress::kSome) progress = Progress::kSome;
  }
  for (const CycleResult::Parked& parked : result.bulk_parked) {
    const api::Workload* workload = scheduler_.workloads().object(parked.workload).get();
    const auto like = notes_.find(result.decisions[parked.like].object->meta.key());
    if (workload != nullptr && like != notes_.end()) notes_[workload->meta.key()] = like->second;
  }
  ShowOpen();
  return progress;
}

// Second passes are not compared.
Shadow::Progress Shadow::OpenComparisons(const Decision& decision) {
  if (decision.second_pass) return Progress::kNone;
  Progress progress =
      decision.to == queue::Destination::kInadmissible ? Progress::kSome : Progress::kNone;
  const Driver::Writes writes = driver_.WritesOf(decision);
  if (writes.front().kind == DecidedWrite::Kind::kReserve) {
    Open(decision);
    return Progress::kSome;
  }
  Note(decision);
  if (writes.front().kind == DecidedWrite::Kind::kPreempt &&
      OpenPreemptions(decision, writes) == Progress::kSome) {
    pace_.NotePreemption(PriorityOf(*decision.object));
    progress = Progress::kSome;
  }
  return progress;
}

void Shadow::Note(const Decision& decision) {
  if (auto note = DecisionNote::Of(decision, scheduler_)) {
    notes_[decision.object->meta.key()] = std::move(note);
  }
}

void Shadow::Open(const Decision& decision) {
  const api::ObjectKey key = decision.object->meta.key();
  notes_.erase(key);
  OpenAdmission& open = admissions_[key];
  open.ticket = next_ticket_++;
  open.uid = decision.object->meta.uid;
  open.rule = RuleBehind(decision);
  open.berth = {
      .at = clock_.Now(), .verdict = "reserved", .admission = AdmissionOf(decision, scheduler_)};
  After(options_.window, key, open.ticket, &Shadow::OnAdmissionExpired);
  // The incumbent's decision was here first.
  const auto held = held_.find(key);
  if (held == held_.end() || held->second.fact != Fact::kReserved) return;
  const WorkloadPtr object = std::move(held->second.object);
  held_.erase(held);
  CompareReserved(object);
}

// Applies the victims' future state to the scheduler, as the SchedulerLoop does.
Shadow::Progress Shadow::OpenPreemptions(const Decision& decision, const Driver::Writes& writes) {
  const api::ObjectKey key = decision.object->meta.key();
  const WallTime now = clock_.Now();
  OpenPreemption open{
      .ticket = next_ticket_++,
      .uid = decision.object->meta.uid,
      .rule = std::string(RuleBehind(decision)),
      .berth = {
          .at = now, .verdict = "preempting", .admission = AdmissionOf(decision, scheduler_)}};
  std::vector<WorkloadPtr> facts;  // preemptions of the incumbent that were here first
  for (const DecidedWrite& write : writes) {
    if (write.kind != DecidedWrite::Kind::kPreempt) continue;
    const api::ObjectKey victim_key = write.workload().meta.key();
    const auto current = workloads_.Get(victim_key);
    if (current == nullptr || preemptor_of_.contains(victim_key) ||
        !driver_.IsDue(write, *current)) {
      continue;  // its reservation is assumed: a later cycle decides again
    }
    if (const auto held = held_.find(victim_key);
        held != held_.end() && held->second.fact == Fact::kPreempted) {
      facts.push_back(std::move(held->second.object));
      held_.erase(held);
    }
    open.berth.preempted.push_back(victim_key.ToString());
    open.berth.reason = ToString(write.victim->reason);
    open.berth.message = write.message;
    open.victims[victim_key] = VictimState::kRuns;
    preemptor_of_[victim_key] = key;
    driver_.Assume(write, *current, now);
  }
  if (open.victims.empty()) return Progress::kNone;
  if (const auto before = preemptions_.find(key); before != preemptions_.end()) {
    // Further victims of the same preemptor.
    open.ticket = before->second.ticket;
    before->second.victims.merge(open.victims);
    auto& all = before->second.berth.preempted;
    all.insert(all.end(), open.berth.preempted.begin(), open.berth.preempted.end());
  } else {
    After(options_.window, key, open.ticket, &Shadow::OnPreemptionExpired);
    preemptions_[key] = std::move(open);
  }
  for (const WorkloadPtr& fact : facts) ComparePreempted(fact);
  return Progress::kSome;
}

void Shadow::OnAdmissionExpired(const api::ObjectKey& key, std::uint64_t ticket) {
  const auto found = admissions_.find(key);
  if (found == admissions_.end() || found->second.ticket != ticket) return;
  const OpenAdmission open = std::move(found->second);
  admissions_.erase(found);
  const auto object = workloads_.Get(key);
  if (object != nullptr) {
    const auto known = left_waiting_.find(key);
    const std::uint64_t number = known != left_waiting_.end()
                                     ? known->second.report
                                     : report_.Add({.subject = ShadowSubject::kAdmission,
                                                    .result = ShadowResult::kOnlyBerth,
                                                    .workload = key,
                                                    .uid = open.uid,
                                                    .rule = open.rule,
                                                    .berth = open.berth,
                                                    .incumbent = SideOf(*object)});
    PutAside(key, number, object->meta.generation);
  }
  Changed();
}

void Shadow::OnPreemptionExpired(const api::ObjectKey& key, std::uint64_t ticket) {
  const auto found = preemptions_.find(key);
  if (found == preemptions_.end() || found->second.ticket != ticket) return;
  const auto object = workloads_.Get(key);
  ShadowSide incumbent = object == nullptr ? ShadowSide{} : SideOf(*object);
  for (const auto& [victim, state] : found->second.victims) {
    if (state == VictimState::kPreempted) incumbent.preempted.push_back(victim.ToString());
  }
  incumbent.preempted.insert(incumbent.preempted.end(), found->second.others.begin(),
                             found->second.others.end());
  const ShadowResult result =
      incumbent.preempted.empty() ? ShadowResult::kOnlyBerth : ShadowResult::kDiffers;
  const std::uint64_t number = Close(key, result, std::move(incumbent));
  if (object != nullptr) PutAside(key, number, object->meta.generation);
  Changed();
}

// A workload that is aside is not in the scheduler.
void Shadow::PutAside(const api::ObjectKey& key, std::uint64_t report, std::int64_t generation) {
  LeftWaiting& left = left_waiting_[key];
  left.report = report;
  left.generation = generation;
  left.aside = true;
  left.ticket = next_ticket_++;
  const int doublings = std::min(left.times++, kMostTimesLonger);
  scheduler_.Forget<api::Workload>(key);
  After(options_.window * (1 << doublings), key, left.ticket, &Shadow::ComeBack);
}

void Shadow::ComeBack(const api::ObjectKey& key, std::uint64_t ticket) {
  const auto found = left_waiting_.find(key);
  if (found == left_waiting_.end() || found->second.ticket != ticket || !found->second.aside) {
    return;
  }
  found->second.aside = false;
  if (const auto object = workloads_.Get(key)) Adopt(object);
  Changed();
}

void Shadow::ShowOpen() { report_.SetOpen(admissions_.size() + preemptions_.size()); }

// What the incumbent does: its admissions and preemptions are compared, everything is adopted.

Shadow::Fact Shadow::FactOf(const api::Workload& before, const api::Workload& after) {
  if (before.meta.uid != after.meta.uid || api::IsTrue(after.status.conditions, api::kFinished)) {
    return Fact::kNone;
  }
  if (HasQuota(after) && !HasQuota(before)) return Fact::kReserved;
  const api::Condition* evicted = api::FindCondition(after.status.conditions, api::kEvicted);
  const bool preempted = evicted != nullptr && evicted->status == api::ConditionStatus::kTrue &&
                         evicted->reason == api::kPreempted;
  return preempted && HasQuota(before) && !IsEvicted(before) ? Fact::kPreempted : Fact::kNone;
}

void Shadow::OnUpdate(const WorkloadPtr& before, const WorkloadPtr& after) {
  const api::ObjectKey key = after->meta.key();
  const Fact fact = pace_.running() ? FactOf(*before, *after) : Fact::kNone;
  if (fact != Fact::kNone) return OnFact(fact, after);
  if (const auto held = held_.find(key); held != held_.end()) {
    const bool goes_on =
        held->second.fact == Fact::kReserved ? HasQuota(*after) : IsEvicted(*after);
    if (goes_on && !api::IsTrue(after->status.conditions, api::kFinished)) {
      held->second.object = after;
      return;
    }
    held_.erase(held);
    report_.AddOvertaken();
  }
  if (const auto left = left_waiting_.find(key); left != left_waiting_.end()) {
    // Another question than the one that was compared.
    if (!queue::BelongsInQueue(*after) || left->second.generation != after->meta.generation) {
      left_waiting_.erase(left);
    } else if (left->second.aside) {
      return;
    }
  }
  // The victim's future state stays assumed while the decision is open.
  const auto preemptor = preemptor_of_.find(key);
  if (preemptor != preemptor_of_.end() && HasQuota(*after) && !IsEvicted(*after) &&
      !api::IsTrue(after->status.conditions, api::kFinished)) {
    return;
  }
  OnEnded(after);
  Adopt(after);
  Changed();
}

// Closes what cannot be compared any more.
void Shadow::OnEnded(const WorkloadPtr& object) {
  const api::ObjectKey key = object->meta.key();
  if (admissions_.contains(key) && !queue::BelongsInQueue(*object)) {
    admissions_.erase(key);
    report_.AddOvertaken();
  }
  if (preemptions_.contains(key) && !queue::BelongsInQueue(*object)) {
    RestoreVictims(preemptions_[key]);
    preemptions_.erase(key);
    report_.AddOvertaken();
  }
  if (const auto preemptor = preemptor_of_.find(key); preemptor != preemptor_of_.end()) {
    const api::ObjectKey by = preemptor->second;
    VictimState& state = preemptions_[by].victims[key];
    if (state == VictimState::kRuns) state = VictimState::kEnded;
    CloseIfComplete(by);
  }
  ShowOpen();
}

void Shadow::OnDelete(const api::Workload& object) {
  const api::ObjectKey key = object.meta.key();
  if (held_.erase(key) > 0) report_.AddOvertaken();
  auto ended = std::make_shared<api::Workload>(object);
  ended->spec.active = false;  // it belongs in no queue
  OnEnded(ended);
  left_waiting_.erase(key);
  notes_.erase(key);
  scheduler_.Forget<api::Workload>(key);
  Changed();
}

void Shadow::Adopt(const WorkloadPtr& object) {
  if (!queue::BelongsInQueue(*object)) notes_.erase(object->meta.key());
  scheduler_.ApplyWorkload(object, clock_.Now());
}

void Shadow::OnFact(Fact fact, const WorkloadPtr& object) {
  held_.erase(object->meta.key());
  if (!Compare(fact, object)) {
    // The incumbent did not wait for company with its parked workloads.
    if (scheduler_.HasWakeUps()) scheduler_.RunWakeUps(clock_.Now());
    RunCyclesNow();
    if (!Compare(fact, object)) Hold(fact, object);
  }
  Changed();
}

bool Shadow::Compare(Fact fact, const WorkloadPtr& object) {
  return fact == Fact::kReserved ? CompareReserved(object) : ComparePreempted(object);
}

void Shadow::Hold(Fact fact, const WorkloadPtr& object) {
  const std::uint64_t ticket = next_ticket_++;
  held_[object->meta.key()] = {
      .ticket = ticket, .fact = fact, .object = object, .judged = !IsFull()};
  After(options_.settle, object->meta.key(), ticket, &Shadow::OnSettled);
}

// Berth has not decided the same: the incumbent alone acts.
void Shadow::OnSettled(const api::ObjectKey& key, std::uint64_t ticket) {
  const auto found = held_.find(key);
  if (found == held_.end() || found->second.ticket != ticket) return;
  const HeldFact held = std::move(found->second);
  held_.erase(found);
  if (!held.judged) {
    report_.AddUnjudged();
    Adopt(held.object);
    return Changed();
  }
  const bool reserved = held.fact == Fact::kReserved;
  const api::ObjectKey about = reserved ? key : PreemptorOf(*held.object);
  ShadowComparison comparison{
      .subject = reserved ? ShadowSubject::kAdmission : ShadowSubject::kPreemption,
      .result = ShadowResult::kOnlyIncumbent,
      .workload = about,
      .uid = reserved ? held.object->meta.uid : std::string(PreemptorUidOf(*held.object)),
      .berth = WaitingSide(about),
      .incumbent = SideOf(*held.object)};
  report_.Add(std::move(comparison));
  Adopt(held.object);
  Changed();
}

bool Shadow::CompareReserved(const WorkloadPtr& object) {
  const api::ObjectKey key = object->meta.key();
  ShadowSide incumbent = SideOf(*object);
  const auto left = left_waiting_.find(key);
  if (left != left_waiting_.end()) {
    report_.Follow(left->second.report, std::move(incumbent));
    left_waiting_.erase(left);
    admissions_.erase(key);
    if (const auto open = preemptions_.find(key); open != preemptions_.end()) {
      RestoreVictims(open->second);
      preemptions_.erase(open);
    }
  } else if (const auto open = admissions_.find(key); open != admissions_.end()) {
    const bool same = SameShares(*open->second.berth.admission, *object->status.admission);
    report_.Add({.subject = ShadowSubject::kAdmission,
                 .result = same ? ShadowResult::kSame : ShadowResult::kDiffers,
                 .workload = key,
                 .uid = open->second.uid,
                 .rule = open->second.rule,
                 .berth = std::move(open->second.berth),
                 .incumbent = std::move(incumbent)});
    admissions_.erase(open);
  } else if (preemptions_.contains(key)) {
    Close(key, ShadowResult::kDiffers, std::move(incumbent));
  } else {
    return false;
  }
  Adopt(object);
  ShowOpen();
  return true;
}

bool Shadow::ComparePreempted(const WorkloadPtr& object) {
  const api::ObjectKey key = object->meta.key();
  const api::ObjectKey preemptor = PreemptorOf(*object);
  if (const auto found = preemptor_of_.find(key); found != preemptor_of_.end()) {
    const api::ObjectKey berths = found->second;
    OpenPreemption& open = preemptions_[berths];
    open.victims[key] = VictimState::kPreempted;
    const std::string_view uid = PreemptorUidOf(*object);
    if (!uid.empty() && uid != open.uid) {
      open.for_another = preemptor.ToString();
      NotePreemptedFor(preemptor, object);
    }
    Adopt(object);
    CloseIfComplete(berths);
    return true;
  }
  if (!preemptions_.contains(preemptor) && !left_waiting_.contains(preemptor)) return false;
  NotePreemptedFor(preemptor, object);
  Adopt(object);
  return true;
}

// The incumbent preempted a workload that Berth would not have preempted for this preemptor.
void Shadow::NotePreemptedFor(const api::ObjectKey& preemptor, const WorkloadPtr& victim) {
  if (const auto open = preemptions_.find(preemptor); open != preemptions_.end()) {
    open->second.others.push_back(victim->meta.key().ToString());
  } else if (const auto left = left_waiting_.find(preemptor); left != left_waiting_.end()) {
    report_.Follow(left->second.report, SideOf(*victim));
    // The preemptor competes for what its victim releases.
    left->second.aside = false;
    if (const auto waiting = workloads_.Get(preemptor)) Adopt(waiting);
  }
}

// A preemption with other victims stays open: Berth's victims may follow.
void Shadow::CloseIfComplete(const api::ObjectKey& preemptor) {
  const auto found = preemptions_.find(preemptor);
  if (found == preemptions_.end()) return;
  const OpenPreemption& open = found->second;
  const auto in = [&open](VictimState wanted) {
    return std::count_if(open.victims.begin(), open.victims.end(),
                         [wanted](const auto& victim) { return victim.second == wanted; });
  };
  if (in(VictimState::kRuns) > 0) return;
  if (in(VictimState::kPreempted) == 0) {
    RestoreVictims(open);
    preemptions_.erase(found);
    report_.AddOvertaken();
    return ShowOpen();
  }
  ShadowSide incumbent{.at = clock_.Now(), .verdict = "preempting", .preempted = open.others};
  for (const auto& [victim, state] : open.victims) {
    if (state == VictimState::kPreempted) incumbent.preempted.push_back(victim.ToString());
  }
  if (!open.for_another.empty()) incumbent.message = "preempted for " + open.for_another;
  const bool same = open.others.empty() && open.for_another.empty();
  Close(preemptor, same ? ShadowResult::kSame : ShadowResult::kDiffers, std::move(incumbent));
}

std::uint64_t Shadow::Close(const api::ObjectKey& preemptor, ShadowResult result,
                            ShadowSide incumbent) {
  const auto found = preemptions_.find(preemptor);
  const OpenPreemption open = std::move(found->second);
  preemptions_.erase(found);
  RestoreVictims(open);
  ShowOpen();
  // A repeated decision.
  if (const auto known = left_waiting_.find(preemptor); known != left_waiting_.end()) {
    const std::uint64_t number = known->second.report;
    if (incumbent.at) report_.Follow(number, std::move(incumbent));
    return number;
  }
  return report_.Add({.subject = ShadowSubject::kPreemption,
                      .result = result,
                      .workload = preemptor,
                      .uid = open.uid,
                      .rule = open.rule,
                      .berth = open.berth,
                      .incumbent = std::move(incumbent)});
}

// The victims that the incumbent lets run go on running.
void Shadow::RestoreVictims(const OpenPreemption& open) {
  for (const auto& [victim, state] : open.victims) {
    preemptor_of_.erase(victim);
    if (state != VictimState::kRuns) continue;
    if (const auto object = workloads_.Get(victim)) Adopt(object);
  }
}

ShadowSide Shadow::SideOf(const api::Workload& object) const {
  if (HasQuota(object) && IsEvicted(object) && !PreemptorUidOf(object).empty()) {
    const api::Condition* preempted = api::FindCondition(object.status.conditions, api::kPreempted);
    return {.at = clock_.Now(),
            .verdict = "preempting",
            .preempted = {object.meta.key().ToString()},
            .reason = preempted->reason,
            .message = preempted->message};
  }
  if (HasQuota(object)) {
    return {.at = clock_.Now(), .verdict = "reserved", .admission = object.status.admission};
  }
  ShadowSide side{.verdict = "waiting"};
  const api::Condition* waits = api::FindCondition(object.status.conditions, api::kQuotaReserved);
  if (waits != nullptr) {
    side.reason = waits->reason;
    side.message = waits->message;
  }
  return side;
}

ShadowSide Shadow::WaitingSide(const api::ObjectKey& key) const {
  ShadowSide side{.verdict = "waiting"};
  if (const auto note = notes_.find(key); note != notes_.end()) {
    side.reason = note->second->reason();
    side.message = note->second->message();
  } else {
    side.message = "other workloads come first in its ClusterQueue, or Berth does not queue it";
  }
  return side;
}

// The preemptor is found by its UID; the victim itself where the preemptor is unknown.
api::ObjectKey Shadow::PreemptorOf(const api::Workload& victim) const {
  const std::string_view uid = PreemptorUidOf(victim);
  if (uid.empty()) return victim.meta.key();
  const auto preemptors = workloads_.ByIndex(kShadowByUid, std::string(uid));
  return preemptors.empty() ? victim.meta.key() : preemptors.front()->meta.key();
}

}  // namespace berth::admission
