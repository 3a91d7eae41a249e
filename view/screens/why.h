// view/screens/why.h — `berth why`: the causal chain from a Job to the cause of its wait.
//
//     ✓ queued → ✓ quota reserved → ◷ capacity → · admitted → · running
//
// The chain is data (Story); text and JSON are made of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "view/screens/cluster_view.h"
#include "view/screens/reason.h"
#include "view/screens/text.h"
#include "view/screens/told_workload.h"

namespace berth::view {

enum class StepState { kDone, kNow, kAhead, kFailed };

struct AssignedAmount {
  std::string pod_set;
  std::string flavor;
  std::string resource;
  api::Amount amount = 0;
};

// Why capacity does not come, who can act, and the remedy.
struct CapacityAdvice {
  std::string reason;        // the reason of a condition, or of a policy
  std::string reason_class;  // "stockout"
  std::string who;           // "nobody", "user", "admin", "cloud"
  std::string remedy;
};

// A request that a policy has counted as failed.
struct CapacityTried {
  std::string step;
  WallTime at{};
  CapacityAdvice advice;
};

// The ProvisioningRequest of a step, and the pool that the pods select.
struct CapacityAsked {
  std::string request;
  std::string provisioning_class;
  std::string policy_step;  // the step of a ProvisioningPolicy; empty: none
  std::optional<CapacityAdvice> advice;
  std::string pool;  // empty: none is selected, or it is unknown
  int nodes = 0;
  std::optional<int> max_nodes;
  std::optional<int> stock;
};

struct Step {
  std::string name;  // "queued", "quota reserved", "capacity", "admitted", "running", "finished"
  StepState state = StepState::kAhead;
  std::optional<WallTime> since;
  std::vector<std::string> lines;  // facts of the step, most important first
  std::optional<Reason> reason;    // set for a step that the Workload waits for: the reason as data
  std::optional<CapacityAsked> capacity;
  std::vector<CapacityTried> tried;      // oldest first
  std::vector<AssignedAmount> assigned;  // set for "quota reserved": amounts by flavor
};

struct Story {
  std::string subject;   // default/h100-train
  std::string headline;  // "has waited 3d2h: for capacity"
  std::vector<Step> steps;
  std::vector<std::string> would_start_if;
  std::vector<std::string> not_seen;  // kinds that the caller has no right to read
  std::string gives_up;               // when the request gives up; empty: never
};

// `reference` and errors: as FindToldWorkload.
Result<Story> TellStory(const ClusterView& view, const std::string& namespace_name,
                        const std::string& reference, const TextStyle& style);

std::string RenderStory(const ClusterView& view, const Story& story, const TextStyle& style);
nlohmann::json StoryJson(const Story& story);

}  // namespace berth::view
