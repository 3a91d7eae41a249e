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

std::optional<api::JudgedForecast> FirstOfThisWait(const api::Workload& workload,
                                                   const api::StartForecast& note) {
  const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
  const api::JudgedForecast first = api::FirstOf(note);
  if (admitted != nullptr && admitted->last_transition_time >= first.at) return std::nullopt;
  return first;
}

std::vector<Calibration::Past> PastsOf(const api::StartForecast& note,
                                       const std::string& cluster_queue, WallTime until,
                                       bool started) {
  std::vector<Calibration::Past> pasts;
  const api::JudgedForecast first = api::FirstOf(note);
  const auto add = [&](const api::JudgedForecast& forecast) {
    const auto drawn = api::DrawnOf(forecast);
    if (!drawn || until < forecast.at) return;
    const auto span = [&forecast](WallTime instant) {
      return std::max(instant - forecast.at, Duration::zero());
    };
    pasts.push_back({.at = forecast.at,
                     .forecast = {span(drawn->p10), span(drawn->p50), span(drawn->p90)},
                     .wait = span(until),
                     .started = started,
                     .group = simulation::GroupAt(cluster_queue, forecast.at - first.at)});
  };
  add(first);
  if (note.later) add(*note.later);
  return pasts;
}

StartPasts StartPastsOf(const api::Workload& workload) {
  const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
  if (admitted == nullptr || admitted->status != api::ConditionStatus::kTrue) return {};
  const auto note = NoteOn(workload);
  if (!note) return {};
  const WallTime at = admitted->last_transition_time;
  const auto& admission = workload.status.admission;
  return {at, PastsOf(*note, admission ? admission->cluster_queue : "", at, true)};
}

std::vector<Calibration::Past> WaitingPastsOf(const api::Workload& workload,
                                              const std::string& cluster_queue, WallTime now) {
  if (!view::IsWaiting(workload)) return {};
  const auto note = NoteOn(workload);
  if (!note || !FirstOfThisWait(workload, *note)) return {};
  return PastsOf(*note, cluster_queue, now, false);
}

Calibration CalibrationOf(std::vector<StartPasts> starts) {
  std::stable_sort(starts.begin(), starts.end(),
                   [](const StartPasts& a, const StartPasts& b) { return a.at < b.at; });
  Calibration calibration;
  for (const StartPasts& start : starts) {
    for (const Calibration::Past& past : start.pasts) calibration.Add(past);
  }
  return calibration;
}

Calibration CalibrationOf(const view::ClusterView& view) {
  std::vector<StartPasts> starts;
  std::vector<Calibration::Past> waiting;
  for (const api::Workload& workload : view.workloads) {
    if (api::FindValue(workload.meta.annotations, api::kEtaAnnotation) == nullptr) continue;
    starts.push_back(StartPastsOf(workload));
    const auto waits = WaitingPastsOf(workload, view::ClusterQueueOf(view, workload), view.now);
    waiting.insert(waiting.end(), waits.begin(), waits.end());
  }
  Calibration calibration = CalibrationOf(std::move(starts));
  calibration.SetWaiting(waiting);
  return calibration;
}

}  // namespace berth::forecast
