// simulation/job_book.h — the lives of simulated jobs: when each was submitted, started and ended,
// what it lost, and which jobs wait for it. World (the scheduler alone) and scenarios/played_jobs.h
// (all of Berth) keep one.
//
//     Submit ──▶ Start ──▶ Finish ──▶ Free: followers that wait for no other job
//                 ▲  │
//                 └──┴ Lose (preempted, or lost with a node)
//
// Units: times are microseconds from the beginning of the simulation; the start of a job that ran
// already is negative. Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/workload.h"
#include "base/clock.h"
#include "simulation/jobs.h"
#include "simulation/nodes.h"

namespace berth::simulation {

struct WorldEvent {
  // kLost: the run ended early, with a node that the cloud took back, or as scenarios/played_jobs.h
  // sees it.
  enum class Kind : std::uint8_t { kSubmitted, kStarted, kPreempted, kFinished, kLost };
  Kind kind = Kind::kSubmitted;
  Duration at{};
  std::size_t job = 0;                        // index in the jobs
  const api::Admission* admission = nullptr;  // set for kStarted only; otherwise null
  const Nodes::Placement* nodes = nullptr;    // set for kStarted with node pools; otherwise null
  std::optional<std::size_t> preemptor;       // kPreempted: the job that it stops for, where known
};

// The life of one job.
struct JobOutcome {
  std::optional<Duration> submitted;  // nullopt: a job that it waits for never finished
  std::optional<Duration> started;    // first start
  std::optional<Duration> finished;   // nullopt: it never finished
  Duration lost{};                    // run time that preemptions and evictions destroyed
  std::int32_t preemptions = 0;
  std::int32_t evictions = 0;  // the cloud took a node of the job back (WorldEvent::Kind::kLost)
  // When the place begins that its queue keeps for it as the world begins; nullopt: none is kept.
  std::optional<Duration> place;
  std::string why;  // a job that never finished: the scheduler's reason at the end
};

class JobBook {
 public:
  using Listener = std::function<void(const WorldEvent&)>;  // null: not called

  JobBook(const std::vector<Job>& jobs, Listener on_event);

  // How many jobs, from the first one on, come before the first that waits for others.
  std::size_t independent_count() const { return independent_count_; }
  // Whether the job waits for one that has not ended.
  bool IsBound(std::size_t job) const { return !awaits_.empty() && awaits_[job] > 0; }
  bool HasFollowers(std::size_t job) const {
    return !followers_.empty() && !followers_[job].empty();
  }
  // The job has ended, or has given its result: returns the followers that wait for no other job
  // now. The second call for a job returns none.
  std::vector<std::size_t> Free(std::size_t job);

  void Submit(std::size_t job, Duration at);
  // The job has quota when the simulation begins: no event.
  void TakeOver(std::size_t job, Duration at) { outcomes_[job].submitted = at; }
  // The run begins, or began at `since`. `admission` and `nodes`: see WorldEvent.
  void Start(std::size_t job, Duration since, Duration at, const api::Admission* admission,
             const Nodes::Placement* nodes);
  // A run of `ran` ends before its time, or a job that does not run yet gives up its quota and
  // nodes. `kind`: kPreempted or kLost. `preemptor`: see WorldEvent.
  void Lose(std::size_t job, WorldEvent::Kind kind, Duration ran, Duration at,
            std::optional<std::size_t> preemptor = std::nullopt);
  void Finish(std::size_t job, Duration at);

  const JobOutcome& outcome(std::size_t job) const { return outcomes_[job]; }
  std::string& why(std::size_t job) { return outcomes_[job].why; }
  void NotePlace(std::size_t job, Duration from) { outcomes_[job].place = from; }
  Duration end() const { return end_; }  // when the last event was
  std::vector<JobOutcome> TakeOutcomes() { return std::move(outcomes_); }

 private:
  void Tell(const WorldEvent& event);

  Listener on_event_;
  std::vector<JobOutcome> outcomes_;
  Duration end_{};
  std::size_t independent_count_ = 0;
  // By job: how many jobs it waits for, and the jobs that wait for it. Empty: no job waits for
  // others.
  std::vector<std::int32_t> awaits_;
  std::vector<std::vector<std::size_t>> followers_;
};

}  // namespace berth::simulation
