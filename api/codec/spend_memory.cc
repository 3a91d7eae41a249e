#include "api/codec/spend_memory.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/codec/parts.h"

namespace berth::api {
namespace {

constexpr JsonLimits kSpendLimits{.max_depth = 8, .max_values = 100'000};

struct DayEntry {
  std::int64_t day = 0;
  DaySpend spend;
};

void ReadDay(const Reader& in, DayEntry& entry) {
  in.Field("day").Get(entry.day);
  in.Field("folded").Get(entry.spend.folded);
  entry.spend.folded = std::max<std::int64_t>(entry.spend.folded, 0);
  in.Field("charges").EachMember("object", [&](const std::string& workload, const Reader& item) {
    std::int64_t amount = 0;
    item.Get(amount);
    entry.spend.charges[workload] = std::max<std::int64_t>(amount, 0);
  });
}

}  // namespace

std::string EncodeSpend(const QueueSpend& spend) {
  Json days = Json::array();
  for (const auto& [day, each] : spend) {
    Json charges = Json::object();
    for (const auto& [workload, amount] : each.charges) charges[workload] = amount;
    Json& out = days.emplace_back(Json{{"day", day}, {"charges", std::move(charges)}});
    if (each.folded != 0) out["folded"] = each.folded;
  }
  return FormatJson(Json{{"days", std::move(days)}});
}

Result<QueueSpend> DecodeSpend(std::string_view text) {
  BERTH_TRY(const Json tree, ParseJson(text, kSpendLimits));
  using Days = std::vector<DayEntry>;
  BERTH_TRY(const Days days, ReadAs<Days>(tree, [](const Reader& in, Days& out) {
              in.Field("days").List(out, ReadDay);
            }));
  QueueSpend spend;
  for (const DayEntry& entry : days) spend.emplace(entry.day, entry.spend);
  return spend;
}

}  // namespace berth::api
