#include "tests/bench/cluster/job_player.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/condition.h"
#include "integrations/release.h"

namespace berth::bench {
namespace {

constexpr std::chrono::milliseconds kRetryDelay{100};
constexpr std::chrono::milliseconds kShortestGap{500};

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

WallTime TransitionOf(const api::Workload& workload, const char* type) {
  const api::Condition* condition = api::FindCondition(workload.status.conditions, type);
  return condition == nullptr ? WallTime{} : condition->last_transition_time;
}

bool Is(const api::Workload& workload, const char* type) {
  return api::IsTrue(workload.status.conditions, type);
}

}  // namespace

std::string EvictionReasonOf(const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  const api::Condition* evicted = api::FindCondition(conditions, "Evicted");
  const api::Condition* preempted = api::FindCondition(conditions, "Preempted");
  if (evicted->reason != "Preempted" || preempted == nullptr) return evicted->reason;
  return preempted->reason;
}

JobPlayer::JobPlayer(kube::Manager& manager, const Clock& clock,
                     std::map<std::string, Duration> run_times)
    : manager_(manager),
      clock_(clock),
      run_times_(std::move(run_times)),
      workloads_(manager.InformerFor<api::Workload>()),
      writer_(manager.client(), workloads_) {
  workloads_.AddHandler(
      {.on_add = [this](const auto& workload) { OnWorkload(*workload); },
       .on_update = [this](const auto&, const auto& workload) { OnWorkload(*workload); },
       .on_delete = {}});
}

void JobPlayer::OnWorkload(const api::Workload& workload) {
  const api::ObjectKey key = workload.meta.key();
  Played& played = played_[key];
  Count(workload, played);
  if (played.finished || played.writing) return;
  if (Is(workload, "Evicted")) {
    played.admitted_at = {};
    if (Is(workload, "QuotaReserved")) Release(key);
    return;
  }
  if (!Is(workload, "Admitted")) return;
  const WallTime admitted_at = TransitionOf(workload, "Admitted");
  const WallTime before = std::exchange(played.admitted_at, admitted_at);
  if (before == admitted_at) return;
  NoteAdmission(before != WallTime{});
  FinishAfter(key, run_times_.at(workload.meta.labels.at(kClassLabel)), admitted_at);
}

void JobPlayer::NoteAdmission(bool again) {
  ++admissions_;
  if (again) ++admitted_twice_;
  const WallTime now = clock_.Now();
  const WallTime last = std::exchange(last_admission_, now);
  if (last == WallTime{} || now - last < kShortestGap) return;
  gaps_.push_back({Seconds(last.time_since_epoch()), Seconds(now - last)});
}

std::vector<AdmissionGap> JobPlayer::LongestGaps() const {
  std::vector<AdmissionGap> gaps = gaps_;
  std::sort(gaps.begin(), gaps.end(),
            [](const AdmissionGap& a, const AdmissionGap& b) { return a.seconds > b.seconds; });
  return gaps;
}

void JobPlayer::Count(const api::Workload& workload, Played& played) {
  ClassResult& result = results_[workload.meta.labels.at(kClassLabel)];
  if (Is(workload, "Finished") && !std::exchange(played.finished, true)) {
    ++finished_;
    ++result.finished;
    result.admission_seconds.push_back(
        Seconds(TransitionOf(workload, "Admitted") - workload.meta.creation_timestamp));
  }
  if (!Is(workload, "Evicted")) return;
  const WallTime evicted_at = TransitionOf(workload, "Evicted");
  if (std::exchange(played.evicted_at, evicted_at) == evicted_at) return;
  ++result.evictions;
  ++result.evictions_by_reason[EvictionReasonOf(workload)];
  result.most_evictions = std::max(result.most_evictions, ++played.evictions);
  result.held_seconds.push_back(Seconds(evicted_at - TransitionOf(workload, "QuotaReserved")));
}

void JobPlayer::Release(const api::ObjectKey& key) {
  const auto workload = workloads_.Get(key);
  if (workload == nullptr) return;
  played_[key].writing = true;
  played_[key].admitted_at = {};
  writer_.ApplyStatus(*workload, integrations::StatusAfterRelease(*workload, clock_.Now()),
                      [this, key](const Status& written) { AfterWrite(key, written); });
}

void JobPlayer::FinishAfter(const api::ObjectKey& key, Duration delay, WallTime admitted_at) {
  manager_.client().executor().PostAfter(delay,
                                         [this, key, admitted_at] { Finish(key, admitted_at); });
}

void JobPlayer::Finish(const api::ObjectKey& key, WallTime admitted_at) {
  Played& played = played_[key];
  if (played.admitted_at != admitted_at || played.finished) return;  // evicted meanwhile
  if (played.writing) return FinishAfter(key, kRetryDelay, admitted_at);
  const auto workload = workloads_.Get(key);
  if (workload == nullptr) return;
  played.writing = true;
  api::Condition finished;
  finished.type = "Finished";
  finished.status = api::ConditionStatus::kTrue;
  finished.reason = "ByTest";
  finished.message = "Finished by the test runner";
  finished.last_transition_time = clock_.Now();
  writer_.Finish(*workload, finished, [this, key, admitted_at](const Status& written) {
    if (!written) FinishAfter(key, kRetryDelay, admitted_at);
    AfterWrite(key, written);
  });
}

void JobPlayer::AfterWrite(const api::ObjectKey& key, const Status& written) {
  played_[key].writing = false;
  const auto workload = workloads_.Get(key);
  if (workload == nullptr) return;
  if (written) return OnWorkload(*workload);
  manager_.client().executor().PostAfter(kRetryDelay, [this, key] {
    if (const auto again = workloads_.Get(key); again != nullptr) OnWorkload(*again);
  });
}

}  // namespace berth::bench
