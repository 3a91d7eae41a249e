#include "cli/forecast_source.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/system_clock.h"
#include "forecast/simulated_cluster.h"
#include "ledger/ledger_reader.h"
#include "program/configuration_file.h"
#include "view/manifest_files.h"
#include "view/manifest_places.h"
#include "view/screens/plan_screen.h"
#include "view/screens/why.h"
#include "view/session.h"
#include "view/view_reader.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kDrawnJobs = 100'000;  // the limit of all draws together, by default
constexpr int kUsualDraws = 50;
constexpr int kFewestDraws = 10;

Result<std::vector<ledger::AttemptRecord>> ReadAttempts(const ForecastFlags& flags) {
  std::string file = flags.ledger;
  if (file.empty() && flags.from.empty()) file = LedgerBeside(flags.client.kubeconfig);
  if (file.empty()) return std::vector<ledger::AttemptRecord>();
  BERTH_TRY(ledger::LedgerReader reader, ledger::LedgerReader::Open(file));
  return reader.Attempts({});
}

// The time of --now; nullopt: the flag is absent.
Result<std::optional<WallTime>> NowOf(const ForecastFlags& flags) {
  if (flags.now.empty()) return std::optional<WallTime>();
  const std::optional<WallTime> now = ParseTime(flags.now);
  if (!now) {
    return Error{ErrorCode::kInvalid,
                 "--now \"" + flags.now + "\": write a time such as 2026-01-31T08:00:00Z"};
  }
  if (flags.from.empty()) {
    return Error{ErrorCode::kInvalid,
                 "--now is the time of files: give them with --from, or leave it out"};
  }
  return now;
}

}  // namespace

Result<view::ClusterView> ReadForecastView(const ForecastFlags& flags,
                                           std::string& default_namespace) {
  BERTH_TRY(const std::optional<WallTime> now, NowOf(flags));
  if (!flags.from.empty()) {
    default_namespace =
        flags.client.namespace_name.empty() ? "default" : flags.client.namespace_name;
    BERTH_TRY(const std::vector<std::string> files, view::ManifestsBelow(flags.from));
    BERTH_TRY(const std::vector<Json> documents, view::ReadManifests(files));
    auto dump = forecast::ReadDump(documents, now);
    if (!dump) return view::AtPlace(dump.error(), view::PlacesIn(files));
    return dump;
  }
  BERTH_TRY(const std::unique_ptr<view::Session> session, view::Session::Open(flags.client));
  default_namespace = flags.client.namespace_name.empty() ? session->default_namespace()
                                                          : flags.client.namespace_name;
  const view::ReadScope scope{.screen = view::ReadScope::Screen::kForecast,
                              .pods = flags.pods,
                              .own_namespace = default_namespace};
  return view::ReadCluster(*session, scope, SystemClock().Now());
}

Result<view::ClusterView> ReadNotedView(view::Session& session, const ForecastFlags& flags,
                                        bool all, std::string& default_namespace) {
  default_namespace = flags.client.namespace_name.empty() ? session.default_namespace()
                                                          : flags.client.namespace_name;
  const view::ReadScope scope{.screen = view::ReadScope::Screen::kNotes,
                              .namespace_name = all ? "" : default_namespace,
                              .own_namespace = default_namespace};
  return view::ReadCluster(session, scope, SystemClock().Now());
}

Result<view::ClusterView> ReadBesideNotes(view::Session& session, const ForecastFlags& flags,
                                          bool all, const std::string& default_namespace,
                                          view::ClusterView noted) {
  const view::ReadScope scope{.screen = view::ReadScope::Screen::kForecast,
                              .pods = flags.pods,
                              .namespace_name = all ? "" : default_namespace,
                              .own_namespace = default_namespace};
  BERTH_CHECK_OK(view::ReadForecastRest(session, scope, noted));
  return noted;
}

Result<forecast::ForecastCluster> ReadForecastCluster(const ForecastFlags& flags) {
  std::string default_namespace;
  BERTH_TRY(view::ClusterView view, ReadForecastView(flags, default_namespace));
  return MakeForecastClusterOf(flags, std::move(view), default_namespace);
}

Result<forecast::ForecastCluster> MakeForecastClusterOf(const ForecastFlags& flags,
                                                        view::ClusterView view,
                                                        const std::string& default_namespace) {
  BERTH_TRY(std::vector<ledger::AttemptRecord> attempts, ReadAttempts(flags));
  BERTH_TRY(admission::Configuration configuration, program::ReadConfigurationFile(flags.config));
  if (!flags.decisions.empty()) {
    admission::SetDecisions(configuration, flags.decisions == "kueue"
                                               ? admission::Decisions::kKueue
                                               : admission::Decisions::kBerth);
  }
  forecast::ForecastCluster made =
      forecast::MakeForecastCluster(std::move(view), std::move(attempts));
  made.world.driver = configuration.admission.driver;
  made.default_namespace = default_namespace;
  return made;
}

int DrawsOf(const ForecastFlags& flags, std::size_t jobs) {
  if (flags.draws > 0) return std::min(flags.draws, kMostDraws);
  const std::int64_t fitting = kDrawnJobs / static_cast<std::int64_t>(jobs + 1);
  return static_cast<int>(std::clamp<std::int64_t>(fitting, kFewestDraws, kUsualDraws));
}

}  // namespace berth::cli
