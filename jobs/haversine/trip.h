// jobs/haversine/trip.h — trips as four columns, and the count of bad ones.
//
// Units: degrees, WGS 84, as the taxi data has them; kilometres (kernel_variants.h: the sphere).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace berth::haversine {

// The column order of a raw file, and of the published calculation.
inline constexpr std::array<std::string_view, 4> kColumnNames = {
    "pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude"};

// Coordinates or distances, in memory that a device may provide (Device::memory).
using Values = std::pmr::vector<double>;

// All columns have the same length; index = row.
struct Columns {
  Columns() = default;
  explicit Columns(std::pmr::memory_resource* memory)
      : values{Values(memory), Values(memory), Values(memory), Values(memory)} {}

  std::array<Values, 4> values;  // in the order of kColumnNames

  std::size_t size() const { return values[0].size(); }
  void Resize(std::size_t rows) {
    for (auto& column : values) column.resize(rows);
  }
  void Reserve(std::size_t rows) {
    for (auto& column : values) column.reserve(rows);
  }
};

// The rows of the input by fate: read = used + zero + impossible + malformed.
struct RowCounts {
  std::uint64_t read = 0;
  std::uint64_t used = 0;
  std::uint64_t zero = 0;        // a coordinate is exactly 0, the data's "unknown"
  std::uint64_t impossible = 0;  // beyond ±90° or ±180°, or not a number
  std::uint64_t malformed = 0;   // a column is missing or is not a number

  void Add(const RowCounts& other);
  friend bool operator==(const RowCounts&, const RowCounts&) = default;
};

// The first malformed row, for the report.
struct BadRow {
  std::uint64_t line = 0;  // 1 is the header; 0: no bad row
  std::string what;        // "column dropoff_latitude: "abc" is not a number"
};

enum class Verdict : std::uint8_t { kGood, kZero, kImpossible };

inline Verdict JudgePoint(double longitude, double latitude) {
  if (longitude == 0.0 || latitude == 0.0) return Verdict::kZero;
  const bool possible =
      longitude >= -180.0 && longitude <= 180.0 && latitude >= -90.0 && latitude <= 90.0;
  return possible ? Verdict::kGood : Verdict::kImpossible;
}

// A zero in either point takes precedence over an impossible value.
Verdict JudgeTrip(const std::array<double, 4>& trip);

// Removes the trips that cannot be computed from `columns` and counts all trips in `counts`.
void DropBadTrips(Columns& columns, RowCounts& counts);

}  // namespace berth::haversine
