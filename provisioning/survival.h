// provisioning/survival.h — Kaplan and Meier's estimator: the distribution of spans of which some
// are known only to be longer than a number.
//
// Beyond the last sample the spans end at the mean rate of the samples. A span that is longer than
// every sample goes on for as long as it lasted.
//
// Units: seconds. Threads: pure functions. Errors: none. Source: E. L. Kaplan, P. Meier,
// Nonparametric estimation from incomplete observations (1958).
#pragma once

#include <cstdint>
#include <vector>

namespace berth::provisioning {

class Survival {
 public:
  struct Sample {
    std::int64_t seconds = 0;
    double weight = 0;
    bool ended = false;  // false: the span is longer
  };

  Survival() = default;
  explicit Survival(std::vector<Sample> samples);

  // The share of spans that are longer than `span`.
  double Of(std::int64_t span) const;
  // Returns, among the spans that have lasted `lasted` seconds, the share that lasts `more` seconds
  // more.
  double LeftAfter(std::int64_t lasted, std::int64_t more) const;
  // The least time from now within which `share` of the spans end that have lasted `lasted`
  // seconds; at most `most`.
  std::int64_t Quantile(std::int64_t lasted, double share, std::int64_t most) const;

 private:
  struct Step {
    std::int64_t seconds = 0;
    double survival = 1;  // at and behind `seconds`
  };

  std::vector<Step> steps_;  // in the order of seconds
  double rate_ = 0;          // ends by second, behind the last sample
};

}  // namespace berth::provisioning
