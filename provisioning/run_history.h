// provisioning/run_history.h — how long earlier runs of a job took: for a policy that asks for
// capacity by history (runDuration.source: History), where the job does not say its run.
//
//     finished Workloads --Add--> the last 64 runs of a place --Expected--> their 99th percentile
//
// A place is a LocalQueue, a kind, and a name without its counters: nightly-29123456 and
// nightly-29124896 are one. Only runs that succeeded count. A place with fewer than kLeastRuns runs
// gives no expectation.
//
// Bounded: kMostPlaces places, those that were added to last.
//
// Units: seconds. Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/workload.h"

namespace berth::provisioning {

// The name without the parts at its end that count or were drawn: "train-20261120-3" and
// "train-x7k2p" give "train".
std::string RunStemOf(const std::string& name);

class RunHistory {
 public:
  static constexpr std::size_t kMostRuns = 64;  // the most runs of a place
  static constexpr std::size_t kLeastRuns = 20;
  static constexpr std::size_t kMostPlaces = 2000;

  // No effect for a Workload that has not succeeded, or whose times are unknown. Precondition: the
  // Workload was not added before.
  void Add(const api::Workload& workload);
  // The time that 99 of 100 runs of the Workload's place did not exceed; nullopt: too few are
  // known.
  std::optional<std::int64_t> Expected(const api::Workload& workload) const;

 private:
  struct Place {
    std::deque<std::int64_t> runs;  // seconds, the newest last
    std::uint64_t added = 0;        // the turn of the newest
  };
  static std::string PlaceOf(const api::Workload& workload);

  std::map<std::string, Place> places_;
  std::map<std::uint64_t, std::string> by_turn_;
  std::uint64_t turn_ = 0;
};

}  // namespace berth::provisioning
