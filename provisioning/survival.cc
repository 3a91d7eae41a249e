#include "provisioning/survival.h"

#include <algorithm>
#include <cmath>

namespace berth::provisioning {
namespace {

constexpr double kTiny = 1e-9;  // a share that rounding alone explains

}  // namespace

Survival::Survival(std::vector<Sample> samples) {
  // If times are equal, those that ended go first: a span that was given up then was longer.
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.ended && !b.ended;
  });
  double ended = 0;
  double exposure = 1;
  double at_risk = 0;
  for (const Sample& sample : samples) {
    if (sample.ended) ended += sample.weight;
    exposure += sample.weight * static_cast<double>(sample.seconds);
    at_risk += sample.weight;
  }
  rate_ = ended / exposure;
  double survival = 1;
  for (const Sample& sample : samples) {
    if (sample.ended) survival *= std::max(0.0, 1 - sample.weight / at_risk);
    at_risk -= sample.weight;
    if (steps_.empty() || steps_.back().seconds != sample.seconds) {
      steps_.push_back({sample.seconds, survival});
    } else {
      steps_.back().survival = survival;
    }
  }
}

double Survival::Of(std::int64_t span) const {
  const auto next =
      std::upper_bound(steps_.begin(), steps_.end(), span,
                       [](std::int64_t value, const Step& step) { return value < step.seconds; });
  if (next == steps_.begin()) return 1;
  const Step& last = *(next - 1);
  if (next != steps_.end()) return last.survival;
  if (last.survival < kTiny) return 0;
  return last.survival * std::exp(-rate_ * static_cast<double>(span - last.seconds));
}

double Survival::LeftAfter(std::int64_t lasted, std::int64_t more) const {
  const double now = Of(lasted);
  if (now > 0) return std::min(1.0, Of(lasted + more) / now);
  return std::exp(-static_cast<double>(more) /
                  static_cast<double>(std::max<std::int64_t>(lasted, 1)));
}

std::int64_t Survival::Quantile(std::int64_t lasted, double share, std::int64_t most) const {
  std::int64_t low = 0;
  std::int64_t high = most;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (1 - LeftAfter(lasted, middle) >= share - kTiny) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace berth::provisioning
