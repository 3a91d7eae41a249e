// cli/screens/why.h — `berth why`: the causal chain from a Job to what it waits for.
//
//     ✓ queued → ✓ quota reserved → ◷ capacity → · admitted → · running
//
// The chain is data first (Story), then text or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/screens/cluster_view.h"
#include "cli/screens/reason.h"
#include "cli/screens/text.h"

namespace berth::cli {

enum class StepState { kDone, kNow, kAhead, kFailed };

struct AssignedAmount {
  std::string pod_set;
  std::string flavor;
  std::string resource;
  api::Amount amount = 0;
};

// The ProvisioningRequest of a step, and the pool that the pods select.
struct CapacityAsked {
  std::string request;
  std::string provisioning_class;
  std::string pool;  // empty: none is selected, or it is not known
  int nodes = 0;
  std::optional<int> max_nodes;
  std::optional<int> stock;
};

struct Step {
  std::string name;  // "queued", "quota reserved", "capacity", "admitted", "running", "finished"
  StepState state = StepState::kAhead;
  std::optional<WallTime> since;
  std::vector<std::string> lines;  // what is known about it, the most telling line first
  std::optional<Reason> reason;    // of a step that is waited for: the same as data
  std::optional<CapacityAsked> capacity;
  std::vector<AssignedAmount> assigned;  // "quota reserved": from which flavor how much
};

struct Story {
  std::string subject;   // default/h100-train
  std::string headline;  // "has waited 3d2h: for capacity"
  std::vector<Step> steps;
  std::vector<std::string> would_start_if;
  std::vector<std::string> not_seen;  // for lack of rights
  std::string gives_up;               // when it stops trying; empty where that does not apply
};

struct ObjectReference {
  std::string kind;  // "job", "workload", "pod", something unknown; empty: a job, else a workload
  std::string name;
};
ObjectReference ParseReference(const std::string& reference);

// `reference`: "job/NAME", "workload/NAME", "pod/NAME", or "NAME" (a job, else a workload).
// kNotFound with the nearest name, kInvalid for other kinds or a Job that is not queued.
Result<Story> TellStory(const ClusterView& view, const std::string& namespace_name,
                        const std::string& reference, const TextStyle& style);

std::string RenderStory(const ClusterView& view, const Story& story, const TextStyle& style);
nlohmann::json StoryJson(const Story& story);

}  // namespace berth::cli
