#include "admission/controller/shadow.h"

#include <algorithm>
#include <utility>

#include "admission/controller/decision_note.h"
#include "admission/controller/scheduler_feed.h"
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

// The rule of docs/reference/differences.md that the decision names; empty: none.
std::string RuleBehind(const Decision& decision) {
  if (decision.keeps_plan || decision.remark == Remark::kHeldForPreemptor) {
    return "preemptor-keeps-what-it-freed";
  }
  if (decision.remark == Remark::kOwnersComeFirst) return "owners-before-returning-borrowers";
  const bool in_return = std::any_of(decision.spared.begin(), decision.spared.end(),
                                     [](const SparedCandidate& spared) {
                                       return spared.cause == SparedCandidate::Cause::kPreemptedIt;
                                     });
  return in_return ? "no-preemption-in-return" : "";
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
                                 pace_.NoteArrival(object->spec.priority.value_or(0));
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

CyclePace::Work Shadow::PacedWork() {
  return {// The end of a comparison kicks again.
          .may_run = [this] { return scheduler_.HasHeads() && !IsFull(); },
          .has_heads = [this] { return scheduler_.HasHeads(); },
          .run_cycle = [this] { return Cycle(); },
          .has_wake_ups = [this] { return scheduler_.HasWakeUps(); },
          .run_wake_ups = [this] { scheduler_.RunWakeUps(clock_.Now()); }};
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
    const api::Workload* workload = scheduler_.workload(parked.workload);
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
    pace_.NotePreemption();
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
      .rule = RuleBehind(decision),
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
    auto evicted = std::make_shared<api::Workload>(*current);
    driver_.Change(write, *current, evicted->status, now);
    open.victims[victim_key] = VictimState::kRuns;
    preemptor_of_[victim_key] = key;
    scheduler_.ApplyWorkload(evicted, now);
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
  scheduler_.ForgetWorkload(key);
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

}  // namespace berth::admission
