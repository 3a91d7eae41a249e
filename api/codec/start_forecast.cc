#include "api/codec/start_forecast.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/codec/json_text.h"
#include "api/codec/json_write.h"
#include "api/codec/parts.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

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
  Json out = {{"at", FormatTime(forecast.at)},
              {"p10", InstantJson(forecast.p10)},
              {"p50", InstantJson(forecast.p50)},
              {"p90", InstantJson(forecast.p90)}};
  if (forecast.drawn) {
    out["drawn"] = {{"p10", FormatTime(forecast.drawn->p10)},
                    {"p50", FormatTime(forecast.drawn->p50)},
                    {"p90", FormatTime(forecast.drawn->p90)}};
  }
  return out;
}

// Left out unless it is whole and in order.
void ReadDrawn(const Reader& in, std::optional<DrawnForecast>& out) {
  std::optional<WallTime> p10;
  std::optional<WallTime> p50;
  std::optional<WallTime> p90;
  in.Field("p10").Get(p10);
  in.Field("p50").Get(p50);
  in.Field("p90").Get(p90);
  if (!p10 || !p50 || !p90 || *p50 < *p10 || *p90 < *p50) return;
  out = DrawnForecast{*p10, *p50, *p90};
}

template <typename T>
void ReadQuantiles(const Reader& in, T& out) {
  in.Field("at").Get(out.at);
  in.Field("p10").Get(out.p10);
  in.Field("p50").Get(out.p50);
  in.Field("p90").Get(out.p90);
  Order(out.p10, out.p50);
  Order(out.p50, out.p90);
  const Reader drawn = in.Field("drawn");
  if (drawn.present()) ReadDrawn(drawn, out.drawn);
}

}  // namespace

std::string EncodeStartForecast(const StartForecast& forecast) {
  Json out = QuantilesJson(forecast);
  if (forecast.first) out["first"] = QuantilesJson(*forecast.first);
  if (forecast.later) out["later"] = QuantilesJson(*forecast.later);
  if (forecast.in_time) out["inTime"] = *forecast.in_time;
  return FormatJson(out);
}

Result<StartForecast> DecodeStartForecast(std::string_view text) {
  thread_local JsonText parser;  // its memory is used again: a list has thousands of these
  BERTH_TRY(const JsonNode* root, parser.Parse(text));
  return ReadAs<StartForecast>(*root, [](const Reader& in, StartForecast& out) {
    ReadQuantiles(in, out);
    const Reader first = in.Field("first");
    if (first.present()) ReadQuantiles(first, out.first.emplace());
    const Reader later = in.Field("later");
    if (later.present()) ReadQuantiles(later, out.later.emplace());
    in.Field("inTime").Get(out.in_time);
  });
}

}  // namespace berth::api
