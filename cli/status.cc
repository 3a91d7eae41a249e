// `berth status`: queues, who waits and why, capacity requests and pools on one screen.
#include "view/screens/status.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "api/yaml/yaml.h"
#include "base/rfc3339.h"
#include "base/system_clock.h"
#include "base/terminal_text.h"
#include "cli/client_flags.h"
#include "cli/completion.h"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds kRedrawEvery{1};
constexpr std::chrono::seconds kRedrawAtLeastEvery{15};

struct StatusFlags {
  view::StatusOptions options;
  bool watch = false;  // redraw every second until interrupted
};

Result<std::string> StatusText(view::Session& session, const ClientFlags& client,
                               const StatusFlags& flags) {
  // Queues are shared by namespaces: the screen shows all of them unless -n or rights narrow it.
  view::ReadScope scope = ScopeOf(client, session, false);
  scope.cost = flags.options.cost;
  BERTH_TRY(const view::ClusterView view, view::ReadCluster(session, scope, SystemClock().Now()));
  if (!flags.options.only.empty() && !view::IsKnownQueue(view, flags.options.only)) {
    return Error{ErrorCode::kNotFound, "no ClusterQueue, LocalQueue or cohort is named \"" +
                                           flags.options.only + "\" (berth status shows all)"};
  }
  if (client.output == view::OutputFormat::kText) {
    return view::RenderStatus(view, flags.options, view::DetectStyle(client.ascii));
  }
  const nlohmann::json out = view::StatusJson(view, flags.options);
  return client.output == view::OutputFormat::kYaml
             ? api::FormatYaml(out)
             : TerminalJson(api::FormatIndentedJson(out)) + "\n";
}

// Whether a retry may succeed without a change by the user.
bool MayPass(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kExpired:
    case ErrorCode::kInternal: return true;
    default: return false;
  }
}

// While the API is unreachable the last screen stays, with a line that says so.
int WatchStatus(view::Session& session, const ClientFlags& client, const StatusFlags& flags) {
  constexpr char kClearScreen[] = "\x1b[H\x1b[2J";
  const SystemClock clock;
  std::string last;
  WallTime last_at{};
  auto wait = kRedrawEvery;
  while (true) {
    const SteadyTime begun = clock.SteadyNow();
    const Result<std::string> screen = StatusText(session, client, flags);
    if (screen) {
      last = *screen;
      last_at = clock.Now();
      view::PrintRaw(kClearScreen);
      view::Print(last);
      // A large cluster is read less often: reading takes at most a quarter of the time.
      const auto taken = std::chrono::ceil<std::chrono::seconds>(clock.SteadyNow() - begun);
      wait = std::max(kRedrawEvery, std::min(kRedrawAtLeastEvery, 3 * (taken - kRedrawEvery)));
    } else if (last.empty() || !MayPass(screen.error().code)) {
      return view::Complain(screen.error());
    } else {
      view::PrintRaw(kClearScreen);
      view::Print(last + "\nconnection lost, this is from " + HumanDuration(clock.Now() - last_at) +
                  " ago: " + screen.error().message + "\n");
      wait = std::min(kRedrawAtLeastEvery, 2 * wait);
    }
    std::this_thread::sleep_for(wait);
  }
}

int RunStatus(const ClientFlags& client, const StatusFlags& flags) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  if (flags.watch) return WatchStatus(**session, client, flags);
  const Result<std::string> screen = StatusText(**session, client, flags);
  if (!screen) return view::Complain(screen.error());
  view::Print(*screen);
  return view::kExitAnswered;
}

}  // namespace

void AddStatus(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  const auto flags = std::make_shared<StatusFlags>();
  CLI::App* command = app.add_subcommand(
      "status", "Queues, who waits and why, capacity requests, pools: all on one screen");
  AddClientFlags(*command, *client);
  AddOutputFlag(*command, client->output);
  command->add_option("QUEUE", flags->options.only, "only this ClusterQueue, LocalQueue or cohort")
      ->type_name(kQueueValue);
  command->add_flag("--cost", flags->options.cost,
                    "cost of the running jobs of each queue, in USD");
  command->add_flag("-w,--watch", flags->watch, "redraw in place until interrupted");
  command->footer(
      "Examples:\n"
      "  berth status                 everything\n"
      "  berth status team-a -w       one queue, live\n"
      "  berth status -o json | jq '.waiting[].reason'");
  command->callback([client, flags, &exit_code] { exit_code = RunStatus(*client, *flags); });
}

}  // namespace berth::cli
