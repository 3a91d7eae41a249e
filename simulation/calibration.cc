#include "simulation/calibration.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "provisioning/survival.h"

namespace berth::simulation {
namespace {

constexpr Duration kLeastScale = std::chrono::seconds(10);
constexpr int kPartOfMedian = 4;
// Scores as whole numbers for the estimator: thousandths, from kLowest on.
constexpr double kLowest = -1000;
constexpr double kHighest = 1000;
constexpr double kThousandths = 1000;

Duration ScaleOf(const StartQuantiles& raw) {
  return std::max({raw.p90 - raw.p10, raw.p50 / kPartOfMedian, kLeastScale});
}

double ScoreOf(const Calibration::Past& past) {
  const Duration scale = ScaleOf(past.forecast);
  return static_cast<double>((past.wait - past.forecast.p50).count()) /
         static_cast<double>(scale.count());
}

std::int64_t Whole(double score) {
  return std::llround((std::clamp(score, kLowest, kHighest) - kLowest) * kThousandths);
}

}  // namespace

void Calibration::Add(const Past& past) {
  if (scores_.size() == kMostScores) scores_.pop_front();
  scores_.push_back(ScoreOf(past));
}

void Calibration::SetWaiting(const std::vector<Past>& waiting) {
  waiting_.clear();
  for (const Past& past : waiting) waiting_.push_back(ScoreOf(past));
}

Correction Calibration::Now() const {
  if (scores_.size() < kFewestScores) return {};
  std::vector<provisioning::Survival::Sample> samples;
  samples.reserve(scores_.size() + waiting_.size());
  for (const double score : scores_) samples.push_back({Whole(score), 1, true});
  for (const double score : waiting_) samples.push_back({Whole(score), 1, false});
  const provisioning::Survival survival(std::move(samples));
  const auto score_at = [&survival](double share) {
    const std::int64_t most = Whole(kHighest);
    return static_cast<double>(survival.Quantile(0, share, most)) / kThousandths + kLowest;
  };
  return {score_at(0.1), score_at(0.5), score_at(0.9)};
}

StartQuantiles Correction::Of(const StartQuantiles& raw) const {
  if (!corrects_) return raw;
  const auto scale = static_cast<double>(ScaleOf(raw).count());
  const auto corrected = [&](double score) {
    return std::max(raw.p50 + Duration(std::llround(scale * score)), Duration(0));
  };
  StartQuantiles made{corrected(low_), corrected(median_), corrected(high_)};
  made.p50 = std::max(made.p50, made.p10);
  made.p90 = std::max(made.p90, made.p50);
  return made;
}

}  // namespace berth::simulation
