#include "simulation/calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
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

Correction CorrectionBy(std::vector<provisioning::Survival::Sample> samples, double weight) {
  const provisioning::Survival survival(std::move(samples));
  const auto score_at = [&survival](double share) {
    const std::int64_t most = Whole(kHighest);
    return static_cast<double>(survival.Quantile(0, share, most)) / kThousandths + kLowest;
  };
  return {score_at(0.1), score_at(0.5), score_at(0.9), weight};
}

int LengthOf(const StartQuantiles& raw) {
  const auto& lengths = Corrections::kLengths;
  return static_cast<int>(std::lower_bound(lengths.begin(), lengths.end(), raw.p50) -
                          lengths.begin());
}

}  // namespace

ForecastGroup GroupAt(std::string queue, Duration age) {
  using Made = ForecastGroup::Made;
  return {std::move(queue), age < kLaterAge ? Made::kAtSubmission : Made::kLater};
}

std::vector<Corrections::Level> Corrections::LevelsOf(const ForecastGroup& group,
                                                      const StartQuantiles& raw) {
  const int length = LengthOf(raw);
  std::vector<Level> levels;
  if (!group.queue.empty()) {
    levels.push_back({group.queue, group.made, length});
    levels.push_back({group.queue, group.made, std::nullopt});
  }
  levels.push_back({std::nullopt, group.made, length});
  levels.push_back({std::nullopt, group.made, std::nullopt});
  levels.push_back({});
  return levels;
}

const Correction* Corrections::For(const ForecastGroup& group, const StartQuantiles& raw) const {
  if (empty()) return nullptr;
  for (const Level& level : LevelsOf(group, raw)) {
    const auto known = by_level_.find(level);
    if (known != by_level_.end()) return &known->second;
  }
  return nullptr;
}

StartQuantiles Corrections::Of(const ForecastGroup& group, const StartQuantiles& raw) const {
  const Correction* correction = For(group, raw);
  return correction == nullptr ? raw : correction->Of(raw);
}

void Calibration::Add(const Past& past) {
  if (starts_.size() == kMostScores) starts_.pop_front();
  starts_.push_back(past);
}

void Calibration::SetWaiting(const std::vector<Past>& waiting) { waiting_ = waiting; }

Corrections Calibration::Now() const {
  if (starts_.size() < kFewestScores) return {};
  struct Scores {
    std::vector<provisioning::Survival::Sample> samples;
    std::size_t started = 0;
    std::set<std::int64_t> days;  // days of the forecasts whose job has started
  };
  std::map<Corrections::Level, Scores> by_level;
  const auto add = [&by_level](const Past& past) {
    const std::int64_t score = Whole(ScoreOf(past));
    for (const Corrections::Level& level : Corrections::LevelsOf(past.group, past.forecast)) {
      Scores& scores = by_level[level];
      scores.samples.push_back({score, 1, past.started});
      if (!past.started) continue;
      ++scores.started;
      scores.days.insert(std::chrono::floor<std::chrono::days>(past.at).time_since_epoch().count());
    }
  };
  for (const Past& past : starts_) add(past);
  for (const Past& past : waiting_) add(past);
  Corrections made;
  for (auto& [level, scores] : by_level) {
    if (scores.started < kFewestScores) continue;
    const auto days = static_cast<double>(scores.days.size());
    made.by_level_.emplace(level,
                           CorrectionBy(std::move(scores.samples), days / (days + days_of_doubt_)));
  }
  return made;
}

StartQuantiles Correction::Of(const StartQuantiles& raw) const {
  const auto scale = static_cast<double>(ScaleOf(raw).count());
  const auto corrected = [&](Duration quantile, double score) {
    const auto way = static_cast<double>((raw.p50 - quantile).count()) + scale * score;
    return std::max(quantile + Duration(std::llround(weight_ * way)), Duration(0));
  };
  StartQuantiles made{corrected(raw.p10, low_), corrected(raw.p50, median_),
                      corrected(raw.p90, high_)};
  made.p50 = std::max(made.p50, made.p10);
  made.p90 = std::max(made.p90, made.p50);
  return made;
}

}  // namespace berth::simulation
