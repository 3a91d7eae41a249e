// admission/preemption/kept_plan.h — the part of a PreemptionPlan that is written on the Workload,
// so that a restart or another replica continues the plan (KeptPlans).
//
// Names instead of numbers, because numbers are valid in one scheduler only.
//
// Threads: data. Errors: none. Units: amounts of the resource's smallest unit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/object_meta.h"
#include "api/quantity.h"
#include "base/clock.h"

namespace berth::admission {

struct KeptPlan {
  struct PodSet {
    std::string name;
    std::int32_t count = 0;
    api::StringMap flavors;  // by resource
    friend bool operator==(const PodSet&, const PodSet&) = default;
  };
  struct Victim {
    std::string uid;
    std::string cluster_queue;
    std::map<std::string, api::ResourceAmounts> usage;  // by flavor, at the eviction
    friend bool operator==(const Victim&, const Victim&) = default;
  };
  static constexpr std::size_t kMostVictims = 64;  // conditions name the other victims

  std::int64_t generation = 0;  // the generation of the Workload
  std::string cluster_queue;
  WallTime waiting_since{};      // last transition of the condition QuotaReserved, to False
  int pauses = 0;                // plans that ended without progress
  WallTime paused_until{};       // no new plan until then; zero: no pause
  WallTime progress_at{};        // when a victim last released quota
  std::vector<PodSet> pod_sets;  // empty: no plan
  std::vector<Victim> victims;   // stopped victims too
  friend bool operator==(const KeptPlan&, const KeptPlan&) = default;
};

// While the stamp of a workload does not change, KeptPlans::ToKeep returns the same plan. A stamp
// is cheap to make, so that readers need not compare plans.
struct PlanStamp {
  std::uint64_t version = 0;  // counts changes of plan and pause; unique in one scheduler
  std::int64_t generation = 0;
  std::int32_t cluster_queue = -1;  // its number
  WallTime waiting_since{};
  friend bool operator==(const PlanStamp&, const PlanStamp&) = default;
};

}  // namespace berth::admission
