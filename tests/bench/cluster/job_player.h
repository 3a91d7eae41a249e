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

class JobPlayer {
 public:
  // `run_time`: class of a Workload to the time that the Workload runs.
  JobPlayer(kube::Manager& manager, const Clock& clock, std::map<std::string, Duration> run_times);

  std::size_t finished() const { return finished_; }
  const std::map<std::string, ClassResult>& results() const { return results_; }

 private:
  struct Played {
    WallTime admitted_at{};  // when the admission that is played came; zero: none
    WallTime evicted_at{};   // when the eviction that was counted came; zero: none
    std::size_t evictions = 0;
    bool writing = false;
    bool finished = false;
  };

  void OnWorkload(const api::Workload& workload);
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
};

}  // namespace berth::bench
