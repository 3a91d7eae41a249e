// `berth eta` as JSON, written value by value: ten thousand jobs take a tenth of the time of a
// tree.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "view/screens/cluster_view.h"
#include "view/screens/eta_screen.h"

namespace berth::view {
namespace {

using api::JsonPrinter;
using simulation::RunForecast;

void PutTextOrNull(JsonPrinter& out, const std::string& text) {
  text.empty() ? out.Null() : out.Text(text);
}

// Members in the order of their keys, here and below.
template <typename Put>
void PutQuantiles(JsonPrinter& out, const EtaRow& row, const Put& put) {
  out.Open('{');
  for (const auto& [key, span] :
       {std::pair("p10", &row.p10), std::pair("p50", &row.p50), std::pair("p90", &row.p90)}) {
    out.Key(key);
    *span ? put(std::max(**span, Duration(0))) : out.Null();
  }
  out.Close('}');
}

void PutRun(JsonPrinter& out, const RunForecast* run) {
  if (run == nullptr) return out.Null();
  out.Open('{');
  out.Key("basis");
  out.Text(ToString(run->level));
  out.Key("declaredSeconds");
  run->declared ? out.Number(*run->declared) : out.Null();
  out.Key("p50Seconds");
  out.Number(static_cast<std::int64_t>(std::llround(run->At(0.5))));
  out.Key("p90Seconds");
  out.Number(static_cast<std::int64_t>(std::llround(run->At(0.9))));
  out.Key("runs");
  out.Number(run->runs);
  out.Close('}');
}

void PutCapacity(JsonPrinter& out, const std::optional<simulation::CapacityWait>& capacity) {
  if (!capacity) return out.Null();
  out.Open('{');
  for (const auto& [key, wait] : {std::pair("p10", capacity->p10), std::pair("p50", capacity->p50),
                                  std::pair("p90", capacity->p90)}) {
    out.Key(key);
    out.Number(WholeSeconds(wait));
  }
  out.Close('}');
}

void PutRow(JsonPrinter& out, const EtaView& view, const EtaRow& row) {
  const api::Workload& workload = *row.workload;
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  out.Open('{');
  out.Key("capacityWaitSeconds");
  PutCapacity(out, row.capacity);
  out.Key("chance");
  row.noted || (view.noted > 0 && !row.p10) ? out.Null() : out.Real(row.chance);
  out.Key("clusterQueue");
  out.Text(row.cluster_queue);
  out.Key("deadline");
  row.deadline ? out.Text(FormatTime(*row.deadline)) : out.Null();
  out.Key("forecastAt");
  row.noted ? out.Text(FormatTime(*row.noted)) : out.Null();
  out.Key("inTime");
  row.in_time ? out.Real(*row.in_time) : out.Null();
  out.Key("kind");
  out.Text(owner == nullptr ? "Workload" : owner->kind);
  out.Key("localQueue");
  out.Text(workload.spec.queue_name);
  out.Key("name");
  out.Text(owner == nullptr ? workload.meta.name : owner->name);
  out.Key("namespace");
  out.Text(workload.meta.namespace_name);
  out.Key("priority");
  out.Number(std::int64_t{workload.spec.priority.value_or(0)});
  out.Key("reason");
  PutTextOrNull(out, row.why);
  out.Key("run");
  PutRun(out, row.run.get());
  out.Key("start");
  PutQuantiles(out, row,
               [&](Duration span) { out.Text(FormatTime(CutToSeconds(view.now + span))); });
  out.Key("startSeconds");
  PutQuantiles(out, row, [&](Duration span) { out.Number(WholeSeconds(span)); });
  out.Key("workload");
  out.Text(workload.meta.name);
  out.Close('}');
}

void PutHits(JsonPrinter& out, const EtaHits& hits, bool with_corrects) {
  out.Open('{');
  if (with_corrects) {
    out.Key("corrects");
    out.Flag(hits.corrects);
  }
  out.Key("starts");
  out.Number(hits.starts);
  out.Key("withinP50");
  out.Real(hits.within_p50);
  out.Key("withinP90");
  out.Real(hits.within_p90);
  out.Close('}');
}

void PutRunTimes(JsonPrinter& out, const EtaView& view) {
  std::map<std::string, std::int64_t> sorted;
  for (const auto& [level, count] : view.basis) sorted[ToString(level)] = count;
  out.Open('{');
  for (const auto& [level, count] : sorted) {
    out.Key(level.c_str());
    out.Number(count);
  }
  out.Close('}');
}

}  // namespace

std::string EtaJsonText(const EtaView& view) {
  JsonPrinter out;
  out.Open('{');
  out.Key("at");
  out.Text(FormatTime(CutToSeconds(view.now)));
  out.Key("controllerScores");
  view.controller.starts > 0 ? PutHits(out, view.controller, false) : out.Null();
  out.Key("corrected");
  out.Number(view.corrected);
  out.Key("draws");
  out.Number(std::int64_t{view.draws});
  out.Key("jobs");
  out.Open('[');
  for (const EtaRow& row : view.rows) PutRow(out, view, row);
  out.Close(']');
  out.Key("leftOut");
  out.Open('[');
  for (const std::string& note : view.notes) out.Text(note);
  out.Close(']');
  out.Key("runTimes");
  PutRunTimes(out, view);
  out.Key("scores");
  view.hits ? PutHits(out, *view.hits, true) : out.Null();
  out.Key("seed");
  out.Number(view.seed);
  out.Key("stoppedEarly");
  out.Number(view.stopped_early);
  out.Close('}');
  return out.Take();
}

nlohmann::json EtaJson(const EtaView& view) { return api::ParseJsonOrNull(EtaJsonText(view)); }

}  // namespace berth::view
