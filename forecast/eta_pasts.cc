#include "forecast/eta_pasts.h"

#include <algorithm>

#include "api/codec/start_forecast.h"
#include "api/condition.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "view/screens/cluster_view.h"

namespace berth::forecast {

using simulation::Calibration;

std::optional<api::StartForecast> NoteOn(const api::Workload& workload) {
  const std::string* text = api::FindValue(workload.meta.annotations, api::kEtaAnnotation);
  if (text == nullptr) return std::nullopt;
  const auto note = api::DecodeStartForecast(*text);
  return note ? std::optional(*note) : std::nullopt;
}

std::optional<api::FirstForecast> FirstOfThisWait(const api::Workload& workload,
                                                  const api::StartForecast& note) {
  const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
  const api::FirstForecast first = api::FirstOf(note);
  if (admitted != nullptr && admitted->last_transition_time >= first.at) return std::nullopt;
  return first;
}

std::optional<Calibration::Past> PastOf(const api::FirstForecast& forecast, WallTime until,
                                        bool started) {
  const auto drawn = api::DrawnOf(forecast);
  if (!drawn) return std::nullopt;
  const auto span = [&forecast](WallTime instant) {
    return std::max(instant - forecast.at, Duration::zero());
  };
  return Calibration::Past{.forecast = {span(drawn->p10), span(drawn->p50), span(drawn->p90)},
                           .wait = span(until),
                           .started = started};
}

std::optional<StartPast> StartPastOf(const api::Workload& workload) {
  const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
  if (admitted == nullptr || admitted->status != api::ConditionStatus::kTrue) return std::nullopt;
  const auto note = NoteOn(workload);
  if (!note) return std::nullopt;
  const api::FirstForecast first = api::FirstOf(*note);
  const WallTime at = admitted->last_transition_time;
  if (at < first.at) return std::nullopt;
  const auto past = PastOf(first, at, true);
  return past ? std::optional(StartPast{at, *past}) : std::nullopt;
}

std::optional<Calibration::Past> WaitingPastOf(const api::Workload& workload, WallTime now) {
  if (!view::IsWaiting(workload)) return std::nullopt;
  const auto note = NoteOn(workload);
  const auto first = note ? FirstOfThisWait(workload, *note) : std::nullopt;
  return first ? PastOf(*first, now, false) : std::nullopt;
}

Calibration CalibrationOf(std::vector<StartPast> starts) {
  std::stable_sort(starts.begin(), starts.end(),
                   [](const StartPast& a, const StartPast& b) { return a.at < b.at; });
  Calibration calibration;
  for (const StartPast& start : starts) calibration.Add(start.past);
  return calibration;
}

Calibration CalibrationOf(const std::vector<api::Workload>& workloads, WallTime now) {
  std::vector<StartPast> starts;
  std::vector<Calibration::Past> waiting;
  for (const api::Workload& workload : workloads) {
    if (const auto start = StartPastOf(workload)) starts.push_back(*start);
    if (const auto past = WaitingPastOf(workload, now)) waiting.push_back(*past);
  }
  Calibration calibration = CalibrationOf(std::move(starts));
  calibration.SetWaiting(waiting);
  return calibration;
}

}  // namespace berth::forecast
