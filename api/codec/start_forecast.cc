#include "api/codec/start_forecast.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/parts.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

constexpr JsonLimits kForecastLimits{.max_depth = 3, .max_values = 100};

Json InstantJson(const std::optional<WallTime>& instant) {
  return instant ? Json(FormatTime(*instant)) : Json();
}

void Order(const std::optional<WallTime>& before, std::optional<WallTime>& after) {
  if (!before) after.reset();
  if (after) after = std::max(*after, *before);
}

// Both kinds of forecast have these fields.
template <typename T>
Json QuantilesJson(const T& forecast) {
  return {{"at", FormatTime(forecast.at)},
          {"p10", InstantJson(forecast.p10)},
          {"p50", InstantJson(forecast.p50)},
          {"p90", InstantJson(forecast.p90)}};
}

template <typename T>
void ReadQuantiles(const Reader& in, T& out) {
  in.Field("at").Get(out.at);
  in.Field("p10").Get(out.p10);
  in.Field("p50").Get(out.p50);
  in.Field("p90").Get(out.p90);
  Order(out.p10, out.p50);
  Order(out.p50, out.p90);
}

}  // namespace

std::string EncodeStartForecast(const StartForecast& forecast) {
  Json out = QuantilesJson(forecast);
  if (forecast.first) out["first"] = QuantilesJson(*forecast.first);
  return out.dump();
}

Result<StartForecast> DecodeStartForecast(std::string_view text) {
  BERTH_TRY(const Json tree, ParseJson(text, kForecastLimits));
  return ReadAs<StartForecast>(tree, [](const Reader& in, StartForecast& out) {
    ReadQuantiles(in, out);
    const Reader first = in.Field("first");
    if (first.present()) ReadQuantiles(first, out.first.emplace());
  });
}

}  // namespace berth::api
