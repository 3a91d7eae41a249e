// base/time_zone.h — the offsets of a time zone from UTC.
//
// Source: RFC 9636 (TZif), POSIX TZ strings. Leap seconds are not counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth {

// A POSIX TZ string: standard time, and summer time between two days of each year.
struct ZoneRule {
  struct Day {
    enum class Form : std::uint8_t { kMonthWeekDay, kJulian, kZeroBased };
    Form form = Form::kMonthWeekDay;
    int month = 1;
    int week = 1;     // 5: the last week of the month
    int day = 0;      // the day of the week, or of the year
    int time = 7200;  // seconds of the day
  };
  std::int32_t standard = 0;  // seconds east of UTC
  std::int32_t summer = 0;
  bool has_summer = false;
  Day start;
  Day end;

  static std::optional<ZoneRule> Parse(std::string_view text);
  std::int32_t OffsetAt(std::int64_t unix_seconds) const;
};

class TimeZone {
 public:
  TimeZone() = default;  // UTC
  // kInvalid: not a TZif file.
  static Result<TimeZone> FromTzif(std::string_view bytes);

  // Seconds east of UTC.
  std::int32_t OffsetAt(std::int64_t unix_seconds) const;

 private:
  struct Change {
    std::int64_t at = 0;
    std::int32_t offset = 0;
  };
  std::int32_t first_offset_ = 0;
  std::vector<Change> changes_;   // by time
  std::optional<ZoneRule> rule_;  // after the last change
};

// The zone of an IANA name, such as "Europe/Berlin", from the machine's database. kNotFound:
// unknown.
Result<TimeZone> LoadTimeZone(const std::string& name);

}  // namespace berth
