// simulation/calibration.h — forecasts of starts, corrected by how earlier forecasts came out.
//
//     score = (start − p50) / scale,   scale = the range from p10 to p90, and no less than a
//                                      part of p50 and kLeastScale
//     p50' = p50 + scale × (the quantile 0.5 of the known scores), the others likewise
//
// If the forecasts are exchangeable, the corrected quantiles have their shares, whatever the
// distribution (split conformal prediction). A job that still waits has a score that is only known
// to be larger than that of a start at this moment (provisioning/survival.h): without these the
// correction is too short.
//
// Units: microseconds. Threads: one. Errors: none. Source: V. Vovk, A. Gammerman, G. Shafer,
// Algorithmic Learning in a Random World (2005); Y. Romano, E. Patterson, E. Candès, Conformalized
// quantile regression (2019).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/clock.h"

namespace berth::simulation {

// Quantiles of a start, from the moment of the forecast.
struct StartQuantiles {
  Duration p10{};
  Duration p50{};
  Duration p90{};
  friend bool operator==(const StartQuantiles&, const StartQuantiles&) = default;
};

// What the scores of one moment do to forecasts.
class Correction {
 public:
  Correction() = default;  // corrects nothing
  Correction(double low, double median, double high)
      : corrects_(true), low_(low), median_(median), high_(high) {}

  bool corrects() const { return corrects_; }
  // `raw` corrected: in order, and not before the moment of the forecast.
  StartQuantiles Of(const StartQuantiles& raw) const;

 private:
  bool corrects_ = false;
  double low_ = 0;
  double median_ = 0;
  double high_ = 0;
};

class Calibration {
 public:
  static constexpr std::size_t kMostScores = 1000;  // the last ones count
  static constexpr std::size_t kFewestScores = 30;  // fewer correct nothing

  // A forecast whose job started `wait` after the forecast, or, where `started` is false, has
  // waited so long.
  struct Past {
    StartQuantiles forecast;
    Duration wait{};
    bool started = true;
  };
  void Add(const Past& past);
  // Takes the scores of jobs that still wait in place of those of the last call.
  void SetWaiting(const std::vector<Past>& waiting);

  // Returns the correction for all forecasts made now. Costs O(scores): compute it once per round.
  Correction Now() const;
  StartQuantiles Of(const StartQuantiles& raw) const { return Now().Of(raw); }
  std::size_t known() const { return scores_.size(); }  // scores of jobs that started

 private:
  std::deque<double> scores_;
  std::vector<double> waiting_;
};

}  // namespace berth::simulation
