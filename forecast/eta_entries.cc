#include "forecast/eta_entries.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/strings.h"

namespace berth::forecast {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLongest = 365LL * 24 * 3600 * 100;

Duration SpanOf(std::int64_t seconds) { return std::chrono::seconds(seconds); }
std::int64_t SecondsOf(Duration span) {
  return std::chrono::round<std::chrono::seconds>(span).count();
}

// nullopt: the field is missing, or no number of seconds.
std::optional<std::int64_t> SecondsAt(const Json& line, const char* field) {
  const auto found = line.find(field);
  if (found == line.end() || !found->is_number_integer()) return std::nullopt;
  const auto seconds = found->get<std::int64_t>();
  if (seconds < 0 || seconds > kLongest) return std::nullopt;
  return seconds;
}

std::optional<EtaEntry> EntryOf(const Json& line) {
  if (!line.is_object() || !line.contains("uid") || !line["uid"].is_string()) return std::nullopt;
  const auto at = SecondsAt(line, "at");
  const auto p10 = SecondsAt(line, "p10");
  const auto p50 = SecondsAt(line, "p50");
  const auto p90 = SecondsAt(line, "p90");
  const auto told50 = SecondsAt(line, "told50");
  const auto told90 = SecondsAt(line, "told90");
  if (!at || !p10 || !p50 || !p90 || !told50 || !told90) return std::nullopt;
  const bool waits = !line.contains("wait");
  const auto wait = SecondsAt(line, "wait");
  if (!waits && !wait) return std::nullopt;
  using simulation::ForecastGroup;
  const bool later = line.contains("later") && line["later"] == true;
  const bool named = line.contains("queue") && line["queue"].is_string();
  return EtaEntry{
      .uid = line["uid"].get<std::string>(),
      .at = *at,
      .group = {named ? line["queue"].get<std::string>() : "",
                later ? ForecastGroup::Made::kLater : ForecastGroup::Made::kAtSubmission},
      .raw = {SpanOf(*p10), SpanOf(*p50), SpanOf(*p90)},
      .told_p50 = SpanOf(*told50),
      .told_p90 = SpanOf(*told90),
      .wait = wait};
}

}  // namespace

Result<std::vector<EtaEntry>> ParseEtaEntries(std::string_view text) {
  std::vector<EtaEntry> entries;
  std::int64_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const Json parsed = api::ParseJsonOrNull(line, {.max_depth = 2, .max_values = 100});
    std::optional<EtaEntry> entry = EntryOf(parsed);
    if (!entry) {
      return Error{ErrorCode::kInvalid,
                   "line " + std::to_string(number) + " is no forecast of `berth eta --scores`"};
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

std::string FormatEtaEntries(const std::vector<EtaEntry>& entries) {
  std::string text;
  for (const EtaEntry& entry : entries) {
    Json line = {{"uid", entry.uid},
                 {"at", entry.at},
                 {"queue", entry.group.queue},
                 {"later", entry.group.made == simulation::ForecastGroup::Made::kLater},
                 {"p10", SecondsOf(entry.raw.p10)},
                 {"p50", SecondsOf(entry.raw.p50)},
                 {"p90", SecondsOf(entry.raw.p90)},
                 {"told50", SecondsOf(entry.told_p50)},
                 {"told90", SecondsOf(entry.told_p90)}};
    if (entry.wait) line["wait"] = *entry.wait;
    text += api::FormatJson(line) + "\n";
  }
  return text;
}

}  // namespace berth::forecast
