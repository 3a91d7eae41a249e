// admission/controller/notes/plan_json.h — a KeptPlan in the annotation berth.dev/preemption-plan:
//
//     {"generation": 1, "clusterQueue": "a", "waitingSince": TIME, "pauses": 1,
//      "pausedUntil": TIME, "progress": TIME,
//      "podSets": [{"name", "count", "flavors": {RESOURCE: FLAVOR}}],
//      "victims": [{"uid", "clusterQueue", "usage": {FLAVOR: {RESOURCE: AMOUNT}}}]}
//
// "pauses" and "pausedUntil" are present after plans without progress; "progress", "podSets" and
// "victims" where there is a plan. Amounts are whole numbers of the resource's smallest unit.
//
// Threads: pure functions. Errors: none; an invalid text decodes to nullopt.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "admission/preemption/kept_plan.h"

namespace berth::admission {

inline constexpr std::size_t kMaxPlanBytes = 65536;

std::string EncodePlan(const KeptPlan& plan);
// Returns nullopt also for a text of more than kMaxPlanBytes.
std::optional<KeptPlan> DecodePlan(std::string_view text);

}  // namespace berth::admission
