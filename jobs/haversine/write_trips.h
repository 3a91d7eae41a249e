// jobs/haversine/write_trips.h — writes a source's trips to files that OpenCsv and OpenRaw read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "jobs/haversine/pipeline.h"
#include "jobs/haversine/source.h"

namespace berth::haversine {

// Both return the number of trips written; memory is bounded by a batch.

// The layout of New York's yellow-taxi files of 2015, with six decimals of a degree; columns that
// no computation reads have plausible constants.
Result<std::uint64_t> WriteCsv(Source& source, const std::string& path,
                               const std::function<void(const Progress&)>& on_progress);

// `rows` must be the number of rows that `source` yields.
Result<std::uint64_t> WriteRaw(Source& source, std::uint64_t rows, const std::string& path,
                               const std::function<void(const Progress&)>& on_progress);

}  // namespace berth::haversine
