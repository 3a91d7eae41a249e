// tests/golden/replay.h — one recorded story against the core.
//
// Strengths: A, who gets quota and who is preempted; B, also in which order, how far borrowed, what
// is waited for and where it is put; C, also reasons and messages in Kueue's words.
//
// Threads: any; each call has its own world.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "admission/own_rules.h"
#include "admission/scheduler.h"

namespace berth::golden {

using Json = nlohmann::json;

enum class Strength { kA, kB, kC };

struct Difference {
  Strength strength = Strength::kA;
  std::size_t step = 0;
  std::size_t item = 0;  // of the trace; its length: the state at the end
  std::string what;      // the part that differs
  Json expected;
  Json actual;
};

struct ReplayResult {
  // The first difference at each strength; a difference at A is one at B and C too.
  std::optional<Difference> a;
  std::optional<Difference> b;
  std::optional<Difference> c;
  std::string error;  // the story could not be read
};

// `own_rules`: where Berth's own rules count instead of Kueue's.
ReplayResult Replay(const Json& story, const admission::OwnRules& own_rules);

// `story` with what is not needed for its first difference removed: later steps, and workloads
// without which the same decision still differs in the same way and nothing else does before it.
Json Shrink(const Json& story, const admission::OwnRules& own_rules);

}  // namespace berth::golden
