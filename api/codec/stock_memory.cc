#include "api/codec/stock_memory.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/codec/parts.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

constexpr JsonLimits kStockLimits{.max_depth = 8, .max_values = 100'000};
constexpr Words<StockResult, 5> kResultWords{{{"granted", StockResult::kGranted},
                                              {"stockout", StockResult::kStockout},
                                              {"hard", StockResult::kHard},
                                              {"quota", StockResult::kQuota},
                                              {"timeout", StockResult::kTimeout}}};

void ReadOutcome(const Reader& in, StockOutcome& outcome) {
  in.Field("id").Get(outcome.id);
  in.Field("at").Get(outcome.asked_at);
  in.Field("wait").Get(outcome.wait_seconds);
  in.Field("pods").Get(outcome.pods);
  in.Field("result").Get(outcome.result, kResultWords);
}

void ReadEntry(const Reader& in, StockEntry& entry) {
  in.Field("flavor").Get(entry.key.flavor);
  in.Field("zone").Get(entry.key.zone);
  in.Field("shape").Get(entry.key.shape);
  in.Field("size").Get(entry.key.size);
  in.Field("strikes").Get(entry.strikes);
  in.Field("restUntil").Get(entry.rest_until);
  in.Field("reason").Get(entry.reason);
  in.Field("outcomes").List(entry.outcomes, ReadOutcome);
}

Json EncodeOutcome(const StockOutcome& outcome) {
  return {{"id", outcome.id},
          {"at", FormatTime(outcome.asked_at)},
          {"wait", outcome.wait_seconds},
          {"pods", outcome.pods},
          {"result", WordOf(outcome.result, kResultWords)}};
}

}  // namespace

std::string EncodeStock(const ClassStock& stock) {
  Json entries = Json::array();
  for (const StockEntry& entry : stock) {
    Json& each = entries.emplace_back(Json{{"shape", entry.key.shape}, {"size", entry.key.size}});
    if (!entry.key.flavor.empty()) each["flavor"] = entry.key.flavor;
    if (!entry.key.zone.empty()) each["zone"] = entry.key.zone;
    if (entry.strikes != 0) each["strikes"] = entry.strikes;
    if (entry.rest_until != WallTime{}) each["restUntil"] = FormatTime(entry.rest_until);
    if (!entry.reason.empty()) each["reason"] = entry.reason;
    Json& outcomes = each["outcomes"] = Json::array();
    for (const StockOutcome& outcome : entry.outcomes) outcomes.push_back(EncodeOutcome(outcome));
  }
  return FormatJson(Json{{"entries", std::move(entries)}});
}

Result<ClassStock> DecodeStock(std::string_view text) {
  BERTH_TRY(const Json tree, ParseJson(text, kStockLimits));
  BERTH_TRY(ClassStock stock, ReadAs<ClassStock>(tree, [](const Reader& in, ClassStock& out) {
              in.Field("entries").List(out, ReadEntry);
            }));
  std::stable_sort(stock.begin(), stock.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
  stock.erase(std::unique(stock.begin(), stock.end(),
                          [](const auto& a, const auto& b) { return a.key == b.key; }),
              stock.end());
  return stock;
}

}  // namespace berth::api
