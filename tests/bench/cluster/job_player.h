// tests/bench/cluster/job_player.h — plays the jobs of the load test: Workloads that finish after
// their run time, and give their quota back when they are evicted.
//
// Kueue's own runner (test/performance/scheduler) does the same to the manager under test.
//
// Threads: the strand of the manager.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "admission/controller/workloads/workload_writer.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"

namespace berth::bench {

inline constexpr char kClassLabel[] = "berth.dev/bench-class";

// The reason of the preemption of an evicted Workload, or of another eviction.
std::string EvictionReasonOf(const api::Workload& workload);

// What a class of Workloads went through.
struct ClassResult {
  std::size_t finished = 0;
  std::size_t evictions = 0;
  std::size_t most_evictions = 0;                          // the most of one Workload
  std::map<std::string, std::size_t> evictions_by_reason;  // reason of the preemption
  std::vector<double> admission_seconds;  // creation to the last Admitted; whole seconds
  std::vector<double> held_seconds;       // times of evicted Workloads from Admitted to Evicted
};

// A time in which no admission came. Unix time, so that other programs can compare their times.
struct AdmissionGap {
  double begin_unix_s = 0;
  double seconds = 0;
};

class JobPlayer {
 public:
  // `run_time`: class of a Workload to the time that the Workload runs.
  JobPlayer(kube::Manager& manager, const Clock& clock, std::map<std::string, Duration> run_times);

  std::size_t finished() const { return finished_; }
  const std::map<std::string, ClassResult>& results() const { return results_; }
  std::size_t admissions() const { return admissions_; }
  // Admissions of Workloads that were admitted already and had not been evicted since.
  std::size_t admitted_twice() const { return admitted_twice_; }
  // The times of half a second and more without an admission, longest first.
  std::vector<AdmissionGap> LongestGaps() const;

 private:
  struct Played {
    WallTime admitted_at{};  // when the admission that is played came; zero: none
    WallTime evicted_at{};   // when the eviction that was counted came; zero: none
    std::size_t evictions = 0;
    bool writing = false;
    bool finished = false;
  };

  void OnWorkload(const api::Workload& workload);
  void NoteAdmission(bool again);
  void Count(const api::Workload& workload, Played& played);
  void Release(const api::ObjectKey& key);
  void FinishAfter(const api::ObjectKey& key, Duration delay, WallTime admitted_at);
  void Finish(const api::ObjectKey& key, WallTime admitted_at);
  void AfterWrite(const api::ObjectKey& key, const Status& written);

  kube::Manager& manager_;
  const Clock& clock_;
  std::map<std::string, Duration> run_times_;
  kube::Informer<api::Workload>& workloads_;
  admission::WorkloadWriter writer_;
  std::map<api::ObjectKey, Played> played_;
  std::map<std::string, ClassResult> results_;
  std::size_t finished_ = 0;
  std::size_t admissions_ = 0;
  std::size_t admitted_twice_ = 0;
  WallTime last_admission_{};       // by this program's clock; zero: none
  std::vector<AdmissionGap> gaps_;  // those of kShortestGap and more
};

}  // namespace berth::bench
