#include "cli/commands.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "base/system_clock.h"
#include "cli/output.h"
#include "cli/screens/why.h"
#include "cli/session.h"
#include "cli/version.h"

namespace berth::cli {
namespace {

constexpr auto kRedrawEvery = std::chrono::seconds(1);

// Where the command looks: -A everywhere, -n there, else the context's namespace.
std::string NamespaceOf(const ClientFlags& flags, const Session& session) {
  if (flags.all_namespaces) return "";
  return flags.namespace_name.empty() ? session.default_namespace() : flags.namespace_name;
}

Result<std::string> StatusText(Session& session, const ClientFlags& client,
                               const StatusFlags& flags) {
  // Queues are shared by namespaces, so the screen is whole unless -n narrows it.
  BERTH_TRY(const ClusterView view,
            ReadCluster(session, client.namespace_name, SystemClock().Now()));
  if (!flags.options.only.empty() && !IsKnownQueue(view, flags.options.only)) {
    return Error{ErrorCode::kNotFound, "no ClusterQueue, LocalQueue or cohort is named \"" +
                                           flags.options.only + "\" (berth status shows all)"};
  }
  if (client.output == OutputFormat::kText) {
    return RenderStatus(view, flags.options, DetectStyle(client.ascii));
  }
  const nlohmann::json out = StatusJson(view, flags.options);
  return client.output == OutputFormat::kYaml ? api::FormatYaml(out) : out.dump(2) + "\n";
}

int WatchStatus(Session& session, const ClientFlags& client, const StatusFlags& flags) {
  constexpr char kClearScreen[] = "\x1b[H\x1b[2J";
  while (true) {
    const Result<std::string> screen = StatusText(session, client, flags);
    if (!screen) return Complain(screen.error());
    Print(kClearScreen + *screen);
    std::this_thread::sleep_for(kRedrawEvery);
  }
}

}  // namespace

int RunStatus(const ClientFlags& client, const StatusFlags& flags) {
  const auto session = Session::Open(client);
  if (!session) return Complain(session.error());
  if (flags.watch) return WatchStatus(**session, client, flags);
  const Result<std::string> screen = StatusText(**session, client, flags);
  if (!screen) return Complain(screen.error());
  Print(*screen);
  return kExitAnswered;
}

int RunList(const ClientFlags& client, ListOptions options) {
  const auto session = Session::Open(client);
  if (!session) return Complain(session.error());
  options.namespace_name = NamespaceOf(client, **session);
  const auto view = ReadCluster(**session, options.namespace_name, SystemClock().Now());
  if (!view) return Complain(view.error());
  if (client.output != OutputFormat::kText) {
    PrintStructured(ListJson(*view, options), client.output);
    return kExitAnswered;
  }
  const Result<std::string> text = RenderList(*view, options, DetectStyle(client.ascii));
  if (!text) {
    Complain(text.error());
    return kExitUsage;
  }
  Print(*text);
  return kExitAnswered;
}

int RunWhy(const ClientFlags& client, const std::string& reference) {
  const auto session = Session::Open(client);
  if (!session) return Complain(session.error());
  const std::string namespace_name =
      client.namespace_name.empty() ? (*session)->default_namespace() : client.namespace_name;
  // Who stands before it may be in another namespace, so the view is not narrowed.
  const auto view = ReadCluster(**session, "", SystemClock().Now());
  if (!view) return Complain(view.error());
  const TextStyle style = DetectStyle(client.ascii);
  const auto story = TellStory(*view, namespace_name, reference, style);
  if (!story) return Complain(story.error());
  if (client.output != OutputFormat::kText) {
    PrintStructured(StoryJson(*story), client.output);
  } else {
    Print(RenderStory(*view, *story, style));
  }
  return kExitAnswered;
}

int RunVersion(const ClientFlags& client) {
  nlohmann::json out = {{"berth", kVersion}, {"cluster", nullptr}};
  std::string server;
  if (const auto session = Session::Open(client); session) {
    const auto answer = (*session)->GetAll({"/version"}).front();
    if (answer && answer->contains("gitVersion")) {
      out["cluster"] = {{"version", (*answer)["gitVersion"]}, {"url", (*session)->server_url()}};
      server = (*answer)["gitVersion"].get<std::string>() + " at " + (*session)->server_url();
    }
  }
  if (client.output != OutputFormat::kText) {
    PrintStructured(out, client.output);
    return kExitAnswered;
  }
  Print(std::string("berth    ") + kVersion + "\ncluster  " +
        (server.empty() ? "(none can be reached)" : server) + "\n");
  return kExitAnswered;
}

}  // namespace berth::cli
