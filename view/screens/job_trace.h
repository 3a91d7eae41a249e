// view/screens/job_trace.h — `berth trace`: where the time of a job went, from its creation to its
// end.
//
//     created ─ seen ─ quota ─ capacity ─ admitted ─ started ─ pods ─ nodes ─ containers ─ end
//
// The instants are those of the objects, in whole seconds: a step of 0 s took less than a second or
// two. Pods and requests that were deleted are not seen. The step "quota, attempts" has the earlier
// attempts of an evicted Workload, too.
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "view/screens/cluster_view.h"
#include "view/screens/text.h"

namespace berth::view {

struct TraceSpan {
  std::string name;  // "quota"
  WallTime begin{};
  std::optional<WallTime> end;  // nullopt: the step lasts
  std::string detail;           // "LocalQueue dws → ClusterQueue team"
};

// The steps follow one another, except those of checks, which run beside one another.
struct Trace {
  std::string subject;  // default/h100-train
  WallTime created{};
  std::optional<WallTime> running;  // when the containers of all wanted pods had started
  std::optional<WallTime> ended;
  std::vector<TraceSpan> spans;
  std::vector<std::string> not_seen;  // kinds that the caller has no right to read
};

// `reference` and errors: as FindToldWorkload. The pods of `view` are those of the Workload.
Result<Trace> TraceJob(const ClusterView& view, const std::string& namespace_name,
                       const std::string& reference);

std::string RenderTrace(const ClusterView& view, const Trace& trace, const TextStyle& style);
nlohmann::json TraceJson(const ClusterView& view, const Trace& trace);

}  // namespace berth::view
