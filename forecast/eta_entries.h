// forecast/eta_entries.h — the lines of the file of `berth eta --scores`.
//
// A line of JSON for each forecast:
// {"uid","at","queue","later","p10","p50","p90","told50","told90", "wait"}; times are in seconds,
// and `wait` is set once the job has started. `queue` and `later` may be absent.
//
// Threads: pure functions. Errors: kInvalid with the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulation/calibration.h"

namespace berth::forecast {

struct EtaEntry {
  std::string uid;
  std::int64_t at = 0;  // seconds since 1970
  simulation::ForecastGroup group;
  simulation::StartQuantiles raw;
  Duration told_p50{};
  Duration told_p90{};
  std::optional<std::int64_t> wait;  // seconds from `at` to the start; nullopt: not known
  friend bool operator==(const EtaEntry&, const EtaEntry&) = default;
};

Result<std::vector<EtaEntry>> ParseEtaEntries(std::string_view text);
std::string FormatEtaEntries(const std::vector<EtaEntry>& entries);

}  // namespace berth::forecast
