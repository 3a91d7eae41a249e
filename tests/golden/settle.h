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
  std::size_t victims = 0;  // preempted workloads, in the steps that came to rest
  std::string error;        // the story could not be read
};

// `steps`, unless null, gets a list of {"trace": [...], "state": {...}} in the form of the recorded
// stories; it gets one of several equal cycles without progress.
SettleResult Settle(const nlohmann::json& story, const admission::OwnRules& own_rules,
                    nlohmann::json* steps = nullptr);

}  // namespace berth::golden
