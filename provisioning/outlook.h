// provisioning/outlook.h — what a provisioning check would do for a Workload that does not exist
// yet: its steps in order, with the expected wait, the price, and the reason against each step that
// would be passed over.
//
//     Workload, policy, ClusterQueue, stock memory ──OutlookOf──▶ one StepOutlook for each step
//
// Steps are chosen by StepPlan (policy_steps.h), as for a Workload that exists. Quota that others
// use at present is no reason to pass a step over: it may be free when the Workload exists.
//
// Units: seconds; USD for one node and hour. Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/expected_wait.h"
#include "provisioning/pod_sets.h"
#include "provisioning/race.h"
#include "provisioning/spend.h"
#include "provisioning/stock.h"
#include "provisioning/vetoes.h"

namespace berth::provisioning {

inline constexpr char kNoQuotaReason[] = "NoQuota";

struct OutlookInput {
  const api::Workload& workload;           // without an admission
  const api::ClusterQueue& cluster_queue;  // the ClusterQueue of its LocalQueue
  const api::AdmissionCheckRule& rule;     // the ClusterQueue's rule for the check
  const api::ProvisioningRequestConfig& config;
  const api::ProvisioningPolicy& policy;  // no steps if the check has no policy
  const FlavorsByName& flavors;
  const StockMemory& stock;
  std::map<std::string, std::vector<StillWaiting>> waiting;  // by class
  std::optional<std::int64_t> job_deadline;                  // activeDeadlineSeconds of the Job
  std::int64_t waited_seconds = 0;  // how long the Workload's request has waited; 0: it has none
  WallTime now{};
  const SpendMemory* spend = nullptr;  // null: the budget of the day is not looked at
};

struct StepOutlook {
  std::string step;
  std::string flavor;  // empty: any
  std::string provisioning_class;
  std::int64_t max_wait_seconds = 0;  // 0: no limit
  std::int32_t max_attempts = 0;
  std::int64_t nodes = 0;  // the least number; unknown pool: one for each pod
  std::optional<std::int64_t>
      nano_dollars_rate;     // price of all nodes for an hour; nullopt: unknown
  std::optional<Cost> cost;  // nullopt: price or run are unknown
  Eta eta;                   // from its request to nodes
  std::optional<Veto> veto;  // why the step would be passed over
  bool asks_first = false;
  std::optional<Waste> race_waste;  // the most that a race wastes; nullopt: the step does not race
};

// Empty: no pod needs a request.
std::vector<StepOutlook> OutlookOf(const OutlookInput& input);

}  // namespace berth::provisioning
