// tests/golden/settle.h — plays one recorded story without its recorded decisions: its objects and
// events, then the core's decisions, by the stories' rules for when victims stop and when waiting
// workloads are woken.
//
// Threads: any; each call has its own world.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "admission/own_rules.h"

namespace berth::golden {

struct SettleResult {
  std::size_t cut_off = 0;  // steps that did not come to rest within the story's limit of cycles
  std::size_t victims = 0;  // workloads told to stop for others, in the steps that did
  std::string error;        // the story could not be read
};

// `steps`, if it is not null, gets what happened: a list of {"trace": [...], "state": {...}}, as
// the stories have it, cycles alike but once while nothing moves.
SettleResult Settle(const nlohmann::json& story, const admission::OwnRules& own_rules,
                    nlohmann::json* steps = nullptr);

}  // namespace berth::golden
