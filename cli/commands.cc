#include "cli/commands.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "api/yaml/yaml.h"
#include "base/rfc3339.h"
#include "base/system_clock.h"
#include "base/terminal_text.h"
#include "view/output.h"
#include "view/screens/capacity.h"
#include "view/screens/why.h"
#include "view/session.h"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds kRedrawEvery{1};
constexpr std::chrono::seconds kRedrawAtLeastEvery{15};

// -A reads all namespaces if the rights suffice, else the own namespace.
view::ReadScope ScopeOf(const ClientFlags& flags, const view::Session& session,
                        bool own_by_default) {
  const std::string own =
      flags.namespace_name.empty() ? session.default_namespace() : flags.namespace_name;
  const bool is_narrowed =
      !flags.all_namespaces && (own_by_default || !flags.namespace_name.empty());
  return {.namespace_name = is_narrowed ? own : "", .own_namespace = own};
}

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

}  // namespace

int RunStatus(const ClientFlags& client, const StatusFlags& flags) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  if (flags.watch) return WatchStatus(**session, client, flags);
  const Result<std::string> screen = StatusText(**session, client, flags);
  if (!screen) return view::Complain(screen.error());
  view::Print(*screen);
  return view::kExitAnswered;
}

int RunList(const ClientFlags& client, view::ListOptions options) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  view::ReadScope scope = ScopeOf(client, **session, true);
  scope.screen = view::ReadScope::Screen::kList;
  scope.jobs = !options.labels.empty();
  scope.cost = options.cost;
  options.namespace_name = scope.namespace_name;
  const auto view = view::ReadCluster(**session, scope, SystemClock().Now());
  if (!view) return view::Complain(view.error());
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(view::ListJson(*view, options), client.output);
    return view::kExitAnswered;
  }
  const Result<std::string> text =
      view::RenderList(*view, options, view::DetectStyle(client.ascii));
  if (!text) {
    view::Complain(text.error());
    return view::kExitUsage;
  }
  view::Print(*text);
  return view::kExitAnswered;
}

int RunCapacity(const ClientFlags& client) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  view::ReadScope scope = ScopeOf(client, **session, false);
  scope.screen = view::ReadScope::Screen::kCapacity;
  const auto view = view::ReadCluster(**session, scope, SystemClock().Now());
  if (!view) return view::Complain(view.error());
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(view::CapacityScreenJson(*view), client.output);
  } else {
    view::Print(view::RenderCapacity(*view, view::DetectStyle(client.ascii)));
  }
  return view::kExitAnswered;
}

int RunWhy(const ClientFlags& client, const std::string& reference) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  const view::StoryScope scope{.namespace_name = ScopeOf(client, **session, true).own_namespace,
                               .all_namespaces = client.all_namespaces,
                               .reference = reference};
  const auto read = view::ReadStory(**session, scope, SystemClock().Now());
  if (!read) return view::Complain(read.error());
  const view::TextStyle style = view::DetectStyle(client.ascii);
  const auto story = view::TellStory(read->view, read->namespace_name, reference, style);
  if (!story) return view::Complain(story.error());
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(view::StoryJson(*story), client.output);
  } else {
    view::Print(view::RenderStory(read->view, *story, style));
  }
  return view::kExitAnswered;
}

}  // namespace berth::cli
