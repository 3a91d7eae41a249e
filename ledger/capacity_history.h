// ledger/capacity_history.h — requests for capacity over time: for each class and shape the numbers
// and waits of each part of a period, and the nodes of pools.
//
// asked:       requests created in the part
// provisioned: requests that became Provisioned in the part; waits: from their creation
// failed:      requests that ended as Failed in the part; stockouts: of these, for lack of machines
// open:        requests that were neither provisioned nor over at the end of the part
//
// Of a pool in a part:
//
// standing:             the mean number of nodes that stood for Workloads (NodeTimeRecord)
// cost:                 what these nodes cost, at their prices; nodes without a price cost nothing
// ready, booting, idle: mean numbers of nodes by the samples; nullopt: nothing was sampled
//
// An hour of the day, in UTC, counts the requests that were created in this hour of any day of the
// period and were provisioned or failed since; requests that wait or were withdrawn do not count.
//
// A shape is the amount that the attempt of the Workload held, or requested: "8 nvidia.com/gpu of
// h100".
//
// Threads: pure functions. Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ledger/accounts.h"
#include "ledger/records.h"

namespace berth::ledger {

struct CapacityCounts {
  std::int64_t asked = 0;
  std::int64_t provisioned = 0;
  std::int64_t failed = 0;
  std::int64_t stockouts = 0;
  std::int64_t open = 0;
  // A quantile of the waits, by nearest rank; nullopt: nothing was provisioned.
  std::optional<Seconds> p50;
  std::optional<Seconds> p90;
  friend bool operator==(const CapacityCounts&, const CapacityCounts&) = default;
};

struct HourCounts {
  std::int64_t answered = 0;
  std::int64_t provisioned = 0;
  std::int64_t stockouts = 0;
  friend bool operator==(const HourCounts&, const HourCounts&) = default;
};

// `parts`: one for each of CapacityHistory::times.
struct CapacityLine {
  std::string key;  // names a class or a shape
  std::vector<CapacityCounts> parts;
  std::array<HourCounts, 24> hours;  // by hour of the day, in UTC
  friend bool operator==(const CapacityLine&, const CapacityLine&) = default;
};
struct PoolPart {
  double standing = 0;
  double cost_nano = 0;  // billionths of USD
  std::optional<double> ready;
  std::optional<double> booting;
  std::optional<double> idle;
  friend bool operator==(const PoolPart&, const PoolPart&) = default;
};
struct PoolLine {
  std::string pool;  // empty: no pool
  std::vector<PoolPart> parts;
  friend bool operator==(const PoolLine&, const PoolLine&) = default;
};

struct CapacityHistory {
  std::vector<Period> times;
  std::vector<CapacityLine> classes;  // the most requested first; at most kMostCapacityLines
  std::vector<CapacityLine> shapes;   // the most requested first; at most kMostCapacityLines
  std::vector<PoolLine> pools;        // the most nodes first; at most kMostCapacityLines
  std::int64_t left_out = 0;          // classes, shapes and pools above kMostCapacityLines
};

inline constexpr std::size_t kMostCapacityLines = 12;

struct CapacityRecords {
  std::vector<CapacityRecord> requests;
  std::vector<AttemptRecord> attempts;  // those of the Workloads of `requests`
  std::vector<NodeTimeRecord> nodes;
  std::vector<PoolSampleRecord> samples;
};

// `parts`: the number of parts, above zero. The parts have equal length, apart from the rounding to
// seconds. `is_stockout`: whether the reason of a failed request is a lack of machines.
CapacityHistory MakeCapacityHistory(const CapacityRecords& records, const Period& period,
                                    std::int64_t parts,
                                    const std::function<bool(const std::string&)>& is_stockout);

}  // namespace berth::ledger
