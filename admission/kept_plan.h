// admission/kept_plan.h — what is written of a PreemptionPlan on its Workload, so that a restart or
// another replica goes on with the plan (Scheduler::PlanToKeep, Scheduler::RestorePlans).
//
// Names instead of numbers: the numbers of a scheduler end with the scheduler.
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
    std::map<std::string, api::ResourceAmounts> usage;  // by flavor, when it was told to stop
    friend bool operator==(const Victim&, const Victim&) = default;
  };
  static constexpr std::size_t kMostVictims = 64;  // written; their conditions name the others

  std::int64_t generation = 0;  // of the Workload
  std::string cluster_queue;
  WallTime waiting_since{};      // last transition of the condition QuotaReserved, to False
  int pauses = 0;                // plans that ended without progress
  WallTime paused_until{};       // no plan is made until then; zero: there is no pause
  WallTime progress_at{};        // when a victim last gave something back
  std::vector<PodSet> pod_sets;  // empty: there is no plan
  std::vector<Victim> victims;   // those that have stopped among them
  friend bool operator==(const KeptPlan&, const KeptPlan&) = default;
};

}  // namespace berth::admission
