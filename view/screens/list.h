// view/screens/list.h — `berth list`: one line per workload, the reason last.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "view/screens/cluster_view.h"
#include "view/screens/text.h"

namespace berth::view {

struct ListOptions {
  // All three false: lists all workloads.
  bool waiting = false;
  bool running = false;
  bool finished = false;
  std::string namespace_name;  // empty: every namespace
  api::StringMap labels;       // -l: required on the workload's job, or on the workload
  bool cost = false;           // shows the cost of running workloads
  std::string sort = "queue";  // queue, age, name, priority, state
};

// Errors: kInvalid: `sort` is none of the five words.
Result<std::string> RenderList(const ClusterView& view, const ListOptions& options,
                               const TextStyle& style);
nlohmann::json ListJson(const ClusterView& view, const ListOptions& options);

}  // namespace berth::view
