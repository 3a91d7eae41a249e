// simulation/world.h — jobs in virtual time on the Scheduler that production runs.
//
//     jobs ──submit──▶ Scheduler ──admitted──▶ run ──▶ finished
//                          ▲                    │
//                          └──────preempted─────┘   the run starts anew
//
// An admitted job runs at once, or with node pools once all its pods are on ready nodes, and ends
// after its run time. An admitted job that finds no room on nodes keeps its quota and waits; the
// next one may go before it. A job with pods on a node that the cloud takes back keeps its quota,
// loses what it ran, and begins anew on other nodes; kMostLostRuns losses end the job. A preempted
// job stops at once, loses what it ran, and waits again. Cycles take no time; they run while one of
// them changes anything, and again at the next event. Parked workloads are woken `wake_up_batch`
// after a change, as by the controller (SchedulerLoop). Admission depends on quota and, if the
// cluster has any, on its topologies and nodes; there are no admission checks. Nodes of topologies
// stay as they are. The pods of a job are ready when they run: blockAdmission has no effect.
//
// A job that has a Workload of its own goes on from the state of that Workload: one that is
// admitted runs for what is left of its run, one that has reserved quota starts after its wait for
// capacity, one that is evicted waits again. Such jobs need no node pools.
//
// A job that waits for others is submitted when the last of these has finished, or has given its
// result while it keeps its quota, and its own time has passed since.
//
// A job that fails ends as others do: it gives its quota back, and does not run again.
//
// Equal input gives equal results on any machine. The cost grows with the events and with the heads
// that the scheduler decides; a finished job is forgotten.
//
// Units: times of results are microseconds from the first submission, or from `start` where the
// options have one; the start of a Workload that ran already is negative.
// Threads: one. Errors: none; simulation/jobs.h checks the jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admission/driver.h"
#include "admission/policies/queue_past.h"
#include "base/clock.h"
#include "simulation/agenda.h"
#include "simulation/cluster_objects.h"
#include "simulation/control_plane.h"
#include "simulation/evictable_jobs.h"
#include "simulation/job_book.h"
#include "simulation/jobs.h"
#include "simulation/nodes.h"

namespace berth::simulation {

struct WorldOptions {
  admission::DriverOptions driver;
  std::vector<NodePool> pools;  // empty: admitted jobs need no nodes
  PodPlacement placement = PodPlacement::kPack;
  // The instant of the jobs' time 0; nullopt: the first is submitted on 2026-01-01.
  std::optional<WallTime> start;
  // The run ends when all of these jobs have started, or finished; both empty: when all jobs have
  // finished. At most one of them has jobs.
  std::vector<std::size_t> until_started;
  std::vector<std::size_t> until_finished;
  std::function<void(const WorldEvent&)> on_event;  // null: not called
  // What is known of earlier workloads (World::PastOf); null: nothing.
  std::shared_ptr<const admission::QueuePast> past;
};

// A job that loses so many runs with its nodes ends, and has failed.
inline constexpr std::int32_t kMostLostRuns = 100;

struct WorldResult {
  std::vector<JobOutcome> outcomes;  // by index of the job
  Duration end{};                    // the last event
  std::int64_t cycles = 0;
  std::int64_t decisions = 0;
  std::vector<PoolUse> pools;
  std::vector<NodeLife> nodes;  // in the order of their ends
  // Jobs preempted one another so often that the run was stopped; jobs may be unfinished.
  bool stopped_early = false;
};

class World {
 public:
  // `cluster` has been prepared (simulation/cluster_objects.h); both must outlive the World.
  World(const Cluster& cluster, const std::vector<Job>& jobs, const WorldOptions& options);

  // What the last kMostOfPast finished ones of `workloads` tell the policies of the queues, for
  // worlds of the same cluster and options; null: no queue has a policy.
  static constexpr std::size_t kMostOfPast = 10'000;
  static std::shared_ptr<const admission::QueuePast> PastOf(
      const Cluster& cluster, const std::vector<std::shared_ptr<const api::Workload>>& workloads,
      const WorldOptions& options);

  // Runs until every job has finished, or none of the rest can be admitted. Call once.
  WorldResult Run();

 private:
  struct Standing {
    bool admitted = false;
    std::int64_t admission = 0;                 // the number of the admission
    std::optional<Nodes::Placement> placement;  // nullopt: no nodes yet, or no pools
    std::optional<WallTime> ready;  // when its nodes are ready; nullopt: none yet, or it runs
    std::optional<WallTime> since;  // nullopt: its pods do not run
    WallTime end{};                 // the end of the run, where `since` is set
  };

  Duration SinceStart(WallTime time) const;
  std::optional<WallTime> NextEvent() const;
  WallTime TimeOf(const Job& job) const;  // when it is submitted
  void FreeFollowers(std::size_t job);
  void DropResult(std::size_t job);  // drops the result of a run that is stopped
  void Submit(std::size_t job);
  std::shared_ptr<api::Workload> MakeObject(std::size_t job) const;
  void GoOn(std::size_t job);
  void Finish(std::size_t job);
  void Stop(std::size_t job, const admission::DecidedWrite& write);
  void Admit(std::size_t job, const admission::DecidedWrite& write);
  // Places the pods of an admitted job; returns whether they have nodes.
  bool PlacePods(std::size_t job);
  void PlaceWaitingPods();
  void StartAt(std::size_t job, WallTime ready);
  void Start(std::size_t job);
  void NoteStart(std::size_t job, WallTime since, Duration run);
  void NoLongerAwait(std::size_t job);
  void TakeDue();
  void LeaveNodes(std::size_t job);
  // Returns how long the job has run.
  Duration EndRun(std::size_t job);
  void LoseNode(NodeId node);
  void LoseRun(std::size_t job);
  void RunCycles();
  // The result of a cycle. kChanged: it admitted, preempted or parked. kScans: it only went on with
  // scans over flavors. kNone: the next cycle would decide the same.
  enum class Progress : std::uint8_t { kChanged, kScans, kNone };
  Progress RunCycle();
  Progress Perform(const admission::Decision& decision);
  void NoteReasons(const admission::CycleResult& result);
  void NotePlaces();
  // Tries every waiting job once more, each as if it were new, and records the reasons. Returns
  // whether some job started.
  bool TryAgain();
  void ExplainRest();
  WorldResult TakeResult();
  std::string WhyWaiting(std::size_t job) const;

  ControlPlane plane_;
  admission::Scheduler& scheduler_;  // the scheduler of plane_
  Workloads& workloads_;  // the Workloads of plane_, by job; null: not submitted yet, or finished
  const Cluster& cluster_;
  const std::vector<Job>& jobs_;
  WorldOptions options_;
  WallTime start_;
  WallTime now_;
  std::optional<WallTime> wake_up_;  // nullopt: none is requested
  std::size_t submitted_ = 0;        // the number of first jobs that are submitted
  Agenda<WallTime> following_;       // submissions that are certain
  Agenda<WallTime> results_;         // instants at which running jobs give their result
  std::int64_t admissions_ = 0;
  std::int64_t preemptions_ = 0;
  std::set<std::size_t> waiting_;
  Agenda<WallTime> ends_;
  Agenda<WallTime> starts_;  // when the nodes of a job are ready
  std::set<std::pair<std::int64_t, std::size_t>> without_nodes_;  // by number of the admission
  std::vector<Standing> standing_;
  // By job: in options.until_started and not started, or in options.until_finished and not ended.
  std::vector<char> awaited_;
  std::size_t awaited_count_ = 0;
  std::optional<Nodes> nodes_;  // nullopt: no pools
  EvictableJobs evictable_;
  JobBook book_;
  WorldResult result_;
  bool nodes_freed_ = false;  // since the last PlaceWaitingPods
  bool notes_reasons_ = false;
};

}  // namespace berth::simulation
