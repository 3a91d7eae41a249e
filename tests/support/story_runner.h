// tests/support/story_runner.h — plays a story (tests/support/story.h) in a ControlPlane: after the
// events of each instant it runs cycles, stops victims and wakes parked workloads until a fixed
// point, and calls the property's hooks in between.
//
// An instant is a sequence of events without time between them. Events name workloads of earlier
// instants only, and of two events on one object the second is dropped, so that the events of an
// instant may come in any order; the same order of the same story gives the same run.
//
// Threads: one. Errors: none; exceptions of a hook (RC_ASSERT) pass through.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulation/control_plane.h"
#include "tests/support/story.h"

namespace berth::support {

using simulation::ControlPlane;

struct StoryHooks {
  std::function<void(const ControlPlane&)> before_cycle;
  // Called before the decisions are performed: the objects are the input of the cycle.
  std::function<void(const ControlPlane&, const admission::CycleResult&)> decided;
  std::function<void(const ControlPlane&)> at_rest;  // after each instant
};

class StoryRun {
 public:
  using Heads = ControlPlane::Heads;

  // `shuffle`: seed of another order of objects, and of the events of each instant.
  StoryRun(const Story& story, StoryHooks hooks, std::optional<std::uint64_t> shuffle = {});
  // `config` instead of the story's own.
  StoryRun(const Story& story, StoryHooks hooks, const admission::SchedulerConfig& config);

  // The heads that cycles take; all of them after a change of a queue or a cohort, and after a
  // second, as the controller does. Call first.
  void Take(Heads heads) { heads_ = heads; }
  // Plays all instants. False: one does not reach a fixed point within kMaxCycles.
  bool Play();
  // Finishes running workloads, settles, and repeats until none runs. False as above.
  bool FinishAll();

  ControlPlane& world() { return world_; }
  const ControlPlane& world() const { return world_; }

  struct Tally {
    std::int64_t cycles = 0;
    std::int64_t decisions = 0;
    std::int64_t admissions = 0;
    std::int64_t preemptions = 0;  // preempted workloads
  };
  const Tally& tally() const { return tally_; }

  static constexpr int kMaxCycles = 400;

 private:
  struct Named {
    Event event;
    std::string object;  // the object that the event changes
    int workload = 0;    // number of the submitted or changed workload
  };
  void MakeObjects(const Story& story, std::optional<std::uint64_t> shuffle);
  std::vector<std::vector<Named>> Instants() const;
  void PassSeconds(int seconds);
  void Do(const Named& named);
  void EditQuota(const Event& event);
  void EditCohort(const Event& event);
  void StopLocalQueue(const Event& event);
  bool Settle();
  bool RunCycle();    // true: progress
  bool ReleaseDue();  // likewise
  int IdleLimit() const;

  Story story_;  // contains the edits applied so far
  StoryHooks hooks_;
  std::optional<std::uint64_t> shuffle_;
  ControlPlane world_;
  std::map<api::ObjectKey, int> due_;  // evicted: cycles until they stop
  Tally tally_;
  Heads heads_ = Heads::kAll;
  bool all_heads_are_due_ = true;
};

// The decisions, without numbers that depend on the order of arrival: one line per head, in
// processing order.
std::vector<std::string> Describe(const ControlPlane& world, const admission::CycleResult& result);

}  // namespace berth::support
