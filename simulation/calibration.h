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
// The errors of one day depend on each other, so few days give little evidence: a correction moves
// a forecast by the part days / (days + days_of_doubt) of the way.
//
// Forecasts of one group (ForecastGroup and the length of the forecast wait) miss alike, so the
// scores of the narrowest group that has kFewestScores starts correct a forecast:
//
//     queue, made, length ─▶ queue, made ─▶ made, length ─▶ made ─▶ all
//
// Units: microseconds. Threads: one. Errors: none. Source: V. Vovk, A. Gammerman, G. Shafer,
// Algorithmic Learning in a Random World (2005); Y. Romano, E. Patterson, E. Candès, Conformalized
// quantile regression (2019).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
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

// The forecasts that miss alike.
struct ForecastGroup {
  // kLater: the job had waited for kLaterAge when the forecast was made.
  enum class Made : std::uint8_t { kAtSubmission, kLater };
  std::string queue;  // the ClusterQueue; empty: not known
  Made made = Made::kAtSubmission;
  friend bool operator==(const ForecastGroup&, const ForecastGroup&) = default;
};
inline constexpr Duration kLaterAge = std::chrono::minutes(30);
// The group of a forecast that is made when the job has waited for `age`.
ForecastGroup GroupAt(std::string queue, Duration age);

// The correction that the scores of one group give to its forecasts.
class Correction {
 public:
  // `weight`: the part of the way that the correction goes; 0 to 1.
  Correction(double low, double median, double high, double weight)
      : low_(low), median_(median), high_(high), weight_(weight) {}

  // `raw` corrected: in order, and not before the moment of the forecast.
  StartQuantiles Of(const StartQuantiles& raw) const;

 private:
  double low_ = 0;
  double median_ = 0;
  double high_ = 0;
  double weight_ = 0;
};

// The corrections of one moment.
class Corrections {
 public:
  // Lengths of waits that are told apart: up to these, and longer ones.
  static constexpr std::array<Duration, 4> kLengths = {std::chrono::minutes(10),
                                                       std::chrono::hours(1), std::chrono::hours(6),
                                                       std::chrono::hours(24)};

  bool empty() const { return by_level_.empty(); }
  // The correction for this forecast; null: too few starts are known.
  const Correction* For(const ForecastGroup& group, const StartQuantiles& raw) const;
  // `raw` corrected, or `raw` itself if too few starts are known.
  StartQuantiles Of(const ForecastGroup& group, const StartQuantiles& raw) const;

 private:
  friend class Calibration;
  // A group of forecasts; an absent field: any value.
  struct Level {
    std::optional<std::string> queue;
    std::optional<ForecastGroup::Made> made;
    std::optional<int> length;
    friend auto operator<=>(const Level&, const Level&) = default;
  };
  // Returns the levels of the forecast, the narrowest one first.
  static std::vector<Level> LevelsOf(const ForecastGroup& group, const StartQuantiles& raw);
  std::map<Level, Correction> by_level_;
};

class Calibration {
 public:
  static constexpr std::size_t kMostScores = 3000;  // only the last scores count
  static constexpr std::size_t kFewestScores = 30;  // fewer scores correct nothing
  static constexpr double kDaysOfDoubt = 5;

  explicit Calibration(double days_of_doubt = kDaysOfDoubt) : days_of_doubt_(days_of_doubt) {}

  // An earlier forecast. `wait`: the time from the forecast to the job's start or, if `started` is
  // false, the time that the job has waited so far.
  struct Past {
    WallTime at{};  // when the forecast was made
    StartQuantiles forecast;
    Duration wait{};
    bool started = true;
    ForecastGroup group;
  };
  void Add(const Past& past);
  // Takes the scores of jobs that still wait in place of those of the last call.
  void SetWaiting(const std::vector<Past>& waiting);

  // Returns the corrections for all forecasts made now. Costs O(scores): compute them once per
  // round.
  Corrections Now() const;
  std::size_t known() const { return starts_.size(); }  // forecasts whose job has started

 private:
  double days_of_doubt_;
  std::deque<Past> starts_;
  std::vector<Past> waiting_;
};

}  // namespace berth::simulation
