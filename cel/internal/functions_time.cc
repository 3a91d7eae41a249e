// Parts of timestamps and durations. A time zone is "UTC" or an offset like "+02:00"; names of
// zones need a database, which pure code does not have.
#include <chrono>
#include <optional>
#include <string>

#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year_month_day;

constexpr std::int64_t kNanosPerMilli = 1'000'000;

bool TakeTwoDigits(std::string_view& text, int& value) {
  if (text.size() < 2 || text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') {
    return false;
  }
  value = (text[0] - '0') * 10 + (text[1] - '0');
  text.remove_prefix(2);
  return true;
}

// "+02:00", "-08:00", "02:00", "UTC".
std::optional<seconds> ParseZone(std::string_view text) {
  if (text.empty() || text == "UTC") return seconds(0);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int hours = 0;
  int minutes = 0;
  if (!TakeTwoDigits(text, hours) || !text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  if (!TakeTwoDigits(text, minutes) || !text.empty() || hours > 23 || minutes > 59) {
    return std::nullopt;
  }
  const seconds offset(hours * 3600 + minutes * 60);
  return negative ? -offset : offset;
}

// The timestamp of argument 0 in the zone of argument 1, if there is one.
struct LocalTime {
  year_month_day date;
  sys_days day;
  seconds of_day;
  std::int32_t nanos = 0;
};

template <typename Part>
Value PartOfTimestamp(const Call& call, Part part) {
  if (!call.Is(0, Kind::kTimestamp)) return call.NoOverload();
  seconds offset(0);
  if (call.size() == 2) {
    if (!call.Is(1, Kind::kString)) return call.NoOverload();
    const auto zone = ParseZone(call[1].AsText());
    if (!zone) {
      return Value::Failure("unknown time zone " + ToText(call[1]) +
                            ": write UTC or an offset like +02:00");
    }
    offset = *zone;
  }
  const Instant instant = call[0].AsInstant();
  const sys_seconds time{seconds(instant.seconds) + offset};
  LocalTime local;
  local.day = floor<days>(time);
  local.date = year_month_day(local.day);
  local.of_day = time - local.day;
  local.nanos = instant.nanos;
  return Value::Int(static_cast<std::int64_t>(part(local)));
}

Value GetFullYear(const Call& call) {
  return PartOfTimestamp(call, [](const LocalTime& time) { return int(time.date.year()); });
}
Value GetMonth(const Call& call) {
  return PartOfTimestamp(call,
                         [](const LocalTime& time) { return unsigned(time.date.month()) - 1; });
}
Value GetDate(const Call& call) {
  return PartOfTimestamp(call, [](const LocalTime& time) { return unsigned(time.date.day()); });
}
Value GetDayOfMonth(const Call& call) {
  return PartOfTimestamp(call, [](const LocalTime& time) { return unsigned(time.date.day()) - 1; });
}
Value GetDayOfYear(const Call& call) {
  return PartOfTimestamp(call, [](const LocalTime& time) {
    return (time.day - sys_days(time.date.year() / 1 / 1)).count();
  });
}
Value GetDayOfWeek(const Call& call) {
  return PartOfTimestamp(
      call, [](const LocalTime& time) { return std::chrono::weekday(time.day).c_encoding(); });
}

// Hours, minutes and seconds of a duration are the whole of it in that unit.
Value WholeDuration(const Call& call, std::int64_t nanos_per_unit) {
  if (call.size() != 1) return call.NoOverload();
  return Value::Int(call[0].AsNanoseconds() / nanos_per_unit);
}

Value GetHours(const Call& call) {
  if (call.Is(0, Kind::kDuration)) return WholeDuration(call, 3600 * 1000 * kNanosPerMilli);
  return PartOfTimestamp(call, [](const LocalTime& time) { return time.of_day.count() / 3600; });
}
Value GetMinutes(const Call& call) {
  if (call.Is(0, Kind::kDuration)) return WholeDuration(call, 60 * 1000 * kNanosPerMilli);
  return PartOfTimestamp(call, [](const LocalTime& time) { return time.of_day.count() / 60 % 60; });
}
Value GetSeconds(const Call& call) {
  if (call.Is(0, Kind::kDuration)) return WholeDuration(call, 1000 * kNanosPerMilli);
  return PartOfTimestamp(call, [](const LocalTime& time) { return time.of_day.count() % 60; });
}
Value GetMilliseconds(const Call& call) {
  if (call.Is(0, Kind::kDuration)) return WholeDuration(call, kNanosPerMilli);
  return PartOfTimestamp(call, [](const LocalTime& time) { return time.nanos / kNanosPerMilli; });
}

constexpr FunctionEntry kTime[] = {
    {"getFullYear", Style::kMethod, 1, 2, GetFullYear},
    {"getMonth", Style::kMethod, 1, 2, GetMonth},
    {"getDate", Style::kMethod, 1, 2, GetDate},
    {"getDayOfMonth", Style::kMethod, 1, 2, GetDayOfMonth},
    {"getDayOfYear", Style::kMethod, 1, 2, GetDayOfYear},
    {"getDayOfWeek", Style::kMethod, 1, 2, GetDayOfWeek},
    {"getHours", Style::kMethod, 1, 2, GetHours},
    {"getMinutes", Style::kMethod, 1, 2, GetMinutes},
    {"getSeconds", Style::kMethod, 1, 2, GetSeconds},
    {"getMilliseconds", Style::kMethod, 1, 2, GetMilliseconds},
};

}  // namespace

std::span<const FunctionEntry> TimeFunctions() { return kTime; }

}  // namespace berth::cel
