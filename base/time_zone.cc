#include "base/time_zone.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace berth {
namespace {

constexpr std::int64_t kDaySeconds = 86400;
constexpr std::size_t kHeaderBytes = 44;
constexpr std::uint32_t kMostEntries = 100'000;
constexpr std::int32_t kLongestOffset = 7 * 24 * 3600;

using std::chrono::day;
using std::chrono::days;
using std::chrono::month;
using std::chrono::sys_days;
using std::chrono::year;

// The days since 1970 of a rule's day in `y`.
std::int64_t DayIn(const ZoneRule::Day& rule, int y) {
  const auto first = [&](int m) {
    const auto at = sys_days(year(y) / month(static_cast<unsigned>(m)) / day(1));
    return static_cast<std::int64_t>(at.time_since_epoch().count());
  };
  if (rule.form == ZoneRule::Day::Form::kZeroBased) return first(1) + rule.day;
  if (rule.form == ZoneRule::Day::Form::kJulian) {
    const bool after_leap_day = year(y).is_leap() && rule.day >= 60;
    return first(1) + rule.day - 1 + (after_leap_day ? 1 : 0);
  }
  const std::int64_t start = first(rule.month);
  const std::int64_t weekday = ((start + 4) % 7 + 7) % 7;
  std::int64_t at = start + (rule.day - weekday + 7) % 7 + 7 * (rule.week - 1);
  const std::int64_t next = rule.month == 12 ? start + 31 : first(rule.month + 1);
  while (at >= next) at -= 7;
  return at;
}

int YearOf(std::int64_t unix_seconds) {
  const std::int64_t whole = unix_seconds / kDaySeconds - (unix_seconds % kDaySeconds < 0 ? 1 : 0);
  return static_cast<int>(
      std::chrono::year_month_day(sys_days(days(static_cast<int>(whole)))).year());
}

// Reads a POSIX TZ string from its begin.
class ZoneRuleReader {
 public:
  explicit ZoneRuleReader(std::string_view text) : text_(text) {}

  bool AtEnd() const { return text_.empty(); }
  bool Take(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool Name() {
    const bool quoted = Take('<');
    std::size_t size = 0;
    while (size < text_.size() && (quoted ? text_[size] != '>' : IsLetter(text_[size]))) ++size;
    if (size == 0) return false;
    text_.remove_prefix(size);
    return !quoted || Take('>');
  }
  std::optional<int> Number() {
    int number = 0;
    std::size_t size = 0;
    while (size < text_.size() && size < 5 && text_[size] >= '0' && text_[size] <= '9') {
      number = number * 10 + (text_[size++] - '0');
    }
    if (size == 0) return std::nullopt;
    text_.remove_prefix(size);
    return number;
  }
  // [+-]hh[:mm[:ss]], in seconds.
  std::optional<int> Time() {
    const bool negative = Take('-');
    if (!negative) Take('+');
    int seconds = 0;
    for (int unit = 3600; unit > 0; unit /= 60) {
      const auto number = Number();
      if (!number || *number > 200) return std::nullopt;
      seconds += *number * unit;
      if (unit == 1 || !Take(':')) break;
    }
    return negative ? -seconds : seconds;
  }
  std::optional<ZoneRule::Day> Day() {
    ZoneRule::Day rule;
    if (!Take(',')) return std::nullopt;
    if (Take('M')) {
      rule.month = Number().value_or(0);
      rule.week = Take('.') ? Number().value_or(0) : 0;
      rule.day = Take('.') ? Number().value_or(7) : 7;
      const bool exists =
          rule.month >= 1 && rule.month <= 12 && rule.week >= 1 && rule.week <= 5 && rule.day <= 6;
      if (!exists) return std::nullopt;
    } else {
      rule.form = Take('J') ? ZoneRule::Day::Form::kJulian : ZoneRule::Day::Form::kZeroBased;
      const auto number = Number();
      if (!number || *number > 366) return std::nullopt;
      rule.day = *number;
    }
    if (!Take('/')) return rule;
    const auto time = Time();
    if (!time) return std::nullopt;
    rule.time = *time;
    return rule;
  }

 private:
  static bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  std::string_view text_;
};

std::uint64_t BigEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

struct Header {
  std::uint32_t utc_flags = 0;
  std::uint32_t standard_flags = 0;
  std::uint32_t leaps = 0;
  std::uint32_t times = 0;
  std::uint32_t types = 0;
  std::uint32_t letters = 0;

  std::size_t DataBytes(std::size_t time_bytes) const {
    return times * (time_bytes + 1) + types * 6UL + letters + leaps * (time_bytes + 4) +
           standard_flags + utc_flags;
  }
};

std::optional<Header> ReadHeader(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, 4) != "TZif") return std::nullopt;
  std::array<std::uint32_t, 6> counts{};
  for (std::size_t at = 0; at < counts.size(); ++at) {
    counts[at] = static_cast<std::uint32_t>(BigEndian(bytes.substr(20 + 4 * at, 4)));
    if (counts[at] > kMostEntries) return std::nullopt;
  }
  return Header{counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]};
}

}  // namespace

std::optional<ZoneRule> ZoneRule::Parse(std::string_view text) {
  ZoneRuleReader reader(text);
  ZoneRule rule;
  if (!reader.Name()) return std::nullopt;
  const auto standard = reader.Time();
  if (!standard) return std::nullopt;
  rule.standard = -*standard;
  if (reader.AtEnd()) return rule;
  if (!reader.Name()) return std::nullopt;
  rule.has_summer = true;
  rule.summer = rule.standard + 3600;
  // An offset of its own begins with a digit or a sign; the rules with a comma.
  ZoneRuleReader ahead = reader;
  if (!ahead.Take(',')) {
    const auto summer = reader.Time();
    if (!summer) return std::nullopt;
    rule.summer = -*summer;
  }
  const auto start = reader.Day();
  const auto end = start ? reader.Day() : std::nullopt;
  if (!end || !reader.AtEnd()) return std::nullopt;
  rule.start = *start;
  rule.end = *end;
  return rule;
}

std::int32_t ZoneRule::OffsetAt(std::int64_t unix_seconds) const {
  if (!has_summer) return standard;
  const int y = YearOf(unix_seconds + standard);
  const std::int64_t begin = DayIn(start, y) * kDaySeconds + start.time - standard;
  const std::int64_t finish = DayIn(end, y) * kDaySeconds + end.time - summer;
  const bool is_summer = begin < finish ? begin <= unix_seconds && unix_seconds < finish
                                        : unix_seconds < finish || begin <= unix_seconds;
  return is_summer ? summer : standard;
}

Result<TimeZone> TimeZone::FromTzif(std::string_view bytes) {
  const Error damaged{ErrorCode::kInvalid, "not a TZif file"};
  auto header = ReadHeader(bytes);
  if (!header || bytes[4] < '2') return damaged;  // version 1 has 32-bit times
  const std::size_t first_block = kHeaderBytes + header->DataBytes(4);
  if (bytes.size() < first_block) return damaged;
  bytes.remove_prefix(first_block);
  header = ReadHeader(bytes);
  if (!header || header->types == 0) return damaged;
  bytes.remove_prefix(kHeaderBytes);
  const std::size_t data = header->DataBytes(8);
  if (bytes.size() < data) return damaged;
  const std::string_view kinds = bytes.substr(header->times * 8UL, header->times);
  const std::string_view types = bytes.substr(header->times * 9UL, header->types * 6UL);
  std::vector<std::int32_t> offsets;
  for (std::size_t at = 0; at < header->types; ++at) {
    const auto offset = static_cast<std::int32_t>(BigEndian(types.substr(6 * at, 4)));
    if (offset < -kLongestOffset || offset > kLongestOffset) return damaged;
    offsets.push_back(offset);
  }
  TimeZone zone;
  zone.first_offset_ = offsets[0];
  for (std::size_t at = 0; at < header->times; ++at) {
    const auto time = static_cast<std::int64_t>(BigEndian(bytes.substr(8 * at, 8)));
    const auto kind = static_cast<unsigned char>(kinds[at]);
    const bool in_order = zone.changes_.empty() || zone.changes_.back().at < time;
    if (kind >= offsets.size() || !in_order) return damaged;
    zone.changes_.push_back({time, offsets[kind]});
  }
  bytes.remove_prefix(data);
  const std::size_t line_end = bytes.find('\n', 1);
  if (bytes.empty() || bytes[0] != '\n' || line_end == std::string_view::npos) return zone;
  zone.rule_ = ZoneRule::Parse(bytes.substr(1, line_end - 1));
  return zone;
}

std::int32_t TimeZone::OffsetAt(std::int64_t unix_seconds) const {
  const auto next =
      std::upper_bound(changes_.begin(), changes_.end(), unix_seconds,
                       [](std::int64_t time, const Change& one) { return time < one.at; });
  if (next == changes_.end() && rule_) return rule_->OffsetAt(unix_seconds);
  return next == changes_.begin() ? first_offset_ : std::prev(next)->offset;
}

Result<TimeZone> LoadTimeZone(const std::string& name) {
  if (name == "UTC" || name == "Etc/UTC") return TimeZone();
  const Error unknown{ErrorCode::kNotFound, "unknown time zone " + name};
  const bool is_plain = !name.empty() && name.size() < 256 && name[0] != '/' &&
                        std::all_of(name.begin(), name.end(), [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                 (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' ||
                                 c == '+';
                        });
  if (!is_plain) return unknown;
  const std::string path = "/usr/share/zoneinfo/" + name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return unknown;
  std::ifstream file(path, std::ios::binary);
  if (!file) return unknown;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  auto zone = TimeZone::FromTzif(bytes);
  if (!zone) return unknown;
  return zone;
}

}  // namespace berth
