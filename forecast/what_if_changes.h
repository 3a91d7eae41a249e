// forecast/what_if_changes.h — the changes of `berth what-if`, on a copy of the cluster's objects.
//
// Threads: pure functions. Nothing is written to the cluster.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/quantity.h"
#include "base/result.h"
#include "view/planned_jobs.h"
#include "view/screens/cluster_view.h"

namespace berth::forecast {

// Changes in words.
struct WhatIfOptions {
  std::vector<std::string> quota;     // QUEUE/FLAVOR/RESOURCE=+AMOUNT
  std::vector<std::string> priority;  // job/x=100
  std::vector<std::string> stop;      // ClusterQueues or LocalQueues
  std::vector<std::string> nodes;     // names of the nodes to remove
  int times = 1;                      // how often each job is submitted
};

struct WhatIfInput {
  const WhatIfOptions& options;
  std::vector<nlohmann::json> changed;    // documents of -f: objects of queues, policies, jobs
  std::vector<nlohmann::json> submitted;  // documents of --submit
  std::string default_namespace;
  view::FindReadObject
      find;  // finds objects that the documents lack; null: only the documents count
};

struct ChangedView {
  view::ClusterView view;
  std::vector<std::string> changes;  // in words: "ClusterQueue team: nvidia.com/gpu in gpu 8 → 16"
  std::vector<std::string> notes;    // objects of -f that are no part of the forecast
};

// One value of --add-quota: "QUEUE/FLAVOR/RESOURCE=+8" (more), "-8" (less) or "8" (as much as). The
// resource "gpu" is nvidia.com/gpu.
struct QuotaChange {
  std::string queue;
  std::string flavor;
  std::string resource;
  char sign = '=';  // '+', '-' or '='
  api::Amount amount = 0;

  api::Amount After(api::Amount before) const;  // never below 0 by '-'
};

// Errors: kInvalid with the flag.
Result<QuotaChange> ParseQuotaChange(const std::string& text);

// Where the view has nodes of topologies, Topologies and Nodes of -f count, too; a Node without
// conditions is ready.
//
// Errors: kInvalid with the flag or the object, or where no object of -f is a part of the forecast
// (several unreadable jobs: one line each);
// kNotFound: a queue, flavor, job or node that does not exist.
Result<ChangedView> ChangeView(const view::ClusterView& view, const WhatIfInput& input);

}  // namespace berth::forecast
