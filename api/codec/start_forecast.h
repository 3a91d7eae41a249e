// api/codec/start_forecast.h — StartForecast as JSON, the value of the annotation berth.dev/eta,
// and back.
//
//     {"at":"2026-11-23T12:00:00Z","p10":"…","p50":"…","p90":"…"}; null: never
//     where earlier starts corrected it, "drawn": {"p10":…,"p50":…,"p90":…}, as it was drawn;
//     and, of a later forecast of the same wait, "first" with the same fields
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "api/start_forecast.h"
#include "base/result.h"

namespace berth::api {

std::string EncodeStartForecast(const StartForecast& forecast);
// The text is not trusted, whichever program wrote the annotation: in the result a higher quantile
// is no earlier than a lower one, and exists only if the lower one does. kInvalid: `text` is no
// such JSON.
Result<StartForecast> DecodeStartForecast(std::string_view text);

}  // namespace berth::api
