#include "base/go_duration.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "base/strings.h"

namespace berth {
namespace {

// Adds `count` units; returns false where the sum exceeds the range of Go's durations.
bool AddTo(std::chrono::nanoseconds& sum, std::chrono::nanoseconds unit, std::int64_t count) {
  if (unit == std::chrono::nanoseconds::zero()) return true;
  if (count > (std::chrono::nanoseconds::max() - sum) / unit) return false;
  sum += unit * count;
  return true;
}

}  // namespace

std::optional<Duration> ParseGoDuration(std::string_view text) {
  using std::chrono::nanoseconds;
  struct TimeUnit {
    std::string_view name;
    nanoseconds span;
  };
  constexpr std::array<TimeUnit, 7> kUnits{{{"ns", nanoseconds(1)},
                                            {"us", std::chrono::microseconds(1)},
                                            {"\u00b5s", std::chrono::microseconds(1)},
                                            {"ms", std::chrono::milliseconds(1)},
                                            {"s", std::chrono::seconds(1)},
                                            {"m", std::chrono::minutes(1)},
                                            {"h", std::chrono::hours(1)}}};
  constexpr std::size_t kMostDigits = 9;
  if (text == "0") return Duration::zero();
  if (text.empty()) return std::nullopt;
  nanoseconds sum{};
  while (!text.empty()) {
    const auto digits = [&text] {
      const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
      const std::string_view found = text.substr(0, count);
      text.remove_prefix(count);
      return found;
    };
    const std::string_view whole = digits();
    std::string_view fraction;
    if (!text.empty() && text.front() == '.') {
      text.remove_prefix(1);
      fraction = digits().substr(0, kMostDigits);
    }
    const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const TimeUnit& candidate) {
      return text.starts_with(candidate.name);
    });
    if (whole.size() > kMostDigits || (whole.empty() && fraction.empty()) || unit == kUnits.end()) {
      return std::nullopt;
    }
    text.remove_prefix(unit->name.size());
    if (!AddTo(sum, unit->span, ParseInt64(whole).value_or(0))) return std::nullopt;
    nanoseconds part = unit->span;
    for (const char digit : fraction) {
      part /= 10;
      if (!AddTo(sum, part, digit - '0')) return std::nullopt;
    }
  }
  return std::chrono::duration_cast<Duration>(sum);
}

}  // namespace berth
