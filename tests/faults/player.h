// tests/faults/player.h — played controllers: each runs the queued objects of one kind
// in a story, as the kind's own controller does, and knows the rules of these objects.
//
//     Episode ──▶ Players ──▶ PodPlay, JobSetPlay, DaskPlay: one for each framework of the story
//                             PolicyPlay, PolicyEnds: play nothing, and have the rules
//                             of policies
//
// A rule about a state that may exist for a moment is a finding; it breaks the story when it lasts.
//
// Threads: one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/world/sim_world.h"
#include "tests/faults/invariants.h"
#include "tests/faults/story.h"

namespace berth::sim {

// Whether a Workload could get quota if no other Workload had any.
using CouldRun = std::function<bool(const WorkloadFacts&)>;
using Findings = std::map<std::pair<std::string, std::string>, std::string>;  // (rule, object)

class Player {
 public:
  Player() = default;
  virtual ~Player() = default;
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Registers kinds and reviews before the story.
  virtual void Begin() = 0;
  virtual void See(const local::StoreEvent& event, bool by_story) = 0;
  virtual void Find(Findings& findings) const = 0;
  // Whether no further progress is expected.
  virtual bool IsOver(const CouldRun& could_run) const = 0;
  // At rest: nothing may be under way.
  virtual void CheckRest(const CouldRun& could_run) = 0;
  virtual bool Owns(const WorkloadFacts& workload) const = 0;
  // Whether the pod may exist at rest.
  virtual bool Keeps(const Key& pod) const = 0;
  // Adds lines that delete the owner of the Workload, which never fits.
  virtual void Drop(const WorkloadFacts& workload, std::vector<std::string>& lines) = 0;
  // Lines that delete all objects; the controller makes none from now on.
  virtual std::vector<std::string> End() = 0;
  virtual void ExpectNothingLeft() = 0;
};

class Players {
 public:
  Players(const Story& story, SimWorld& world, Invariants& invariants, Duration patience);

  void Begin();
  void See(const local::StoreEvent& event, bool by_story);
  // `healthy`: the time without faults since the last Look.
  void Look(Duration healthy);
  bool IsOver(const CouldRun& could_run) const;
  void CheckRest(const CouldRun& could_run);
  // The player whose object owns the Workload; null: none.
  Player* OwnerOf(const WorkloadFacts& workload) const;
  bool Keep(const Key& pod) const;
  std::vector<std::string> End();
  void ExpectNothingLeft();

 private:
  Findings Find() const;

  std::vector<std::unique_ptr<Player>> players_;
  Invariants& invariants_;
  const Duration patience_;
  std::map<std::pair<std::string, std::string>, Duration> lasted_;
};

// Registers the reviews of pods with the label.
Status ReviewPods(SimWorld& world, const std::string& name, const std::string& label);

// Registers a kind without a schema; its plural is the kind in lower case with an "s".
Status DefineKind(SimWorld& world, const std::string& group, const std::string& version,
                  const std::string& kind);

}  // namespace berth::sim
