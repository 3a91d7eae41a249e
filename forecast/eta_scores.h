// forecast/eta_scores.h — the forecasts that `berth eta --scores FILE` has reported, compared with
// the starts.
//
//     FILE ──Read──▶ entries ──Resolve(cluster)──▶ Corrections, hit rate ──▶ corrected forecasts
//      ▲                                                                        │
//      └────────────────────────── Write ◀───────────── Add ◀──────────────────┘
//
// The first forecast of a Workload counts. The last kMostEntries are kept.
//
// Threads: one. Errors: kInvalid with the line; kUnavailable: the file cannot be read or written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "forecast/eta_entries.h"
#include "forecast/forecast_cluster.h"
#include "simulation/calibration.h"

namespace berth::forecast {

class EtaScores {
 public:
  static constexpr std::size_t kMostEntries = 5000;

  // A file that does not exist has no entries.
  static Result<EtaScores> Read(const std::string& file);
  // Replaces the file.
  Status Write() const;

  // Compares the forecasts with the starts: those in the ledger and those of admitted Workloads.
  // Entries of Workloads that are gone, and whose start is not known, are dropped.
  void Resolve(const ForecastCluster& cluster);
  const simulation::Corrections& corrections() const { return corrections_; }
  void Add(const EtaEntry& entry);  // no effect where the Workload has an entry

  // Whether there are corrections.
  bool corrects() const { return !corrections_.empty(); }
  std::int64_t known() const { return known_; }  // forecasts whose job has started
  // The shares of these starts that were no later than the reported quantile.
  double within_p50() const { return within_p50_; }
  double within_p90() const { return within_p90_; }

 private:
  explicit EtaScores(std::string file) : file_(std::move(file)) {}

  std::string file_;
  std::vector<EtaEntry> entries_;
  simulation::Corrections corrections_;
  std::int64_t known_ = 0;
  double within_p50_ = 0;
  double within_p90_ = 0;
};

}  // namespace berth::forecast
