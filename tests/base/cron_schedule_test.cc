// Goal: schedules mean what Kubernetes' schedules mean, in every time zone.
// Method: rows of schedule, zone and time against the next time; zones from text and from the
// machine.
#include "base/cron_schedule.h"

#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth {
namespace {

WallTime At(const char* text) { return *ParseTime(text); }

struct NextRow {
  const char* schedule;
  const char* zone;
  const char* after;
  const char* next;  // "": none
};

TEST(CronScheduleTest, TheNextRunIsTheFirstLaterMatch) {
  const NextRow rows[] = {
      {"* * * * *", "UTC", "2026-11-22T10:00:00Z", "2026-11-22T10:01:00Z"},
      {"* * * * *", "UTC", "2026-11-22T10:00:59Z", "2026-11-22T10:01:00Z"},
      {"*/15 * * * *", "UTC", "2026-11-22T10:46:00Z", "2026-11-22T11:00:00Z"},
      {"5,10-12 3 * * ?", "UTC", "2026-11-22T03:10:30Z", "2026-11-22T03:11:00Z"},
      {"0 0 1 jan *", "UTC", "2026-11-22T10:00:00Z", "2027-01-01T00:00:00Z"},
      {"0 12 29 2 *", "UTC", "2026-11-22T10:00:00Z", "2028-02-29T12:00:00Z"},
      {"0 0 30 2 *", "UTC", "2026-11-22T10:00:00Z", ""},
      {"0 9 * * MON-FRI", "UTC", "2026-11-20T09:00:00Z", "2026-11-23T09:00:00Z"},
      {"0 9 13 * 5", "UTC", "2026-11-22T10:00:00Z", "2026-11-27T09:00:00Z"},  // a Friday
      {"0 9 */10 * 5", "UTC", "2026-11-28T10:00:00Z", "2026-12-01T09:00:00Z"},
      {"@hourly", "UTC", "2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z"},
      {"@weekly", "UTC", "2026-11-22T10:00:00Z", "2026-11-29T00:00:00Z"},
      {"@every 1h30m", "UTC", "2026-11-22T10:00:10Z", "2026-11-22T11:30:10Z"},
      {"0 8 * * *", "Asia/Kolkata", "2026-11-22T10:00:00Z", "2026-11-23T02:30:00Z"},
      {"0 8 * * *", "Europe/Berlin", "2026-07-01T10:00:00Z", "2026-07-02T06:00:00Z"},
      // A time that the clock skips is not run; one that it repeats is run twice.
      {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
      {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
      {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
      // Far beyond the last change of the zone's table.
      {"0 8 * * *", "America/New_York", "2050-07-01T13:00:00Z", "2050-07-02T12:00:00Z"},
      {"0 8 * * *", "America/New_York", "2050-12-01T14:00:00Z", "2050-12-02T13:00:00Z"},
  };
  for (const NextRow& row : rows) {
    const auto schedule = CronSchedule::Parse(row.schedule);
    ASSERT_TRUE(schedule) << row.schedule << ": " << schedule.error().message;
    const auto zone = LoadTimeZone(row.zone);
    ASSERT_TRUE(zone) << row.zone;
    const auto next = schedule->Next(At(row.after), *zone);
    EXPECT_EQ(next ? FormatTime(*next) : "", row.next) << row.schedule << " after " << row.after;
  }
}

TEST(CronScheduleTest, TheLatestRunIsTheLastMatchUpToNow) {
  const auto latest = [](const char* schedule, const char* after, const char* until) {
    const auto found = CronSchedule::Parse(schedule)->Latest(At(after), At(until), TimeZone());
    return found ? FormatTime(*found) : "";
  };
  EXPECT_EQ(latest("*/5 * * * *", "2026-11-22T10:00:00Z", "2026-11-22T10:04:59Z"), "");
  EXPECT_EQ(latest("*/5 * * * *", "2024-11-22T10:00:00Z", "2026-11-22T10:05:00Z"),
            "2026-11-22T10:05:00Z");
  EXPECT_EQ(latest("0 0 1 1 *", "2024-11-22T10:00:00Z", "2026-11-22T10:05:00Z"),
            "2026-01-01T00:00:00Z");
  EXPECT_EQ(latest("@every 7m", "2026-11-22T10:00:00Z", "2026-11-22T10:20:00Z"),
            "2026-11-22T10:14:00Z");
}

TEST(CronScheduleTest, RejectsInvalidSchedules) {
  const char* const rows[] = {
      "",          "* * * *",       "* * * * * *", "60 * * * *",  "* 24 * * *",
      "* * 0 * *", "* * * 13 *",    "* * * * 7",   "5-1 * * * *", "*/0 * * * *",
      "a * * * *", "1/2/3 * * * *", "-1 * * * *",  ", * * * *",   "@often",
      "@every",    "@every 5",      "@every -5s",  "* * * foo *", "1-2-3 * * * *"};
  for (const char* row : rows) {
    const auto schedule = CronSchedule::Parse(row);
    ASSERT_FALSE(schedule) << row;
    EXPECT_FALSE(schedule.error().message.empty()) << row;
  }
  EXPECT_FALSE(CronSchedule::Parse(std::string(5000, '1')));
}

TEST(TimeZoneTest, ReadsRulesOfSummerTime) {
  const auto rule = ZoneRule::Parse("CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_TRUE(rule);
  const auto offset = [&](const char* at) {
    return rule->OffsetAt(
        std::chrono::floor<std::chrono::seconds>(At(at).time_since_epoch()).count());
  };
  EXPECT_EQ(offset("2026-03-29T00:59:59Z"), 3600);
  EXPECT_EQ(offset("2026-03-29T01:00:00Z"), 7200);
  EXPECT_EQ(offset("2026-10-25T00:59:59Z"), 7200);
  EXPECT_EQ(offset("2026-10-25T01:00:00Z"), 3600);
  const auto south = ZoneRule::Parse("<-03>3<-02>,J60/0,300");
  ASSERT_TRUE(south);
  EXPECT_EQ(south->standard, -10800);
  EXPECT_EQ(south->summer, -7200);
  for (const char* bad : {"", "X", "CET", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M1.1.0", "<+03",
                          "CET-1CEST,M3.5.0,M10.5.0/3x"}) {
    EXPECT_FALSE(ZoneRule::Parse(bad)) << bad;
  }
}

TEST(TimeZoneTest, RejectsInvalidZones) {
  for (const char* name : {"", "Nowhere/City", "/etc/passwd", "../../etc/passwd", "Europe"}) {
    EXPECT_FALSE(LoadTimeZone(name)) << name;
  }
  EXPECT_FALSE(TimeZone::FromTzif("TZif2"));
  EXPECT_FALSE(TimeZone::FromTzif(std::string(200, '\xff')));
}

}  // namespace
}  // namespace berth
