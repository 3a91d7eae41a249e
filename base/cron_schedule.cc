#include "base/cron_schedule.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "base/strings.h"

namespace berth {
namespace {

constexpr std::int64_t kCronMinute = 60;
constexpr std::int64_t kCronHour = 3600;
constexpr std::int64_t kCronDay = 86400;
constexpr std::int64_t kHorizon = 5 * 366 * kCronDay;
constexpr std::size_t kLongestText = 1024;
constexpr std::int64_t kLongestEvery = 10 * 366 * kCronDay;

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

year_month_day DateOf(std::int64_t day) { return {sys_days(days(static_cast<int>(day)))}; }

Error Invalid(std::string what) { return {ErrorCode::kInvalid, std::move(what)}; }

// A span in Go's form: "1h30m", "90s".
std::optional<std::int64_t> ParseSeconds(std::string_view text) {
  std::int64_t seconds = 0;
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    const auto number = ParseInt64(text.substr(0, digits));
    if (digits == 0 || digits == text.size() || !number || *number > kLongestEvery) {
      return std::nullopt;
    }
    const char unit = text[digits];
    const std::int64_t factor = unit == 'h'   ? kCronHour
                                : unit == 'm' ? kCronMinute
                                : unit == 's' ? 1
                                              : 0;
    if (factor == 0) return std::nullopt;
    seconds += *number * factor;
    if (seconds > kLongestEvery) return std::nullopt;
    text.remove_prefix(digits + 1);
  }
  if (seconds < 1) return std::nullopt;
  return seconds;
}

// Local time of one zone.
class LocalTimes {
 public:
  explicit LocalTimes(const TimeZone& zone) : zone_(zone) {}

  std::int64_t ToLocal(std::int64_t at) const { return at + zone_.OffsetAt(at); }
  // The instant of a local time; if the local time does not exist, the first instant after it.
  std::int64_t FromLocal(std::int64_t local) const {
    std::int64_t at = local - zone_.OffsetAt(local - zone_.OffsetAt(local));
    if (ToLocal(at) < local) at += local - ToLocal(at);
    return at;
  }

 private:
  const TimeZone& zone_;
};

}  // namespace

struct CronSchedule::Bounds {
  const char* name;
  int least;
  int most;
  std::vector<std::string_view> names;  // the names of `least` and the values after it

  std::optional<int> Number(std::string_view text) const {
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (EqualsIgnoreCase(text, names[at])) return least + static_cast<int>(at);
    }
    const auto number = ParseInt64(text);
    const bool is_plain = !text.empty() && text[0] >= '0' && text[0] <= '9';
    if (!number || !is_plain || *number > 1'000'000) return std::nullopt;
    return static_cast<int>(*number);
  }
};

Result<CronSchedule::Field> CronSchedule::ParseRange(std::string_view text, const Bounds& bounds) {
  const std::string quoted = std::string(bounds.name) + " \"" + std::string(text) + "\"";
  const std::vector<std::string_view> parts = Split(text, '/');
  if (parts.size() > 2) return Invalid("too many slashes in " + quoted);
  const std::vector<std::string_view> ends = Split(parts[0], '-');
  if (ends.size() > 2) return Invalid("too many hyphens in " + quoted);
  Field field;
  int first = bounds.least;
  int last = bounds.most;
  if (ends[0] == "*" || ends[0] == "?") {
    if (ends.size() == 2) return Invalid("a range from * in " + quoted);
    field.is_any = true;
  } else {
    const auto from = bounds.Number(ends[0]);
    if (!from) return Invalid("no number in " + quoted);
    first = *from;
    last = parts.size() == 2 ? bounds.most : first;
    if (ends.size() == 2) {
      const auto to = bounds.Number(ends[1]);
      if (!to) return Invalid("no number in " + quoted);
      last = *to;
    }
  }
  int step = 1;
  if (parts.size() == 2) {
    const auto given = bounds.Number(parts[1]);
    if (!given || *given == 0) return Invalid("the step is no number above 0 in " + quoted);
    step = *given;
    if (step > 1) field.is_any = false;
  }
  if (first < bounds.least || last > bounds.most) {
    return Invalid(quoted + " is outside of " + std::to_string(bounds.least) + " to " +
                   std::to_string(bounds.most));
  }
  if (first > last) return Invalid("the range ends before it begins in " + quoted);
  for (int value = first; value <= last; value += step) {
    field.values |= std::uint64_t{1} << static_cast<unsigned>(value);
  }
  return field;
}

Result<CronSchedule::Field> CronSchedule::ParseField(std::string_view text, const Bounds& bounds) {
  Field field;
  for (const std::string_view part : Split(text, ',')) {
    if (part.empty()) continue;
    BERTH_TRY(const Field range, ParseRange(part, bounds));
    field.values |= range.values;
    field.is_any = field.is_any || range.is_any;
  }
  if (field.values == 0) return Invalid(std::string("the ") + bounds.name + " field is empty");
  return field;
}

Result<CronSchedule> CronSchedule::ParseDescriptor(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames{{
      {"@yearly", "0 0 1 1 *"},
      {"@annually", "0 0 1 1 *"},
      {"@monthly", "0 0 1 * *"},
      {"@weekly", "0 0 * * 0"},
      {"@daily", "0 0 * * *"},
      {"@midnight", "0 0 * * *"},
      {"@hourly", "0 * * * *"},
  }};
  for (const auto& [name, fields] : kNames) {
    if (text == name) return Parse(fields);
  }
  constexpr std::string_view kEvery = "@every ";
  if (text.substr(0, kEvery.size()) == kEvery) {
    const auto seconds = ParseSeconds(text.substr(kEvery.size()));
    if (!seconds) return Invalid("no span such as 1h30m in \"" + std::string(text) + "\"");
    CronSchedule schedule;
    schedule.every_ = std::chrono::seconds(*seconds);
    return schedule;
  }
  return Invalid("unrecognized descriptor: " + std::string(text));
}

Result<CronSchedule> CronSchedule::Parse(std::string_view text) {
  static const Bounds kMinutes{"minute", 0, 59, {}};
  static const Bounds kHours{"hour", 0, 23, {}};
  static const Bounds kDays{"day of the month", 1, 31, {}};
  static const Bounds kMonths{
      "month",
      1,
      12,
      {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}};
  static const Bounds kWeekdays{
      "day of the week", 0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}};
  if (text.size() > kLongestText) return Invalid("the schedule is longer than 1024 characters");
  text = TrimSpace(text);
  if (!text.empty() && text[0] == '@') return ParseDescriptor(text);
  std::vector<std::string_view> fields;
  for (const std::string_view word : Split(text, ' ')) {
    const std::string_view field = TrimSpace(word);
    if (!field.empty()) fields.push_back(field);
  }
  if (fields.size() != 5) {
    return Invalid("expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" +
                   std::string(text) + "]");
  }
  CronSchedule schedule;
  BERTH_TRY(schedule.minutes_, ParseField(fields[0], kMinutes));
  BERTH_TRY(schedule.hours_, ParseField(fields[1], kHours));
  BERTH_TRY(schedule.days_, ParseField(fields[2], kDays));
  BERTH_TRY(schedule.months_, ParseField(fields[3], kMonths));
  BERTH_TRY(schedule.weekdays_, ParseField(fields[4], kWeekdays));
  return schedule;
}

// Both fields count where one of them is "*"; else a day that one of them names.
bool CronSchedule::IsDay(std::int64_t day) const {
  const bool by_month = days_.Has(static_cast<int>(static_cast<unsigned>(DateOf(day).day())));
  const bool by_week = weekdays_.Has(static_cast<int>(((day + 4) % 7 + 7) % 7));
  return days_.is_any || weekdays_.is_any ? by_month && by_week : by_month || by_week;
}

std::optional<WallTime> CronSchedule::Next(WallTime after, const TimeZone& zone) const {
  const std::int64_t from =
      std::chrono::floor<std::chrono::seconds>(after.time_since_epoch()).count();
  if (every_ > Duration::zero()) return WallTime(std::chrono::seconds(from)) + every_;
  const LocalTimes clock(zone);
  std::int64_t at = (FloorDiv(from, kCronMinute) + 1) * kCronMinute;
  const std::int64_t end = from + kHorizon;
  while (at <= end) {
    const std::int64_t local = clock.ToLocal(at);
    const std::int64_t day = FloorDiv(local, kCronDay);
    const std::int64_t second = local - day * kCronDay;
    const year_month_day date = DateOf(day);
    if (!months_.Has(static_cast<int>(static_cast<unsigned>(date.month())))) {
      const auto next = sys_days((date.year() / date.month() / 1) + std::chrono::months(1));
      at = std::max(at + kCronMinute, clock.FromLocal(next.time_since_epoch().count() * kCronDay));
    } else if (!IsDay(day)) {
      at = std::max(at + kCronMinute, clock.FromLocal((day + 1) * kCronDay));
    } else if (!hours_.Has(static_cast<int>(second / kCronHour))) {
      at += kCronHour - second % kCronHour;
    } else if (!minutes_.Has(static_cast<int>(second % kCronHour / kCronMinute))) {
      at += kCronMinute - second % kCronMinute;
    } else {
      // Minutes of a zone whose offset has seconds begin between those of UTC.
      const std::int64_t minute = at - second % kCronMinute;
      if (minute > from) return WallTime(std::chrono::seconds(minute));
      at += kCronMinute;
    }
  }
  return std::nullopt;
}

// Looks back an hour first, then further: a schedule of each minute is not walked for years.
std::optional<WallTime> CronSchedule::Latest(WallTime after, WallTime until,
                                             const TimeZone& zone) const {
  if (every_ > Duration::zero()) {
    const WallTime start = CutToSeconds(after);
    if (until < start + every_) return std::nullopt;
    return start + (until - start) / every_ * every_;
  }
  std::optional<WallTime> latest;
  for (const std::int64_t back : {kCronHour, kCronDay, 32 * kCronDay, 366 * kCronDay, kHorizon}) {
    const WallTime start = std::max<WallTime>(after, until - std::chrono::seconds(back));
    for (auto next = Next(start, zone); next && *next <= until; next = Next(*next, zone)) {
      latest = next;
    }
    if (latest || start == after) return latest;
  }
  return latest;
}

}  // namespace berth
