// base/cron_schedule.h — schedules of CronJobs: "*/5 8-18 * * mon-fri", "@daily",
// "@every 90m".
//
// Threads: immutable. Source: Kubernetes "CronJob", schedule syntax; robfig/cron's rules, restated:
// local times that a clock change skips are not run, those that it repeats are run twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/time_zone.h"

namespace berth {

class CronSchedule {
 public:
  // The error is kInvalid and says what is wrong.
  static Result<CronSchedule> Parse(std::string_view text);

  // The first time after `after`; nullopt: none within five years.
  std::optional<WallTime> Next(WallTime after, const TimeZone& zone) const;
  // The last time after `after` and not after `until`.
  std::optional<WallTime> Latest(WallTime after, WallTime until, const TimeZone& zone) const;

 private:
  struct Field {
    std::uint64_t values = 0;  // a bit per value
    bool is_any = false;       // "*" or "?"
    bool Has(int value) const { return (values >> static_cast<unsigned>(value) & 1U) != 0; }
  };
  struct Bounds;

  static Result<Field> ParseField(std::string_view text, const Bounds& bounds);
  static Result<Field> ParseRange(std::string_view text, const Bounds& bounds);
  static Result<CronSchedule> ParseDescriptor(std::string_view text);
  bool IsDay(std::int64_t day) const;  // since 1970

  Duration every_{};  // the span of "@every"; zero: the fields count
  Field minutes_;
  Field hours_;
  Field days_;
  Field months_;
  Field weekdays_;
};

}  // namespace berth
