// api/provisioning_policy.h — ProvisioningPolicy (provisioning.berth.dev/v1alpha1): in which order,
// and how long, a provisioning check asks for capacity; and the memory that the check keeps of its
// requests on a Workload.
//
// A policy takes effect where the annotation berth.dev/provisioning-policy of an AdmissionCheck, or
// of its ProvisioningRequestConfig, names the policy. Units: seconds; 0 means no limit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/object_meta.h"
#include "api/quantity.h"
#include "base/clock.h"

namespace berth::api {

// The machines behind a step, as an administrator knows them.
struct ProvisioningPool {
  std::string name;
  std::int32_t max_nodes = 0;
  ResourceAmounts node;  // the amounts of an empty node that pods may use
};

// One way to get the capacity. Steps are tried in order.
struct ProvisioningStep {
  std::string name;
  std::string flavor;                      // ResourceFlavor of the step; empty: any
  std::string provisioning_class_name;     // empty: the config's class
  StringMap parameters;                    // added to the config's; a step's value wins
  std::vector<std::string> zones;          // a request asks in one of them; empty: in any zone
  std::int64_t max_wait_seconds = 0;       // for all requests of the step together; 0: the policy's
  std::int32_t max_attempts = 0;           // 0: the config's backoffLimitCount + 1, for each zone
  std::optional<ProvisioningPool> pool;    // nullopt: unknown
  std::optional<Quantity> price_per_hour;  // USD for one node; nullopt: the flavor's price
  std::optional<Quantity> max_price_per_hour;  // nullopt: the policy's limit
  std::int64_t max_run_seconds = 0;  // the step asks for no job that may run longer; 0: no limit
  // The step is passed over where the next one is expected to wait for so much less; 0: never.
  std::int64_t min_eta_gain_seconds = 0;
};

// How long the capacity is asked for, from how long the job may run.
struct ProvisioningRunDuration {
  enum class Source : std::uint8_t {
    kJob,      // the run time that the job declares
    kHistory,  // … else the run times of earlier runs
  };
  std::int32_t margin_percent = 20;
  std::int64_t min_seconds = 600;
  std::int64_t max_seconds = 604800;
  Source source = Source::kJob;
};

// Several requests at once for one Workload; the first that gets its nodes stays.
struct ProvisioningRace {
  enum class Over : std::uint8_t { kZones, kSteps };
  std::int32_t width = 1;  // requests at once; 1: no race
  Over over = Over::kZones;
  std::int64_t stagger_seconds = 120;     // from one request to the next
  std::int64_t keep_surplus_seconds = 0;  // nodes of a lost request are offered to others
};

// Idle nodes are used before capacity is asked for.
struct ProvisioningReuse {
  enum class ShapeRule : std::uint8_t {
    kWholeSet,  // nodes of one request stay together for a larger gang that waits
    kAny,
  };
  bool enabled = false;
  ShapeRule shape_rule = ShapeRule::kWholeSet;
  // The least life of a node, for a job whose run time is not known.
  std::int64_t min_life_seconds = 3600;
};

// Several requests for one Workload.
struct ProvisioningSplit {
  enum class Mode : std::uint8_t {
    kPerPodSet,  // pod sets of several flavors have a request each, and start together
    kDivide,     // pods that need not start together are asked for in parts, one after the other
  };
  Mode mode = Mode::kPerPodSet;
  std::int64_t hold_seconds = 480;  // how long nodes wait for the nodes of other parts
  std::int32_t max_nodes = 0;       // kDivide: nodes of one request
};

// Nodes that stand before the first job of a window asks for them.
struct ProvisioningPrewarm {
  std::string namespace_name;  // the namespace of the Workload that holds the nodes
  std::string local_queue;
  std::string step;  // the step with the pool and flavor; empty: the first step
  std::int32_t min_nodes = 1;
  std::string schedule;   // when a window begins, in the form of CronJobs; empty: always open
  std::string time_zone;  // IANA name; empty: UTC
  std::int64_t duration_seconds = 3600;  // the length of a window
  std::int64_t lead_seconds = 600;       // the nodes are asked for so long before it begins
  // Nodes that are unused for so long are given up until the next window; 0: never.
  std::int64_t max_idle_seconds = 0;
  friend bool operator==(const ProvisioningPrewarm&, const ProvisioningPrewarm&) = default;
};

// Pods of low priority that hold nodes of autoscalers which only react, until all nodes are there.
struct ProvisioningPlaceholders {
  std::string priority_class;          // the priority class of the pods
  std::int64_t timeout_seconds = 900;  // after this time the step has failed
  std::string image = "registry.k8s.io/pause:3.10";
};

struct ProvisioningPolicy {
  enum class WhenExhausted : std::uint8_t { kCycle, kHold, kReject };
  enum class OnRevoked : std::uint8_t { kReject, kRequeue };
  enum class Stock : std::uint8_t { kShared, kIgnored };
  enum class BudgetAction : std::uint8_t { kBlock, kWarn };
  enum class OnTrouble : std::uint8_t { kWait, kRequeue };

  using RunDuration = ProvisioningRunDuration;
  using Race = ProvisioningRace;

  ObjectMeta meta;
  std::vector<ProvisioningStep> steps;         // empty: one step, the config
  std::optional<Quantity> max_price_per_hour;  // limits steps without a limit; nullopt: none
  std::optional<Quantity> max_cost;            // USD for one Workload; nullopt: no budget
  std::optional<Quantity> max_cost_per_day;    // USD for a LocalQueue and day; nullopt: no budget
  std::optional<RunDuration> run_duration;     // nullopt: the parameters alone set it
  std::optional<Race> race;                    // nullopt: one request at a time
  std::optional<ProvisioningReuse> reuse;      // nullopt: no node is reused
  std::optional<ProvisioningPlaceholders> placeholders;  // nullopt: the job's pods bring the nodes
  std::optional<ProvisioningPrewarm> prewarm;            // nullopt: no node is prewarmed
  std::optional<ProvisioningSplit> split;                // nullopt: one request for all pods
  std::int64_t max_wait_seconds = 0;                     // limits steps without a limit
  std::int64_t cycle_after_seconds = 1800;
  std::int64_t stuck_after_seconds = 0;     // 0: an overtaken request keeps its place
  std::int64_t answer_timeout_seconds = 0;  // 0: waits for an answer without limit
  std::int32_t max_in_flight = 8;           // open requests of a class and flavor
  WhenExhausted when_exhausted = WhenExhausted::kCycle;
  OnRevoked on_revoked = OnRevoked::kReject;
  std::int64_t late_pod_seconds = 0;      // 0: pods that find no node are not looked at
  std::int64_t boot_timeout_seconds = 0;  // 0: nodes that do not come are waited for
  std::int64_t evict_before_seconds = 0;  // 0: the cloud ends the run with the capacity
  // Reject the Workload after the last step if a person has to act.
  bool reject_human_causes = false;
  BudgetAction budget_action = BudgetAction::kBlock;
  OnTrouble on_late = OnTrouble::kRequeue;  // when late pods have no node at the booking's end
  OnTrouble on_lost = OnTrouble::kWait;     // when a node goes that pods still need
  Stock stock = Stock::kShared;             // kIgnored: steps are asked for also where they rest
  bool metering = false;                    // the cost of nodes is measured
  bool protect_pods = true;                 // the pods ask autoscalers to leave their nodes alone
};

// The memory of one check about one Workload: the annotation berth.dev/provisioning.
struct ProvisioningMemory {
  enum class Next : std::uint8_t {
    kNothing,
    kAsk,     // another request, with the quota that is held
    kRetry,   // quota is released; the next request follows a new admission
    kReject,  // the Workload is deactivated
  };
  struct Step {
    std::int32_t attempts = 0;        // failed requests
    std::int64_t waited_seconds = 0;  // how long these requests waited for nodes
    bool over = false;                // a failure that no repetition mends
    friend bool operator==(const Step&, const Step&) = default;
  };
  struct Outcome {
    std::string step;
    std::string reason;
    WallTime at{};
    friend bool operator==(const Outcome&, const Outcome&) = default;
  };

  // The estimated cost of requests that lost a race after their nodes had come.
  struct RaceWaste {
    std::int64_t node_seconds = 0;
    std::int64_t nano_dollars = 0;       // the cost of the requests whose price is known
    std::vector<std::int32_t> attempts;  // the newest requests that are counted
    friend bool operator==(const RaceWaste&, const RaceWaste&) = default;
  };

  std::map<std::string, Step> steps;  // by name; missing: nothing failed
  std::int32_t counted_attempt = 0;   // the failures up to this attempt are counted
  std::int32_t counted_retries = 0;   // the check's retryCount when the failures were counted
  Next next = Next::kNothing;         // the consequence of the last counted failure
  std::int32_t warned_attempt = 0;    // the attempt whose end of capacity was emitted
  WallTime told_late{};               // the change to Ready for which late pods were reported
  WallTime lease_failed{};            // when leased nodes were given up
  WallTime passed_over{};             // since when a step is passed over for a quicker one
  std::int32_t asked_again = 0;       // requests that were overtaken and replaced
  WallTime due{};                     // kRetry: when the Workload may be queued again
  std::string message;                // the message of the check
  std::vector<Outcome> outcomes;      // the newest, oldest first
  RaceWaste race_waste;
  friend bool operator==(const ProvisioningMemory&, const ProvisioningMemory&) = default;
};

using MemoryByCheck = std::map<std::string, ProvisioningMemory>;

}  // namespace berth::api
