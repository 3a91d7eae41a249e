#include "cli/forecast_cluster.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/system_clock.h"
#include "cli/configuration_file.h"
#include "cli/manifest_files.h"
#include "cli/screens/plan.h"
#include "cli/screens/why.h"
#include "cli/session.h"
#include "cli/simulated_cluster.h"
#include "cli/view_reader.h"
#include "ledger/ledger_reader.h"
#include "webhook/conversion.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;

constexpr char kKueueGroup[] = "kueue.x-k8s.io/";
constexpr char kServedVersion[] = "kueue.x-k8s.io/v1beta2";
constexpr std::int64_t kDrawnJobs = 100'000;  // of all draws together, by default
constexpr int kUsualDraws = 50;
constexpr int kFewestDraws = 10;

Status AddDocument(const Json& document, ClusterView& view) {
  if (!document.is_object()) return OkStatus();
  const auto items = document.find("items");
  if (items != document.end() && items->is_array()) {
    for (const Json& item : *items) {
      if (item.is_object()) BERTH_CHECK_OK(AddDocument(item, view));
    }
    return OkStatus();
  }
  const auto version = document.find("apiVersion");
  if (version != document.end() && version->is_string() && *version != kServedVersion &&
      version->get<std::string>().rfind(kKueueGroup, 0) == 0) {
    auto converted = webhook::Convert(document, kServedVersion);
    return converted ? AddObject(*converted, view) : Status(converted.error());
  }
  return AddObject(document, view);
}

WallTime LastTimeOf(const ClusterView& view) {
  WallTime last{};
  for (const api::Workload& workload : view.workloads) {
    last = std::max(last, workload.meta.creation_timestamp);
    for (const api::Condition& each : workload.status.conditions) {
      last = std::max(last, each.last_transition_time);
    }
  }
  return last;
}

Result<std::vector<ledger::AttemptRecord>> ReadAttempts(const ForecastFlags& flags) {
  std::string file = flags.ledger;
  if (file.empty() && flags.from.empty()) file = LedgerBeside(flags.client.kubeconfig);
  if (file.empty()) return std::vector<ledger::AttemptRecord>();
  BERTH_TRY(ledger::LedgerReader reader, ledger::LedgerReader::Open(file));
  return reader.Attempts({});
}

Result<ClusterView> ReadView(const ForecastFlags& flags, std::string& default_namespace) {
  if (!flags.from.empty()) {
    default_namespace =
        flags.client.namespace_name.empty() ? "default" : flags.client.namespace_name;
    BERTH_TRY(const std::vector<std::string> files, ManifestsBelow(flags.from));
    BERTH_TRY(const std::vector<Json> documents, ReadManifests(files));
    return ReadDump(documents);
  }
  BERTH_TRY(const std::unique_ptr<Session> session, Session::Open(flags.client));
  default_namespace = flags.client.namespace_name.empty() ? session->default_namespace()
                                                          : flags.client.namespace_name;
  const ReadScope scope{.screen = ReadScope::Screen::kForecast,
                        .pods = flags.pods,
                        .own_namespace = default_namespace};
  return ReadCluster(*session, scope, SystemClock().Now());
}

}  // namespace

Status AddDocuments(const std::vector<Json>& documents, ClusterView& view) {
  for (const Json& document : documents) BERTH_CHECK_OK(AddDocument(document, view));
  return OkStatus();
}

Result<ClusterView> ReadDump(const std::vector<Json>& documents) {
  ClusterView view;
  BERTH_CHECK_OK(AddDocuments(documents, view));
  if (view.cluster_queues.empty()) {
    return Error{ErrorCode::kInvalid,
                 "the files have no ClusterQueue: kubectl get "
                 "clusterqueues,cohorts,localqueues,resourceflavors,workloads -A -o json > FILE"};
  }
  view.now = LastTimeOf(view);
  view.cluster_name = "files";
  return view;
}

Result<ForecastCluster> ReadForecastCluster(const ForecastFlags& flags) {
  std::string default_namespace;
  BERTH_TRY(ClusterView view, ReadView(flags, default_namespace));
  BERTH_TRY(std::vector<ledger::AttemptRecord> attempts, ReadAttempts(flags));
  BERTH_TRY(admission::Configuration configuration, ReadConfigurationFile(flags.config));
  if (!flags.decisions.empty()) {
    admission::SetDecisions(configuration, flags.decisions == "kueue"
                                               ? admission::Decisions::kKueue
                                               : admission::Decisions::kBerth);
  }
  ForecastCluster made = MakeForecastCluster(std::move(view), std::move(attempts));
  made.world.scheduler = configuration.admission.scheduler;
  made.world.scheduler.block_admission = false;  // the pods are ready at once
  made.world.wake_up_batch = configuration.admission.wake_up_batch;
  made.default_namespace = std::move(default_namespace);
  return made;
}

int DrawsOf(const ForecastFlags& flags, std::size_t jobs) {
  if (flags.draws > 0) return std::min(flags.draws, kMostDraws);
  const std::int64_t fitting = kDrawnJobs / static_cast<std::int64_t>(jobs + 1);
  return static_cast<int>(std::clamp<std::int64_t>(fitting, kFewestDraws, kUsualDraws));
}

}  // namespace berth::cli
