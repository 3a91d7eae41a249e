// Targets of scalars: quantities, times, durations, schedules.
#include "api/quantity.h"
#include "base/cron_schedule.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "base/time_zone.h"
#include "local/apiserver/schema/quantity_text.h"
#include "tests/fuzz/targets.h"

namespace berth::fuzz {

void Quantities(std::string_view text) {
  if (const auto quantity = api::Quantity::Parse(text)) {
    const auto again = api::Quantity::Parse(quantity->ToString());
    Require(again && *again == *quantity, "a quantity reads as it is written");
    for (const char* resource : {"cpu", "memory", "gpu"}) {
      const api::Amount amount = api::ToAmount(resource, *quantity);
      const auto back = api::ParseAmount(resource, api::FormatAmount(resource, amount));
      Require(back && *back == amount, "an amount reads as it is written");
    }
  }
  if (const auto canonical = local::CanonicalQuantity(text)) {
    Require(local::CanonicalQuantity(*canonical) == canonical, "a canonical quantity stays so");
  }
}

void Times(std::string_view text) {
  if (const auto time = ParseTime(text)) {
    Require(ParseTime(FormatMicroTime(*time)) == time, "a time reads as it is written");
    (void)HumanDuration(time->time_since_epoch());
  }
  if (const auto bytes = Base64Decode(text)) {
    Require(Base64Decode(Base64Encode(*bytes)) == bytes, "bytes read as they are written");
  }
  (void)Base64UrlDecode(text);
  Require(IsValidUtf8(ReplaceInvalidUtf8(text)), "what is repaired is UTF-8");
  Require(IsValidUtf8(text) == (ReplaceInvalidUtf8(text) == text), "UTF-8 needs no repair");
  Require(!IsValidUtf8(text) || IsValidUtf8(TruncateUtf8(text, text.size() / 2)),
          "UTF-8 is not cut inside a character");
}

// A schedule, and a zone: a TZif file or a POSIX rule.
void Schedules(std::string_view text) {
  const auto [schedule_text, zone_text] = SplitParts(text);
  TimeZone zone;
  if (auto read = TimeZone::FromTzif(zone_text)) zone = std::move(*read);
  constexpr std::int64_t kFar = 200LL * 365 * 24 * 3600;
  if (const auto rule = ZoneRule::Parse(zone_text)) {
    (void)rule->OffsetAt(0);
    (void)rule->OffsetAt(kFar);
  }
  const auto schedule = CronSchedule::Parse(schedule_text);
  if (!schedule) return;
  WallTime after(std::chrono::seconds(1'790'000'000));
  for (int times = 0; times < 3; ++times) {
    const auto next = schedule->Next(after, zone);
    if (!next) return;
    Require(*next > after, "the next time is later");
    const auto latest = schedule->Latest(after, *next, zone);
    Require(latest && *latest > after && *latest <= *next, "the latest time is in the span");
    after = *next;
  }
}

}  // namespace berth::fuzz
