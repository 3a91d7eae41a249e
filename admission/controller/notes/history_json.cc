#include "admission/controller/notes/history_json.h"

#include <charconv>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxMessageBytes = 240;  // limit of each reason

std::string Hex(std::uint64_t number) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; number >>= 4U) text[i] = "0123456789abcdef"[number & 0xFU];
  return text;
}

std::string TextAt(const Json& item, const char* key) {
  const auto found = item.find(key);
  return found != item.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string WithHistory(const std::string& explanation, const ReasonHistory& history) {
  if (!history.IsStory()) return explanation;
  Json items = Json::array();
  for (const PastReason& past : history.reasons()) {
    items.push_back({{"reason", std::string(past.stated->reason())},
                     {"message", TruncateUtf8(past.stated->message(), kMaxMessageBytes)},
                     {"cause", Hex(past.stated->cause())},
                     {"first", FormatTime(past.first)},
                     {"last", FormatTime(past.last)},
                     {"count", past.count}});
  }
  Json object = explanation.empty() ? Json::object() : api::ParseJsonOrNull(explanation);
  if (!object.is_object()) return explanation;
  object["history"] = std::move(items);
  return api::FormatJson(object);
}

void RestoreHistory(const std::string& explanation, ReasonHistory& history) {
  const Json object = api::ParseJsonOrNull(explanation);
  if (!object.is_object() || !object.contains("history") || !object["history"].is_array()) return;
  for (const Json& item : object["history"]) {
    if (!item.is_object()) continue;
    const std::string cause_text = TextAt(item, "cause");
    std::uint64_t cause = 0;
    std::from_chars(cause_text.data(), cause_text.data() + cause_text.size(), cause, 16);
    const auto first = ParseTime(TextAt(item, "first"));
    const auto last = ParseTime(TextAt(item, "last"));
    const auto count = item.find("count");
    if (!first || !last || count == item.end() || !count->is_number_integer()) continue;
    history.Restore({std::make_shared<const KnownReason>(TextAt(item, "reason"),
                                                         TextAt(item, "message"), cause),
                     *first, *last, count->get<std::int64_t>()});
  }
}

}  // namespace berth::admission
