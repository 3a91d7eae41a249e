// berth controller: runs the controllers on any Kubernetes.
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "base/go_duration.h"
#include "base/log/log.h"
#include "base/system_clock.h"
#include "base/threads/guarded.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "cli/eta_flags.h"
#include "cli/listen_parser.h"
#include "cli/page_flags.h"
#include "cli/server_flags.h"
#include "net/file_limit.h"
#include "program/configuration_file.h"
#include "program/controller_process.h"
#include "program/signals.h"
#include "view/output.h"

namespace berth::cli {
namespace {

constexpr Duration kUsualShadowWindow = std::chrono::seconds(10);

Result<std::optional<program::ListenAddress>> MaybeAddress(const std::string& flag,
                                                           const std::string& text) {
  if (text.empty() || text == "0") return std::optional<program::ListenAddress>();
  BERTH_TRY(program::ListenAddress address, program::ParseListenAddress(flag, text, "0.0.0.0"));
  return std::optional(std::move(address));
}

// The flag's address, else the file's, else Kueue's default; an error names the source.
Result<std::optional<program::ListenAddress>> ChosenAddress(const char* flag,
                                                            const std::optional<std::string>& given,
                                                            const char* field,
                                                            const std::string& in_file,
                                                            const char* otherwise) {
  if (given) return MaybeAddress(flag, *given);
  return MaybeAddress(field, in_file.empty() ? otherwise : in_file);
}

Result<std::optional<program::ListenAddress>> VisibilityAddress(
    const ControllerFlags& flags, const admission::VisibilityOptions& in_file) {
  if (flags.visibility_listen) return MaybeAddress("--visibility-listen", *flags.visibility_listen);
  if (!in_file.served) return std::optional<program::ListenAddress>();
  constexpr std::uint16_t kUsualPort = 8082;
  program::ListenAddress address;
  address.host = in_file.host.empty() ? "0.0.0.0" : in_file.host;
  address.port = in_file.port.value_or(kUsualPort);
  return std::optional(std::move(address));
}

Result<std::optional<program::ListenAddress>> WebhookAddress(
    const ControllerFlags& flags, const admission::WebhookListenOptions& in_file) {
  if (flags.webhook_listen) return MaybeAddress("--webhook-listen", *flags.webhook_listen);
  constexpr std::uint16_t kUsualPort = 9443;
  program::ListenAddress address;
  address.host = in_file.host.empty() ? "0.0.0.0" : in_file.host;
  address.port = in_file.port.value_or(kUsualPort);
  return std::optional(std::move(address));
}

Result<Duration> PositiveDuration(const char* flag, const std::string& text, const char* example) {
  const std::optional<Duration> span = ParseGoDuration(text);
  if (span && *span > Duration::zero()) return *span;
  return Error{ErrorCode::kInvalid, std::string(flag) + " \"" + text +
                                        "\": write a duration above zero, such as " + example};
}

// A shadow has no port that the API server calls, and no lease.
Status MakeShadow(const ControllerFlags& flags, program::ControllerProcessOptions& options) {
  for (const auto& [flag, given] : {std::pair("--webhook-listen", flags.webhook_listen),
                                    std::pair("--visibility-listen", flags.visibility_listen)}) {
    if (given && !given->empty() && *given != "0") {
      return Error{ErrorCode::kInvalid,
                   std::string(flag) + ": --shadow serves neither webhooks nor the visibility API"};
    }
  }
  if (!flags.read_api.listen.empty() && flags.read_api.listen != "0") {
    return Error{ErrorCode::kInvalid, "--read-api-listen: --shadow does not serve the read API"};
  }
  options.shadow_window = kUsualShadowWindow;
  if (flags.shadow_window) {
    BERTH_TRY(options.shadow_window,
              PositiveDuration("--shadow-window", *flags.shadow_window, "10s"));
  }
  options.webhook.reset();
  options.visibility.reset();
  options.leader_election = false;
  return OkStatus();
}

Result<program::ControllerProcessOptions> OptionsOf(const ControllerFlags& flags) {
  program::ControllerProcessOptions options;
  BERTH_TRY(options.configuration, program::ReadConfigurationFile(flags.config));
  program::TakeDecisions(flags.decisions, options.configuration);
  const admission::ProgramOptions& program = options.configuration.program;
  BERTH_TRY(options.api, kube::FindKubeConfig(
                             {.path = flags.client.kubeconfig, .context = flags.client.context}));
  BERTH_TRY(options.metrics,
            ChosenAddress("--metrics-listen", flags.metrics_listen, "metrics.bindAddress",
                          program.endpoints.metrics_address, ":8443"));
  BERTH_TRY(options.health,
            ChosenAddress("--health-listen", flags.health_listen, "health.healthProbeBindAddress",
                          program.endpoints.health_address, ":8081"));
  options.metrics_secure = flags.metrics_secure;
  BERTH_TRY(options.webhook, WebhookAddress(flags, program.webhook));
  BERTH_TRY(options.visibility, VisibilityAddress(flags, program.visibility));
  BERTH_TRY(options.read_api, MaybeAddress("--read-api-listen", flags.read_api.listen));
  BERTH_TRY(options.page, PageAccessOf(flags.read_api));
  options.leader_election = flags.leader_election && program.leader.enabled.value_or(true);
  BERTH_TRY(options.controllers, program::ParseControllers(flags.controllers));
  if (flags.requeue_interval) {
    BERTH_TRY(options.configuration.admission.driver.wake_up_batch,
              PositiveDuration("--requeue-interval", *flags.requeue_interval, "1s"));
  }
  BERTH_TRY(options.ledger, LedgerOptionsOf(flags.ledger, ""));
  options.record_users = flags.ledger.users;
  BERTH_TRY(options.eta_interval, EtaIntervalOf(flags.eta_interval, std::nullopt));
  if (flags.shadow) BERTH_CHECK_OK(MakeShadow(flags, options));
  return options;
}

// Ends the program when a signal asks for that, however far the start or the stop has come.
class StopWatch {
 public:
  StopWatch()
      : thread_(StartThread("the thread that waits for signals failed", [this] { Watch(); })) {}
  ~StopWatch() {
    Change([this] { phase_ = Phase::kStopped; });
    // Where no signal has come: the thread waits for this one, which ends no thread.
    pthread_kill(thread_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
    thread_.join();
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  // From now on a signal ends WaitForSignal; until now it ends the program at once, since nothing
  // is held yet.
  void OnStarted() {
    Change([this] { phase_ = Phase::kRuns; });
  }
  // Asks for the end with this exit code. Any thread.
  void Fail(int code) {
    Change([this, code] { exit_code_ = code; });
    kill(getpid(), SIGTERM);
  }
  // Returns the exit code.
  int WaitForSignal() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return signalled_; });
    return exit_code_;
  }

 private:
  enum class Phase { kStarts, kRuns, kStopped };
  static constexpr std::chrono::milliseconds kLongestStop{4500};

  template <typename Fn>
  void Change(Fn change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

  void Watch() {
    program::WaitForStopSignal();
    std::unique_lock lock(mutex_);
    signalled_ = true;
    changed_.notify_all();
    if (phase_ == Phase::kStarts) {
      LogInfo("stopped while starting");
      std::_Exit(exit_code_);
    }
    const auto stopped = [this] { return phase_ == Phase::kStopped; };
    if (changed_.wait_for(lock, kLongestStop, stopped)) return;
    LogWarning("the shutdown takes too long: requests that are under way are abandoned");
    std::_Exit(exit_code_);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::kStarts;
  bool signalled_ = false;
  int exit_code_ = view::kExitAnswered;
  std::thread thread_;  // last: it uses the rest
};

int RunController(const ControllerFlags& flags) {
  program::HoldStopSignals();
  if (const Status raised = net::RaiseFileLimit(); !raised) LogWarning(raised.error().message);
  Result<program::ControllerProcessOptions> options = OptionsOf(flags);
  if (!options) return view::Complain(options.error());
  StopWatch stop;
  options->on_lease_lost = [&stop](const std::string& what) {
    LogError("stopping: " + what);
    stop.Fail(view::kExitRefused);
  };
  const SystemClock clock;
  auto process = program::ControllerProcess::Start(clock, *std::move(options));
  if (!process) return view::Complain(process.error());
  LogInfo("controller started", {{"metrics_port", std::to_string((*process)->metrics_port())},
                                 {"health_port", std::to_string((*process)->health_port())},
                                 {"webhook_port", std::to_string((*process)->webhook_port())},
                                 {"visibility_port", std::to_string((*process)->visibility_port())},
                                 {"read_api_port", std::to_string((*process)->read_api_port())}});
  stop.OnStarted();
  const int code = stop.WaitForSignal();
  (*process)->Stop();
  return code;
}

}  // namespace

void AddController(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<ControllerFlags>();
  CLI::App* command = app.add_subcommand(
      "controller", "The queue controllers against any Kubernetes: in place of Kueue's manager");
  AddServerFlags(*command, flags->client);
  command->add_option("--config", flags->config, "Kueue Configuration file")->type_name(kFileValue);
  AddDecisionsFlag(*command, flags->decisions);
  AddListenFlags(*command, *flags);
  CLI::Option* controllers =
      command
          ->add_option("--controllers", flags->controllers,
                       "run only these controllers: " + program::ControllerWords() +
                           ", jobs/NAME (a job kind), * (all), -NAME (all but this one); empty: "
                           "only the webhooks")
          ->type_name("LIST")
          ->capture_default_str();
  command
      ->add_option("--requeue-interval", flags->requeue_interval,
                   "how long workloads that may fit again are collected before they are tried "
                   "together (default 1s)")
      ->type_name("DURATION");
  command->add_flag("--leader-elect,!--no-leader-elect", flags->leader_election,
                    "take part in leader election");
  AddRecords(*command, *flags);
  CLI::Option* shadow = command->add_flag(
      "--shadow", flags->shadow,
      "decide beside Kueue, write nothing, and report the differences: /shadow on the port of the "
      "metrics, metrics berth_shadow_…, a line in the log every minute");
  shadow->excludes(controllers);
  command
      ->add_option("--shadow-window", flags->shadow_window,
                   "how long Kueue may take to do what Berth would do (default 10s)")
      ->needs(shadow)
      ->type_name("DURATION");
  command->footer(
      "Examples:\n"
      "  berth controller --kubeconfig ~/.kube/config --no-leader-elect\n"
      "  berth controller --shadow --no-metrics-secure --metrics-listen 127.0.0.1:8443");
  command->callback([flags, &exit_code] { exit_code = RunController(*flags); });
}

}  // namespace berth::cli
