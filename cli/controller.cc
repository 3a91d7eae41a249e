// berth controller: runs the controllers on any Kubernetes.
#include <csignal>

#include <unistd.h>

#include "base/log/log.h"
#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/configuration_file.h"
#include "cli/controller_process.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "net/file_limit.h"

namespace berth::cli {
namespace {

Result<std::optional<ListenAddress>> MaybeAddress(const std::string& flag,
                                                  const std::string& text) {
  if (text.empty() || text == "0") return std::optional<ListenAddress>();
  BERTH_TRY(ListenAddress address, ParseListenAddress(flag, text, "0.0.0.0"));
  return std::optional(std::move(address));
}

// The flag's address, else the file's, else Kueue's default; an error names the source.
Result<std::optional<ListenAddress>> ChosenAddress(const char* flag,
                                                   const std::optional<std::string>& given,
                                                   const char* field, const std::string& in_file,
                                                   const char* otherwise) {
  if (given) return MaybeAddress(flag, *given);
  return MaybeAddress(field, in_file.empty() ? otherwise : in_file);
}

Result<ControllerProcessOptions> OptionsOf(const ControllerFlags& flags) {
  ControllerProcessOptions options;
  BERTH_TRY(options.configuration, ReadConfigurationFile(flags.config));
  TakeDecisions(flags.decisions, options.configuration);
  BERTH_TRY(options.api, kube::FindKubeConfig(
                             {.path = flags.client.kubeconfig, .context = flags.client.context}));
  BERTH_TRY(options.metrics,
            ChosenAddress("--metrics-listen", flags.metrics_listen, "metrics.bindAddress",
                          options.configuration.metrics_address, ":8443"));
  BERTH_TRY(options.health,
            ChosenAddress("--health-listen", flags.health_listen, "health.healthProbeBindAddress",
                          options.configuration.health_address, ":8081"));
  options.metrics_secure = flags.metrics_secure;
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
  if (const Status raised = net::RaiseFileLimit(); !raised) LogWarning(raised.error().message);
  Result<ControllerProcessOptions> options = OptionsOf(flags);
  if (!options) return Complain(options.error());
  const SystemClock clock;
  auto process = ControllerProcess::Start(clock, *std::move(options));
  if (!process) return Complain(process.error());
  LogInfo("controller started", {{"metrics_port", std::to_string((*process)->metrics_port())},
                                 {"health_port", std::to_string((*process)->health_port())},
                                 {"webhook_port", std::to_string((*process)->webhook_port())}});
  WaitForStopSignal();
  (*process)->Stop();
  return kExitAnswered;
}

}  // namespace berth::cli
