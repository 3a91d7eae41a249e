// tests/faults/episode.h — plays a story in a world and returns the first violation.
//
//     setup ─▶ events and faults ─▶ repairs ─▶ until nothing moves
//         ─▶ a restart, which must change nothing
//         ─▶ everything is deleted, and nothing may be left
//
// Invariants are checked with every write, transient rules every few seconds. The first violation
// ends the episode.
//
// Rules at the end, beside those of invariants.h and standing.h:
//   never-finishes  a job that could run has not finished
//   stuck           an object is being deleted for ever
//   restless        an object is written although nothing changes
//   restart-writes  restarted controllers write an object
//   left-over       an object outlives its owner
//
// Threads: one; several episodes may run in threads of their own.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/invariants.h"
#include "tests/faults/story.h"

namespace berth::sim {

struct EpisodeOptions {
  bool chronicle = false;  // keep a readable list of all events
  // Adds faults to those of the story; tests show with them that rules report violations.
  std::function<Fault(const kube::ApiRequest& request)> saboteur;
};

struct Outcome {
  std::optional<Violation> violation;
  Duration at{};  // virtual time since the story began
  std::uint64_t trace_hash = 0;
  std::int64_t writes = 0;
  std::int64_t jobs_finished = 0;
  std::map<std::string, std::int64_t> faults;  // how often each kind happened; FaultKinds()
  std::vector<std::string> chronicle;
};

Outcome Play(const Story& story, const EpisodeOptions& options);

}  // namespace berth::sim
