#include "program/caller_what_if.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/quantity.h"
#include "api/yaml/yaml.h"
#include "forecast/forecast_cluster.h"
#include "forecast/what_if_changes.h"
#include "ledger/ledger_reader.h"
#include "view/screens/what_if_screen.h"

namespace berth::program {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxChangeBytes = 1024;
constexpr std::int64_t kCallerDrawnJobs = 20'000;  // the limit of all draws together
constexpr int kMostCallerDraws = 20;
constexpr int kFewestCallerDraws = 3;
constexpr auto kCallerHistory = std::chrono::hours(24 * 30);
constexpr std::int64_t kMostCallerAttempts = 50'000;

Result<std::vector<std::string>> ChangesOf(const Json& body, const char* key) {
  std::vector<std::string> changes;
  const auto found = body.find(key);
  if (found == body.end()) return changes;
  const auto is_change = [](const Json& each) {
    return each.is_string() && each.get_ref<const std::string&>().size() <= kMaxChangeBytes;
  };
  if (!found->is_array() || found->size() > kMostWhatIfChanges ||
      !std::all_of(found->begin(), found->end(), is_change)) {
    return Error{ErrorCode::kInvalid, std::string(key) + ": a list of at most " +
                                          std::to_string(kMostWhatIfChanges) + " texts is needed"};
  }
  for (const Json& each : *found) changes.push_back(each.get<std::string>());
  return changes;
}

std::vector<ledger::AttemptRecord> AttemptsOf(const std::string& file, WallTime now) {
  if (file.empty()) return {};
  auto reader = ledger::LedgerReader::Open(file);
  if (!reader) return {};
  ledger::HistoryFilter filter;
  filter.since = ledger::ToSeconds(now - kCallerHistory);
  const auto count = reader->CountAttempts(filter);
  if (!count || *count > kMostCallerAttempts) return {};
  auto attempts = reader->Attempts(filter);
  return attempts ? *std::move(attempts) : std::vector<ledger::AttemptRecord>();
}

Result<std::string> TextAfter(const forecast::QuotaChange& change, const Json& before) {
  const std::string text = before.is_string() ? before.get<std::string>() : api::FormatJson(before);
  BERTH_TRY(const api::Amount now, api::ParseAmount(change.resource, text));
  return api::FormatAmount(change.resource, change.After(now));
}

// The entries of a list in an object; empty where it has none.
Json& ListIn(Json& object, const char* key) {
  static Json none;
  none = Json::array();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() || !found->is_array() ? none : *found;
}

Status SetQuota(Json& spec, const forecast::QuotaChange& change) {
  for (Json& group : ListIn(spec, "resourceGroups")) {
    for (Json& flavor : ListIn(group, "flavors")) {
      if (flavor.value("name", "") != change.flavor) continue;
      for (Json& resource : ListIn(flavor, "resources")) {
        if (resource.value("name", "") != change.resource) continue;
        BERTH_TRY(resource["nominalQuota"], TextAfter(change, resource["nominalQuota"]));
        return OkStatus();
      }
    }
  }
  return Error{ErrorCode::kNotFound, "ClusterQueue " + change.queue + " has no quota of " +
                                         change.resource + " in flavor " + change.flavor};
}

}  // namespace

Result<CallerWhatIf> ParseWhatIf(const std::string& body) {
  constexpr int kDepth = 3;
  const Json object = api::ParseJsonOrNull(body, {.max_depth = kDepth, .max_values = 128});
  if (!object.is_object()) {
    return Error{ErrorCode::kInvalid, "send an object of JSON with quota, priority or stop"};
  }
  for (const auto& [key, value] : object.items()) {
    if (key != "quota" && key != "priority" && key != "stop") {
      return Error{ErrorCode::kInvalid, "a key is unknown; use quota, priority, stop"};
    }
  }
  CallerWhatIf asked;
  BERTH_TRY(asked.quota, ChangesOf(object, "quota"));
  BERTH_TRY(asked.priority, ChangesOf(object, "priority"));
  BERTH_TRY(asked.stop, ChangesOf(object, "stop"));
  if (asked.quota.empty() && asked.priority.empty() && asked.stop.empty()) {
    return Error{ErrorCode::kInvalid, "name a change: quota, priority or stop"};
  }
  return asked;
}

Result<Json> AnswerWhatIf(const CallerWhatIf& asked, const view::ClusterView& view,
                          const CallerWhatIfOptions& options) {
  const forecast::WhatIfOptions changes{
      .quota = asked.quota, .priority = asked.priority, .stop = asked.stop, .nodes = {}};
  const forecast::WhatIfInput input{
      .options = changes, .changed = {}, .submitted = {}, .default_namespace = "default"};
  BERTH_TRY(forecast::ChangedView changed, forecast::ChangeView(view, input));
  forecast::ForecastCluster before =
      forecast::MakeForecastCluster(view, AttemptsOf(options.ledger, view.now));
  before.world.driver = options.driver;
  const forecast::ForecastCluster after = forecast::WithView(before, std::move(changed.view));
  const forecast::ForecastJobs jobs_before = forecast::ForecastJobsOf(before);
  const forecast::ForecastJobs jobs_after = forecast::ForecastJobsOf(after);
  simulation::ForecastOptions forecast = ForecastOptionsOf(before);
  const auto jobs = static_cast<std::int64_t>(jobs_before.jobs.size() + jobs_after.jobs.size());
  forecast.draws = static_cast<int>(std::clamp<std::int64_t>(kCallerDrawnJobs / (jobs + 1),
                                                             kFewestCallerDraws, kMostCallerDraws));
  forecast.until = simulation::ForecastUntil::kFinished;
  forecast.cancelled = options.is_late;
  const auto first = simulation::MakeForecast(before.cluster, jobs_before.jobs, forecast);
  const auto second =
      simulation::MakeForecast(after.cluster, jobs_after.jobs, ForecastOptionsOf(after, forecast));
  if (options.is_late && options.is_late()) {
    return Error{ErrorCode::kTooManyRequests,
                 "the forecasts take too long here: use `berth what-if`"};
  }
  view::WhatIfView screen{.now = view.now,
                          .draws = forecast.draws,
                          .seed = forecast.seed,
                          .changes = std::move(changed.changes),
                          .notes = after.notes};
  screen.jobs = simulation::CompareForecasts({jobs_before.jobs, first}, {jobs_after.jobs, second});
  for (const std::string& each : view::NotSeen(view)) screen.notes.push_back(each);
  return view::WhatIfJson(screen);
}

std::vector<std::string> QueuesOf(const CallerWhatIf& asked) {
  std::set<std::string> names;
  for (const std::string& each : asked.quota) {
    if (const auto change = forecast::ParseQuotaChange(each)) names.insert(change->queue);
  }
  return {names.begin(), names.end()};
}

Result<std::string> ChangedQueueYaml(const Json& queue, const CallerWhatIf& asked) {
  Json object = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                 {"kind", "ClusterQueue"},
                 {"metadata", {{"name", queue.at("metadata").value("name", "")}}},
                 {"spec", queue.value("spec", Json::object())}};
  for (const std::string& text : asked.quota) {
    BERTH_TRY(const forecast::QuotaChange change, forecast::ParseQuotaChange(text));
    if (change.queue != object["metadata"]["name"]) continue;
    BERTH_CHECK_OK(SetQuota(object["spec"], change));
  }
  return api::FormatYaml(object);
}

}  // namespace berth::program
