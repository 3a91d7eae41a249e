// berth controller: the controllers against any Kubernetes.
#include <csignal>

#include <unistd.h>

#include "base/log/log.h"
#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/configuration_file.h"
#include "cli/controller_process.h"
#include "cli/output.h"
#include "cli/signals.h"

namespace berth::cli {
namespace {

Result<std::optional<ListenAddress>> MaybeAddress(const std::string& flag,
                                                  const std::string& text) {
  if (text.empty()) return std::optional<ListenAddress>();
  BERTH_TRY(ListenAddress address, ParseListenAddress(flag, text, "0.0.0.0"));
  return std::optional(std::move(address));
}

Result<ControllerProcessOptions> OptionsOf(const ControllerFlags& flags) {
  ControllerProcessOptions options;
  BERTH_TRY(options.configuration, ReadConfigurationFile(flags.config));
  TakeDecisions(flags.decisions, options.configuration);
  BERTH_TRY(options.api, kube::FindKubeConfig(
                             {.path = flags.client.kubeconfig, .context = flags.client.context}));
  BERTH_TRY(options.health, MaybeAddress("--metrics-listen", flags.metrics_listen));
  BERTH_TRY(options.webhook, MaybeAddress("--webhook-listen", flags.webhook_listen));
  options.leader_election =
      flags.leader_election && options.configuration.leader_election.value_or(true);
  options.on_lease_lost = [] {
    LogError("another replica has the lease now: stopping");
    kill(getpid(), SIGTERM);
  };
  return options;
}

}  // namespace

int RunController(const ControllerFlags& flags) {
  HoldStopSignals();
  Result<ControllerProcessOptions> options = OptionsOf(flags);
  if (!options) return Complain(options.error());
  const SystemClock clock;
  auto process = ControllerProcess::Start(clock, *std::move(options));
  if (!process) return Complain(process.error());
  LogInfo("controller started", {{"metrics_port", std::to_string((*process)->health_port())},
                                 {"webhook_port", std::to_string((*process)->webhook_port())}});
  WaitForStopSignal();
  (*process)->Stop();
  return kExitAnswered;
}

}  // namespace berth::cli
