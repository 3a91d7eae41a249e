// view/screens/plan_screen.h — `berth plan`: what a job that is not created yet would meet: its
// queue, the quota of each flavor, and the steps of each provisioning check with wait and price.
//
// Pure: data in, text out. The steps are those of provisioning/outlook.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "provisioning/outlook.h"
#include "view/screens/cluster_view.h"
#include "view/screens/text.h"

namespace berth::view {

// A job that is not created, with the Workload that its controller would make; or a Workload that
// waits.
struct PlannedJob {
  std::string kind;  // "Job"
  std::string name;
  api::Workload workload;
  std::optional<std::int64_t> deadline;  // activeDeadlineSeconds
  std::int64_t waited_seconds = 0;       // how long its request for capacity has waited; 0: none
  std::int64_t copies = 1;               // equal Workloads that the object makes
};

struct QuotaPlan {
  std::string flavor;
  std::string resource;
  api::Amount needed = 0;
  api::Amount free = 0;  // the part of the nominal quota that is free at present
  api::Amount nominal = 0;
};

struct CheckPlan {
  std::string check;
  std::string policy;   // empty: none
  std::string problem;  // why the check takes no steps; empty: it takes `steps`, or is reactive
  bool is_reactive = false;  // nodes come for the pods, after the start
  std::vector<provisioning::StepOutlook> steps;
};

// When a job that is not created would start, from now, by a forecast.
struct PlannedStart {
  // nullopt: the job starts in a smaller share of the draws.
  std::optional<Duration> p10;
  std::optional<Duration> p50;
  std::optional<Duration> p90;
  std::string why;  // why the job does not start in all draws; empty: it does
  std::optional<WallTime> deadline;
  double in_time = 0;  // the share of the draws in which the job ends by `deadline`
};

struct JobPlan {
  std::string kind;
  api::ObjectKey key;
  std::int64_t pods = 0;
  std::int64_t workloads = 1;  // the number of Workloads in which the pods are queued
  std::string local_queue;
  std::string cluster_queue;
  std::string problem;  // why the job would not be queued; empty: it would be queued
  std::vector<QuotaPlan> quota;
  std::vector<CheckPlan> checks;
  std::optional<PlannedStart> start;  // nullopt: no forecast was asked for
};

// kInvalid: the job names no queue; kNotFound: its queue does not exist.
Result<JobPlan> MakePlan(const ClusterView& view, const PlannedJob& job);

std::string RenderPlans(const ClusterView& view, const std::vector<JobPlan>& plans,
                        const TextStyle& style);
// The keys are stable; names of spans end in Seconds, instants are RFC 3339, amounts of money are
// decimal numbers as text.
nlohmann::json PlansJson(const ClusterView& view, const std::vector<JobPlan>& plans);

}  // namespace berth::view
