#include "forecast/eta_notes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "api/codec/start_forecast.h"
#include "api/deadline.h"
#include "api/reasons.h"
#include "forecast/forecast_cluster.h"
#include "view/screens/eta_cell.h"

namespace berth::forecast {
namespace {

constexpr char kNoForecastYet[] = "no forecast yet: --draw makes one";

// The ClusterQueue of each LocalQueue, by namespace/name.
using QueueNames = std::unordered_map<std::string, std::string>;

QueueNames ClusterQueuesOf(const view::ClusterView& view) {
  QueueNames names;
  for (const api::LocalQueue& queue : view.local_queues) {
    names[queue.meta.namespace_name + "/" + queue.meta.name] = queue.cluster_queue;
  }
  return names;
}

std::optional<Duration> FromNow(const std::optional<WallTime>& instant, WallTime now) {
  return instant ? std::optional<Duration>(*instant - now) : std::nullopt;
}

// Why the Workload waits now, in the words of the scheduler.
std::string WaitsFor(const api::Workload& workload) {
  const api::Condition* reserved =
      api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  return reserved == nullptr ? "" : reserved->message;
}

view::EtaRow RowOf(const std::shared_ptr<const view::ClusterView>& view,
                   const api::Workload& workload, const std::optional<api::StartForecast>& note,
                   const QueueNames& queues) {
  view::EtaRow row{.workload = {view, &workload}};
  row.deadline = api::DeadlineOf(workload.meta.annotations);
  const auto queue = queues.find(workload.meta.namespace_name + "/" + workload.spec.queue_name);
  if (queue != queues.end()) row.cluster_queue = queue->second;
  if (!note) {
    row.why = kNoForecastYet;
    return row;
  }
  row.noted = note->at;
  if (note->in_time) row.in_time = static_cast<double>(*note->in_time) / 100;
  row.p10 = FromNow(note->p10, view->now);
  row.p50 = FromNow(note->p50, view->now);
  row.p90 = FromNow(note->p90, view->now);
  if (!row.p90) row.why = WaitsFor(workload);
  return row;
}

}  // namespace

bool ForecastQuestion::Names(const api::Workload& workload) const {
  const bool narrow = !all || !namespace_name.empty();
  if (narrow && !all_namespaces && workload.meta.namespace_name != default_namespace) return false;
  return all || IsMeantBy(reference, workload);
}

view::EtaHits ControllerHits(const view::ClusterView& view) {
  view::EtaHits hits;
  double within_p50 = 0;
  double within_p90 = 0;
  for (const api::Workload& workload : view.workloads) {
    const std::string* text = api::FindValue(workload.meta.annotations, api::kEtaAnnotation);
    if (text == nullptr) continue;
    const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
    if (admitted == nullptr || admitted->status != api::ConditionStatus::kTrue) continue;
    const auto note = api::DecodeStartForecast(*text);
    if (!note) continue;
    const api::JudgedForecast first = api::FirstOf(*note);
    if (admitted->last_transition_time < first.at) continue;
    const api::ForecastHit hit = api::HitOf(first, admitted->last_transition_time);
    ++hits.starts;
    if (hit <= api::ForecastHit::kP50) ++within_p50;
    if (hit <= api::ForecastHit::kP90) ++within_p90;
  }
  if (hits.starts == 0) return hits;
  hits.within_p50 = within_p50 / static_cast<double>(hits.starts);
  hits.within_p90 = within_p90 / static_cast<double>(hits.starts);
  return hits;
}

std::optional<view::EtaView> EtaFromNotes(const std::shared_ptr<const view::ClusterView>& view,
                                          const ForecastQuestion& question) {
  view::EtaView answer;
  answer.now = view->now;
  const QueueNames queues = ClusterQueuesOf(*view);
  for (const api::Workload& workload : view->workloads) {
    if (!view::IsWaiting(workload) || !question.Names(workload)) continue;
    auto note = view::ForecastOf(*view, workload);
    if (note && view->now - note->at > kFreshForecast) note.reset();
    if (note) ++answer.noted;
    if (note && note->drawn) ++answer.corrected;
    answer.rows.push_back(RowOf(view, workload, note, queues));
    if (note) answer.oldest_note = std::min(answer.oldest_note.value_or(note->at), note->at);
  }
  if (answer.noted == 0) return std::nullopt;
  answer.controller = ControllerHits(*view);
  view::SortRows(answer);
  return answer;
}

}  // namespace berth::forecast
