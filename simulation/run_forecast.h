// simulation/run_forecast.h — how long one job is going to run: a distribution, and the kind of
// runs on which it is based.
//
// Units: seconds. Threads: pure functions. Errors: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace berth::simulation {

// The runs on which a forecast is based, the most alike first (simulation/run_model.h).
enum class RunLevel : std::uint8_t {
  kBatch,      // the same kind, and submitted together with the job
  kKind,       // the same queue, submitter, name stem, image, requests and declared maximum
  kSubmitter,  // the same queue and submitter
  kRequests,   // the same queue, image and requests
  kDeclared,   // the same queue and a similar declared maximum
  kQueue,      // the same queue
  kCluster,    // any queue
  kPrior,      // no run is known
};
const char* ToString(RunLevel level);  // "batch", "kind", …

// Quantiles at even shares, from 0 to 1.
class RunForecast {
 public:
  static constexpr std::size_t kPoints = 33;

  std::array<double, kPoints> seconds{};
  RunLevel level = RunLevel::kPrior;  // the level of the most alike runs
  std::int64_t runs = 0;              // runs of this level that ended
  std::optional<std::int64_t> declared;

  // The quantile of `share`, in [0, 1].
  double At(double share) const;
};

}  // namespace berth::simulation
