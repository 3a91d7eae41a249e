// program/caller_what_if.h — `berth what-if` for the page: the effects of a change of quota, of a
// priority or of a stopped queue on the jobs, and the objects to apply.
//
//     {"quota": ["QUEUE/FLAVOR/RESOURCE=16"], "priority": ["job/x=100"], "stop": ["QUEUE"]}
//
// Bounded: kMostWhatIfJobs jobs (the caller checks), kMostWhatIfChanges changes of a kind, the time
// of the options. Nothing is written to the cluster.
//
// Threads: pure functions of the objects and of the ledger's file. Errors: kInvalid with the key,
// kNotFound, kTooManyRequests where the time is over.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "admission/driver.h"
#include "base/clock.h"
#include "base/result.h"
#include "view/screens/cluster_view.h"

namespace berth::program {

inline constexpr std::size_t kMostWhatIfJobs = 20'000;
inline constexpr std::size_t kMostWhatIfChanges = 16;

struct CallerWhatIfOptions {
  std::string ledger;  // file of past runs; empty: finished Workloads alone
  admission::DriverOptions driver;
  std::function<bool()> is_late;  // called before each draw; true: the run ends with an error
};

struct CallerWhatIf {
  std::vector<std::string> quota;
  std::vector<std::string> priority;
  std::vector<std::string> stop;
};
Result<CallerWhatIf> ParseWhatIf(const std::string& body);

// Answers in the form of `berth what-if -o json`.
Result<nlohmann::json> AnswerWhatIf(const CallerWhatIf& asked, const view::ClusterView& view,
                                    const CallerWhatIfOptions& options);

// The ClusterQueues that `asked` changes, by their names.
std::vector<std::string> QueuesOf(const CallerWhatIf& asked);
// `queue`, as the API has it, with the quotas of `asked`, as YAML for `kubectl apply`. Errors:
// kNotFound: the queue has no such quota.
Result<std::string> ChangedQueueYaml(const nlohmann::json& queue, const CallerWhatIf& asked);

}  // namespace berth::program
