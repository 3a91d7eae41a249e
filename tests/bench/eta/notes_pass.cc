// The time of `berth eta --all` where the controller keeps forecasts on Workloads.
#include "tests/bench/eta/notes_pass.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "api/codec/start_forecast.h"
#include "api/reasons.h"
#include "forecast/eta_notes.h"

namespace berth::bench {
namespace {

constexpr int kQueues = 30;
constexpr int kRuns = 7;

api::Workload WaitingOf(int number, WallTime now) {
  api::Workload workload;
  workload.meta.namespace_name = "team-" + std::to_string(number % kQueues);
  workload.meta.name = "job-train-" + std::to_string(number) + "-1a2b3";
  workload.meta.uid = "uid-" + std::to_string(number);
  workload.meta.owner_references = {{.api_version = "batch/v1",
                                     .kind = "Job",
                                     .name = "train-" + std::to_string(number),
                                     .controller = true}};
  workload.spec.queue_name = "main";
  workload.spec.active = true;
  // No two alike, and in no order.
  const auto wait = std::chrono::seconds(60 + number * 7919LL % 86'400);
  const WallTime at = now - std::chrono::seconds(number % 600);
  api::StartForecast forecast{
      .at = at, .p10 = now + wait / 2, .p50 = now + wait, .p90 = now + wait * 2};
  forecast.first = api::JudgedForecast{
      .at = at - std::chrono::hours(2), .p10 = now, .p50 = now + wait, .p90 = now + wait * 3};
  workload.meta.annotations[api::kEtaAnnotation] = api::EncodeStartForecast(forecast);
  return workload;
}

}  // namespace

void PrintNotesPass(int pending) {
  auto view = std::make_shared<view::ClusterView>();
  view->now = WallTime(std::chrono::hours(490'000));
  for (int i = 0; i < kQueues; ++i) {
    api::LocalQueue& queue = view->local_queues.emplace_back();
    queue.meta.namespace_name = "team-" + std::to_string(i);
    queue.meta.name = "main";
    queue.cluster_queue = "queue-" + std::to_string(i);
  }
  for (int i = 0; i < pending; ++i) view->workloads.push_back(WaitingOf(i, view->now));
  const forecast::ForecastQuestion question{.all = true, .default_namespace = "default"};
  double best[3] = {0, 0, 0};
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = forecast::EtaFromNotes(view, question);
    const auto answered = std::chrono::steady_clock::now();
    const std::string text = RenderEta(*answer, {});
    const auto drawn = std::chrono::steady_clock::now();
    const std::string json = EtaJsonText(*answer);
    const auto written = std::chrono::steady_clock::now();
    const double taken[3] = {std::chrono::duration<double, std::milli>(answered - begin).count(),
                             std::chrono::duration<double, std::milli>(drawn - answered).count(),
                             std::chrono::duration<double, std::milli>(written - drawn).count()};
    for (int part = 0; part < 3; ++part) {
      best[part] = i == 0 ? taken[part] : std::min(best[part], taken[part]);
    }
    if (static_cast<int>(answer->rows.size()) != pending || text.empty() || json.empty()) {
      std::printf("rows are missing\n");
    }
  }
  std::printf(
      "\nforecasts of the controller for %d waiting jobs: %.1f ms, and %.1f ms as a table, or "
      "%.1f ms as JSON (best of %d)\n",
      pending, best[0], best[1], best[2], kRuns);
}

}  // namespace berth::bench
