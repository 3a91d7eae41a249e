// cel/internal/numbers.h — texts of numbers, durations and timestamps, as Go writes and reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace berth::cel {

inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

// The shortest text that reads back as `value`: "1.5", "1e+06", "NaN", "+Inf".
std::string FormatDouble(double value);
// The shortest text of `value` without an exponent: "1000000".
std::string FormatPlainDouble(double value);
// Decimal, with a fraction and an exponent, "NaN", "Inf" and "Infinity" in any case, a sign.
std::optional<double> ParseDouble(std::string_view text);
std::optional<std::uint64_t> ParseUint64(std::string_view text);

// "1h30m", "1.5s", "-2us": kinds of units as in Go. nullopt on anything else and on overflow.
std::optional<std::int64_t> ParseDuration(std::string_view text);
std::string FormatDuration(std::int64_t nanoseconds);  // "5400s", "0.5s"

// RFC 3339 with up to nine digits of a fraction (further ones are cut), years 1 to 9999.
std::optional<Instant> ParseInstant(std::string_view text);
std::string FormatInstant(Instant instant);
bool IsInstantInRange(Instant instant);

}  // namespace berth::cel
