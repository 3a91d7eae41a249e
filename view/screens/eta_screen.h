// view/screens/eta_screen.h — `berth eta`: when waiting jobs start, as text and JSON.
//
// Pure: data in, text out. The keys of JSON are stable; spans end in Seconds, instants are RFC
// 3339.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/workload.h"
#include "base/clock.h"
#include "simulation/forecast.h"
#include "view/screens/text.h"

namespace berth::view {

struct EtaRow {
  std::shared_ptr<const api::Workload> workload;
  std::string cluster_queue;
  // The times of the start from now; nullopt: the job starts in a smaller share of the draws.
  std::optional<Duration> p10;
  std::optional<Duration> p50;
  std::optional<Duration> p90;
  // When the controller made the forecast of the annotation; nullopt: `berth eta` has made the
  // forecast.
  std::optional<WallTime> noted;
  std::optional<WallTime> deadline;
  std::optional<double> in_time;  // the chance to end by `deadline`; nullopt: unknown
  double chance = 0;              // the chance of a start at all: a share of the draws
  std::string why;  // why the job does not start in all draws, or has no forecast; empty: it starts
  std::shared_ptr<const simulation::RunForecast> run;  // null: the job is in no queue
  std::optional<simulation::CapacityWait> capacity;
};

// The starts of jobs, compared with the forecasts that were reported earlier.
struct EtaHits {
  std::int64_t starts = 0;
  double within_p50 = 0;  // the share of these starts that were no later than the reported p50
  double within_p90 = 0;
  bool corrects = false;  // there are enough starts to correct new forecasts
};

struct EtaView {
  WallTime now{};
  int draws = 0;
  std::uint64_t seed = 0;
  std::vector<EtaRow> rows;
  // The number of jobs by the base of their run times.
  std::map<simulation::RunLevel, std::int64_t> basis;
  std::vector<std::string> notes;       // what the forecast leaves out
  std::int64_t stopped_early = 0;       // draws in which jobs preempted one another without end
  std::optional<EtaHits> hits;          // nullopt: no earlier forecasts are kept
  std::int64_t noted = 0;               // rows with a forecast of the controller
  std::optional<WallTime> oldest_note;  // when the oldest of these forecasts was made
  std::int64_t corrected = 0;           // rows with a forecast that earlier starts corrected
  EtaHits controller;                   // hits of the annotations of Workloads that have started
};

// Orders the rows by their medians; those that never start come last.
void SortRows(EtaView& view);
std::string RenderEta(const EtaView& view, const TextStyle& style);
// The text for one job.
std::string RenderEtaOf(const EtaView& view, const EtaRow& row);
// Indented by two blanks, keys sorted, without an end of the line.
std::string EtaJsonText(const EtaView& view);
// The JSON of EtaJsonText as a tree.
nlohmann::json EtaJson(const EtaView& view);

// The time until a start: "12m", "now", "never".
std::string SpanText(const std::optional<Duration>& span);
// The span of a forecast in seconds, rounded.
std::int64_t WholeSeconds(Duration span);

// "12 runs of its kind", "3 runs of its queue, at most 2h", …
std::string BasisText(const simulation::RunForecast& run);

}  // namespace berth::view
