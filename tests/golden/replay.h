// tests/golden/replay.h — replays one recorded story on the core.
//
// Strengths: A, quota and victims; B, also order, borrowing height, the requeue reason and
// destination; C, also reasons and messages in Kueue's words.
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
  std::size_t item = 0;  // an item of the trace; its length: the state at the end
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

// Removes the parts of `story` that its first difference does not need: later steps, and workloads
// without which the same decision differs in the same way, and no earlier one does.
Json Shrink(const Json& story, const admission::OwnRules& own_rules);

}  // namespace berth::golden
