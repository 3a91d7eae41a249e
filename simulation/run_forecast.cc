#include "simulation/run_forecast.h"

#include <algorithm>

namespace berth::simulation {

const char* ToString(RunLevel level) {
  switch (level) {
    case RunLevel::kBatch: return "batch";
    case RunLevel::kKind: return "kind";
    case RunLevel::kSubmitter: return "submitter";
    case RunLevel::kRequests: return "requests";
    case RunLevel::kDeclared: return "declared";
    case RunLevel::kQueue: return "queue";
    case RunLevel::kCluster: return "cluster";
    case RunLevel::kPrior: return "prior";
  }
  return "";
}

double RunForecast::At(double share) const {
  const double place = std::clamp(share, 0.0, 1.0) * (kPoints - 1);
  const auto below = std::min(static_cast<std::size_t>(place), kPoints - 2);
  const double part = place - static_cast<double>(below);
  return seconds.at(below) + part * (seconds.at(below + 1) - seconds.at(below));
}

}  // namespace berth::simulation
