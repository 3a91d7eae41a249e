// tests/faults/story.h — the story of a seed: objects, users' edits, and faults, all
// fixed before the story begins.
//
//     Story story = MakeStory(42);  std::puts(Tell(story).c_str());
//
// Lines are commands of tests/scenarios/README.md. Every event and fault is independent, so that a
// failing story can be played without some of them.
//
// Pure: the same seed gives the same story on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "scenarios/world/sim_transport.h"

namespace berth::sim {

struct StoryEvent {
  Duration at{};
  std::string line;
};

// A span in which some requests of the controllers fail.
struct FaultSpan {
  enum class Requests { kWrites, kReads };
  Duration at{};
  Duration length{};
  Fault fault = Fault::kNone;
  Requests requests = Requests::kWrites;
  std::uint64_t per_mille = 0;
  std::string path;        // part of it; empty: every path
  std::uint64_t seed = 0;  // the seed of its own dice
};

// A single fault.
struct Blow {
  enum class Kind {
    kCrash,   // the controllers end at their count-th write from `at`, for `span`; of
              // several replicas, the leader
    kCutOff,  // the leader does not reach the API for `span`, or does not hear its answers
    kBreakWatches,
    kExpireWatches,
    kStallWatches,  // for `span`
    kRepeatEvents,  // `count` of each watch
    kJumpClock,     // by `span`
  };
  Kind kind = Kind::kCrash;
  Duration at{};
  Duration span{};
  std::int64_t count = 0;
  bool write_happens = false;  // kCrash: that of the last write; kCutOff: all of them
};

// Which traits the policy of a story may have.
enum class Drawing : std::uint8_t {
  kEveryTrait,
  kAsRecorded,  // those that were drawn when seeds of its range were played (soak_seeds.txt)
};

struct Story {
  std::uint64_t seed = 0;
  Drawing drawing = Drawing::kEveryTrait;
  std::string config;  // fields of Kueue's Configuration file, YAML; may be empty
  int replicas = 1;    // replicas of the controllers
  std::vector<std::string> setup;
  std::vector<StoryEvent> events;  // in order of time
  std::vector<FaultSpan> faults;
  std::vector<Blow> blows;
  Duration length{};  // no faults afterwards
};

Story MakeStory(std::uint64_t seed, Drawing drawing = Drawing::kEveryTrait);

// Whether the policy's pools may only react to pending pods: their cloud may take machines back,
// and their policy may let pods wait instead of placeholders, also with a budget. A recorded story
// of this kind has a policy in any case.
bool MayDrawEvictTraits(const Story& story);
// Whether a policy may divide jobs, ask for the pods of two pools, keep nodes standing and hold the
// nodes of gangs.
bool MayDrawMoreTraits(const Story& story);
// Whether the policy may also hold or reject jobs after its last step, give up nodes that boot for
// long, and have jobs leave before their capacity ends.
bool MayDrawEndTraits(const Story& story);
// Whether the policy may also pass slow steps over and keep the nodes of a lost race for others.
bool MayDrawWaitTraits(const Story& story);

// Whether a person deletes the request for capacity of the job. When its nodes go as well, because
// the job stood still, nothing asks for others, as in Kueue.
bool LosesRequest(const Story& story, const std::pair<std::string, std::string>& job);

// Kinds beside batch/v1 Job that the story's controllers manage: Kueue's names in
// integrations.frameworks.
void AddFramework(Story& story, const std::string& framework);
bool HasFramework(const Story& story, const std::string& framework);

// The LocalQueues that the story's setup makes.
struct QueuePlace {
  std::string space;  // namespace
  std::string queue;
};
std::vector<QueuePlace> LocalQueuesOf(const Story& story);

// The story for people: one line per event, in order of time.
std::string Tell(const Story& story);

}  // namespace berth::sim
