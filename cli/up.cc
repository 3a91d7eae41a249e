// berth up: runs API server, cluster, cloud and controllers in one process, which communicate
// through the API. This file starts them in order and stops them in reverse.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "api/quantity.h"
#include "api/visibility.h"
#include "base/log/log.h"
#include "base/system_clock.h"
#include "base/threads/thread_executor.h"
#include "cli/browser.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "cli/eta_flags.h"
#include "cli/listen_parser.h"
#include "cli/page_flags.h"
#include "cli/server_flags.h"
#include "cli/up_screen.h"
#include "local/apiserver/api_server.h"
#include "local/apiserver/auth/credentials.h"
#include "local/cloud/cloud_driver.h"
#include "local/cloud/machine_size.h"
#include "local/cluster/cluster.h"
#include "local/cluster/kubelet/pod_logs.h"
#include "local/cluster/network/loopback_network.h"
#include "local/cluster/network/service_plan.h"
#include "local/cluster/processes/program_user.h"
#include "local/cluster/usage/usage_api.h"
#include "program/apply_manifests.h"
#include "program/component_reviews.h"
#include "program/configuration_file.h"
#include "program/controller_process.h"
#include "program/data_directory.h"
#include "program/embedded_manifests.h"
#include "program/listen_address.h"
#include "program/signals.h"
#include "view/output.h"

namespace berth::cli {
namespace {

constexpr char kWebhookService[] = "kueue-webhook-service.kueue-system.svc";
constexpr std::chrono::seconds kControllersTimeout{30};
constexpr char kRole[] = "berth-up";

Error Refuse(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

using Programs = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kFolderPrefix = "oci:";

// Sets what the images of --image stand for.
Status ParseImages(const std::vector<std::string>& images,
                   local::cluster::ClusterOptions& options) {
  for (const std::string& image : images) {
    const std::size_t equals = image.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == image.size()) {
      return Refuse("--image \"" + image +
                    "\": write NAME=PATH, such as my/train:1=./train.sh, "
                    "or NAME=oci:FOLDER");
    }
    if (const std::string value = image.substr(equals + 1); value.starts_with(kFolderPrefix)) {
      options.image_folders.emplace_back(
          image.substr(0, equals), std::filesystem::absolute(value.substr(kFolderPrefix.size()))
                                       .lexically_normal()
                                       .string());
      continue;
    }
    const std::string path = std::filesystem::absolute(image.substr(equals + 1)).string();
    if (access(path.c_str(), X_OK) != 0) {
      return Refuse("--image \"" + image + "\": " + path + " is not a program that can be run");
    }
    options.programs.emplace_back(image.substr(0, equals), path);
  }
  return OkStatus();
}

// Maps the sample jobs' images to their programs, if those are beside this program.
void AddBuiltInPrograms(Programs& programs) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  const std::string haversine = (self.parent_path() / "haversine").string();
  const std::string image = "berth.dev/haversine:1";
  for (const auto& [name, path] : programs) {
    if (name == image) return;
  }
  if (access(haversine.c_str(), X_OK) == 0) programs.emplace_back(image, haversine);
}

Result<std::int64_t> ParseLogLimit(const std::string& text) {
  constexpr std::int64_t kLeast = 64 * 1024;
  const auto limit = api::ParseAmount("memory", text);
  if (limit && *limit == 0) return *limit;
  if (limit && *limit >= kLeast) return *limit;
  return Refuse("--log-limit \"" + text + "\": write 0 (none), or 64Ki or more, such as 64Mi");
}

// An address beyond loopback opens the API to other machines and needs --allow-remote.
Status CheckListen(const program::ListenAddress& listen, const UpFlags& flags) {
  if (program::IsLoopback(listen.host) || flags.allow_remote) return OkStatus();
  return Refuse("--listen " + flags.listen +
                " serves other machines: with the token of the kubeconfig they run the programs "
                "that are mapped (--image) as the user of the jobs, and read every object. "
                "Say --allow-remote as well, or listen on 127.0.0.1");
}

Status TakeAuditFlags(const UpFlags& flags, local::ApiServerOptions& options) {
  constexpr std::int64_t kMegabyte = 1024LL * 1024;
  constexpr std::int64_t kMostMegabytes = 100'000;
  constexpr std::int64_t kMostKept = 1000;
  if (flags.audit_log.empty() && !flags.audit_policy.empty()) {
    return Refuse("--audit-policy has no effect without --audit-log: say --audit-log FILE too");
  }
  if (flags.audit_log_megabytes < 1 || flags.audit_log_megabytes > kMostMegabytes) {
    return Refuse("--audit-log-maxsize: write 1 to 100000 (megabytes)");
  }
  if (flags.audit_log_kept < 0 || flags.audit_log_kept > kMostKept) {
    return Refuse("--audit-log-maxbackup: write 0 to 1000 (files)");
  }
  options.audit_log = flags.audit_log;
  options.audit_policy = flags.audit_policy;
  options.audit_log_bytes = static_cast<std::size_t>(flags.audit_log_megabytes * kMegabyte);
  options.audit_log_kept = static_cast<int>(flags.audit_log_kept);
  return OkStatus();
}

// The namespace of the lease and of the certificate.
std::string NamespaceManifest(const admission::Configuration& configuration) {
  return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: \"" + configuration.namespace_name +
         "\"\n";
}

// The APIService of metrics-server's manifests, but this process answers.
constexpr std::string_view kUsageService = R"(apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: v1beta1.metrics.k8s.io
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
)";

// The kinds of queues and of the cloud, and what stands in every cluster that `berth up` makes.
Status InstallKinds(local::WholeApi& api) {
  BERTH_CHECK_OK(program::ApplyManifests(api, program::CrdManifests()));
  BERTH_CHECK_OK(program::ApplyManifests(api, program::CloudManifests()));
  return program::ApplyManifests(api, program::ClusterManifests());
}

// What concerns the program is `berth up`'s own business, but for the lease.
void DropProgramOptions(admission::Configuration& configuration) {
  const admission::ProgramOptions given = std::exchange(configuration.program, {});
  configuration.program.leader = given.leader;
  if (given.certificate.internal) return;
  LogWarning("field of the configuration has no effect",
             {{"field", "internalCertManagement.enable"},
              {"because", "berth up makes the certificate of its webhooks itself"}});
}

// No replica waits for the lease of `berth up` to run out: without this process there is no API. A
// machine that is too busy to renew the lease for ten seconds does not end the process.
void LengthenLease(admission::LeaderOptions& leader) {
  const admission::LeaderOptions usual;
  if (leader.lease_duration != usual.lease_duration ||
      leader.renew_deadline != usual.renew_deadline) {
    return;
  }
  leader.lease_duration = std::chrono::seconds(60);
  leader.renew_deadline = std::chrono::seconds(45);
}

void WarnOfAddresses(const admission::Configuration& configuration) {
  const std::pair<const char*, const std::string&> fields[] = {
      {"metrics.bindAddress", configuration.program.endpoints.metrics_address},
      {"health.healthProbeBindAddress", configuration.program.endpoints.health_address}};
  for (const auto& [field, address] : fields) {
    if (address.empty()) continue;
    LogWarning("field of the configuration has no effect",
               {{"field", field}, {"because", "berth up serves no metrics: run berth controller"}});
  }
}

// All parts of the process, started in order and stopped in reverse.
class Up {
 public:
  Status Start(const UpFlags& flags);
  void Stop();
  // The address of the page has a code that signs in once.
  UpScreen Screen(const UpFlags& flags) const;

 private:
  Status StartServer(const UpFlags& flags);
  Status StartCluster(const UpFlags& flags);
  Status StartControllers(const UpFlags& flags);
  Status TakeReadApi(const UpFlags& flags, program::ControllerProcessOptions& options);

  SystemClock clock_;
  std::string data_directory_;
  std::string kubeconfig_path_;
  std::unique_ptr<local::cluster::PodLogs> logs_;
  std::optional<local::cluster::LoopbackNetwork> network_;
  std::unique_ptr<local::ApiServer> server_;
  std::unique_ptr<ThreadExecutor> executor_;
  std::unique_ptr<local::cluster::Cluster> cluster_;
  std::unique_ptr<local::cloud::CloudDriver> cloud_;
  std::unique_ptr<program::ControllerProcess> controllers_;
};

Status Up::Start(const UpFlags& flags) {
  if (flags.dashboard && !flags.controllers) {
    return Refuse(
        "--dashboard, --open: the controllers serve the page: leave --no-controllers out, or say "
        "--read-api-listen to the `berth controller` beside this process");
  }
  if (flags.samples && !flags.controllers) {
    return Refuse("--samples: the sample jobs need the controllers: leave --no-controllers out");
  }
  data_directory_ = program::DataDirectory(flags.data_dir);
  if (!flags.restore.empty()) {  // before a reset removes what there is
    BERTH_CHECK_OK(program::CheckBackup(data_directory_, flags.restore));
  }
  BERTH_CHECK_OK(program::PrepareDataDirectory(data_directory_, flags.reset));
  if (!flags.restore.empty()) {
    BERTH_CHECK_OK(program::RestoreState(data_directory_, flags.restore));
  }
  BERTH_CHECK_OK(StartServer(flags));
  if (flags.api_only) return local::WriteKubeconfig(kubeconfig_path_, server_->kubeconfig());
  BERTH_CHECK_OK(InstallKinds(server_->api()));
  BERTH_CHECK_OK(StartCluster(flags));
  return StartControllers(flags);
}

Status Up::StartServer(const UpFlags& flags) {
  BERTH_TRY(const program::ListenAddress listen,
            program::ParseListenAddress("--listen", flags.listen, "127.0.0.1"));
  BERTH_CHECK_OK(CheckListen(listen, flags));
  if (!program::IsLoopback(listen.host)) {
    LogWarning("the API is open to other machines: its token runs programs and reads every object",
               {{"address", flags.listen}, {"token", data_directory_ + "/pki/token"}});
  }
  local::ApiServerOptions options;
  options.data_directory = data_directory_;
  options.address = listen.host;
  options.port = listen.port;
  BERTH_CHECK_OK(TakeAuditFlags(flags, options));
  logs_ = std::make_unique<local::cluster::PodLogs>(data_directory_);
  options.logs = logs_.get();
  if (auto network = local::cluster::LoopbackNetwork::Claim(data_directory_)) {
    network_.emplace(*std::move(network));
    options.service_prefix = network_->prefix();
  } else {
    LogWarning("pods have no addresses of their own", {{"error", network.error().message}});
  }
  BERTH_TRY(server_, local::ApiServer::Start(std::move(options)));
  kubeconfig_path_ = flags.kubeconfig.empty()
                         ? data_directory_ + "/kubeconfig"
                         : std::filesystem::absolute(flags.kubeconfig).string();
  return OkStatus();
}

Status Up::StartCluster(const UpFlags& flags) {
  local::cluster::ClusterOptions options;
  options.data_folder = data_directory_;
  options.work_folder = program::JobsDirectory(data_directory_);
  BERTH_TRY(options.log_bytes, ParseLogLimit(flags.log_limit));
  if (!flags.job_user.empty()) {
    BERTH_TRY(options.job_user, local::cluster::FindJobUser(flags.job_user));
  }
  BERTH_CHECK_OK(ParseImages(flags.images, options));
  AddBuiltInPrograms(options.programs);
  if (network_) options.network = network_->prefix();
  options.account_kubeconfig = [server = server_.get()](const std::string& token,
                                                        const std::string& namespace_name) {
    return local::MakeTokenKubeconfig({server->ca_pem(), server->url(), "pod", namespace_name},
                                      token);
  };
  options.api_variables = local::cluster::ApiVariables(server_->url());
  options.api_url = server_->url();
  executor_ = std::make_unique<ThreadExecutor>();
  BERTH_TRY(cluster_,
            local::cluster::Cluster::Start(server_->api(), clock_, *executor_, std::move(options)));
  server_->SetPodStreams(cluster_->streams());
  server_->SetExtension(local::cluster::kUsageGroup,
                        [cluster = cluster_.get()](const net::Request& request) {
                          return cluster->AnswerUsage(request);
                        });
  BERTH_CHECK_OK(program::ApplyManifests(server_->api(), kUsageService));
  std::optional<local::cloud::MachineSize> machine;
  if (flags.machine_node) machine = local::cloud::ReadMachineSize();
  cloud_ = std::make_unique<local::cloud::CloudDriver>(
      server_->api(), cluster_->cache(), clock_, *executor_, local::cloud::CloudTimes{}, machine);
  return OkStatus();
}

// The authority in the kubeconfig signs the certificate of the read API.
Status Up::TakeReadApi(const UpFlags& flags, program::ControllerProcessOptions& options) {
  constexpr char kFlag[] = "--read-api-listen";
  if (flags.read_api.listen.empty() && !flags.dashboard) return OkStatus();
  const std::string listen = flags.read_api.listen.empty() ? "127.0.0.1:0" : flags.read_api.listen;
  BERTH_TRY(options.read_api, program::ParseListenAddress(kFlag, listen, "127.0.0.1"));
  if (!program::IsLoopback(options.read_api->host) && !flags.allow_remote) {
    return Refuse(std::string(kFlag) + " " + flags.read_api.listen +
                  " serves other machines: say --allow-remote as well, or listen on 127.0.0.1");
  }
  BERTH_TRY(const local::ApiServer::Identity identity,
            server_->IssueServerCertificate("berth-read-api", {"localhost"}));
  options.read_api_tls = std::make_shared<const net::TlsIdentity>(
      net::TlsIdentity{identity.certificate_chain_pem, identity.private_key_pem});
  return OkStatus();
}

// A `berth controller` beside this process is a follower: both use the same lease. No earlier run
// of this program is alive, since the data directory is locked.
Status Up::StartControllers(const UpFlags& flags) {
  if (!flags.controllers) return local::WriteKubeconfig(kubeconfig_path_, server_->kubeconfig());
  program::ControllerProcessOptions options;
  BERTH_TRY(options.configuration, program::ReadConfigurationFile(flags.config));
  WarnOfAddresses(options.configuration);
  DropProgramOptions(options.configuration);
  LengthenLease(options.configuration.program.leader);
  BERTH_CHECK_OK(program::ApplyManifests(server_->api(), NamespaceManifest(options.configuration)));
  program::TakeDecisions(flags.decisions, options.configuration);
  BERTH_TRY(options.api, kube::ParseKubeConfig(server_->kubeconfig(), data_directory_, ""));
  options.webhook = program::ListenAddress{.host = "127.0.0.1", .port = 0};
  BERTH_CHECK_OK(TakeReadApi(flags, options));
  BERTH_TRY(options.page, PageAccessOf(flags.read_api));
  if (options.read_api)
    options.page.session_folder = data_directory_ + "/" + program::kPageSessions;
  options.role = kRole;
  options.controllers.cloud_pools = true;
  BERTH_TRY(options.ledger, LedgerOptionsOf(flags.ledger, data_directory_ + "/" + kLedgerName));
  options.record_users = flags.ledger.users;
  options.needs_ledger = flags.ledger.file.has_value();
  BERTH_TRY(options.eta_interval, EtaIntervalOf(flags.eta_interval, std::chrono::minutes(1)));
  options.on_lease_lost = [](const std::string& what) {
    LogError("stopping: " + what);
    kill(getpid(), SIGTERM);
  };
  options.on_webhook_port = [this](std::uint16_t port) {
    server_->SetWebhookService(kWebhookService, "https://127.0.0.1:" + std::to_string(port));
  };
  BERTH_CHECK_OK(
      program::ApplyManifests(server_->api(), program::WebhookManifests(),
                              [frameworks = options.configuration.frameworks](local::Json& object) {
                                return program::AddComponentReviews(frameworks, object);
                              }));
  BERTH_TRY(controllers_, program::ControllerProcess::Start(clock_, std::move(options)));
  if (Status running = controllers_->WaitUntilRunning(kControllersTimeout); !running) {
    Error error = running.error();
    error.message += " (a `berth controller` beside this one? Stop it, or say --no-controllers)";
    return error;
  }
  server_->SetExtension(api::kVisibilityGroup,
                        [controllers = controllers_.get()](const net::Request& request) {
                          return controllers->AnswerVisibility(request);
                        });
  if (flags.samples) {
    BERTH_CHECK_OK(program::ApplyManifests(server_->api(), program::SampleManifests()));
  }
  // Written last: a process that waits for the file finds everything ready.
  return local::WriteKubeconfig(kubeconfig_path_, server_->kubeconfig());
}

// The code is in the fragment: browsers do not send it, and no log has it.
UpScreen Up::Screen(const UpFlags& flags) const {
  UpScreen screen{.api_url = server_->url(),
                  .kubeconfig = kubeconfig_path_,
                  .process = getpid(),
                  .api_only = flags.api_only,
                  .has_controllers = flags.controllers,
                  .has_samples = flags.samples};
  if (controllers_ == nullptr || controllers_->read_api_port() == 0) return screen;
  screen.read_api_url = "https://localhost:" + std::to_string(controllers_->read_api_port());
  if (flags.dashboard) {
    screen.sign_in =
        screen.read_api_url + "/sign-in#code=" + controllers_->MakeSignInCode(server_->token());
  }
  return screen;
}

void Up::Stop() {
  if (controllers_ != nullptr) {
    server_->SetExtension(api::kVisibilityGroup, nullptr);
    controllers_->Stop();
  }
  if (server_ != nullptr) {
    server_->SetExtension(local::cluster::kUsageGroup, nullptr);
    server_->SetPodStreams(nullptr);
  }
  if (executor_ != nullptr) executor_->Stop();
  cloud_.reset();
  cluster_.reset();
  if (server_ != nullptr) server_->Stop();
}

int RunUp(const UpFlags& flags) {
  program::HoldStopSignals();
  umask(077);  // files are private; programs get umask 022
  Up up;
  if (const Status started = up.Start(flags); !started) {
    up.Stop();
    view::Complain(started.error());
    return view::kExitRefused;  // 4 would mean an unreachable API
  }
  const UpScreen screen = up.Screen(flags);
  view::Print(UpScreenText(screen));
  std::optional<Browser> browser;
  if (flags.open) {
    const Status opened = browser.emplace().Open(screen.sign_in);
    if (!opened) LogWarning("the page was not opened", {{"error", opened.error().message}});
  }
  program::WaitForStopSignal();
  view::Print("stopping\n");
  up.Stop();
  return view::kExitAnswered;
}

void AddAuditFlags(CLI::App& command, UpFlags& flags) {
  command
      .add_option("--audit-log", flags.audit_log,
                  "log every request to this file, a line of JSON each")
      ->type_name(kFileValue);
  command
      .add_option("--audit-policy", flags.audit_policy,
                  "which requests are logged, and how much of them (a Policy of audit.k8s.io/v1)")
      ->type_name(kFileValue);
  command
      .add_option("--audit-log-maxsize", flags.audit_log_megabytes,
                  "size of the audit log at which it is rotated")
      ->type_name("MEGABYTES")
      ->capture_default_str();
  command
      .add_option("--audit-log-maxbackup", flags.audit_log_kept, "rotated audit logs that are kept")
      ->type_name("FILES")
      ->capture_default_str();
}

void AddPageFlags(CLI::App& command, UpFlags& flags) {
  AddReadApiFlags(command, flags.read_api);
  command
      .add_flag("--dashboard", flags.dashboard,
                "print an address that signs a browser in to the page, once, within five minutes; "
                "without --read-api-listen on a free port")
      ->excludes("--api-only");
  command
      .add_flag("--open", flags.open,
                "--dashboard, and open the address with the program in $BROWSER, else with "
                "xdg-open; until the browser has used the address, other users of this machine can "
                "read it in the list of processes")
      ->excludes("--api-only");
}

}  // namespace

void AddUp(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<UpFlags>();
  CLI::App* command = app.add_subcommand(
      "up", "A whole cluster in this process: API, queues, pools, and jobs that really run");
  command
      ->add_option("--data-dir", flags->data_dir,
                   "where the cluster's state lives (default ~/.local/share/berth)")
      ->type_name(kDirectoryValue);
  command
      ->add_option("--kubeconfig", flags->kubeconfig,
                   "file to write (default: kubeconfig in the data directory)")
      ->type_name(kFileValue);
  command->add_option("--listen", flags->listen, "where the API is served; port 0 takes a free one")
      ->type_name("ADDRESS:PORT");
  command
      ->add_option("--image", flags->images,
                   "run the program at PATH, or the OCI image in FOLDER as oci:FOLDER, for NAME")
      ->type_name("NAME=PATH");
  command->add_flag("--allow-remote", flags->allow_remote,
                    "let --listen name an address that other machines reach");
  command
      ->add_option("--job-user", flags->job_user, "run programs of jobs as this user; needs root")
      ->type_name("NAME");
  command
      ->add_option("--log-limit", flags->log_limit,
                   "size that is kept of each container's log; 0 keeps all of it")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_flag("--reset", flags->reset, "begin with an empty cluster");
  command
      ->add_option("--restore", flags->restore,
                   "begin with the cluster that berth backup wrote to this file, in an empty data "
                   "directory")
      ->type_name(kFileValue);
  command->add_option("--config", flags->config, "Kueue Configuration file")->type_name(kFileValue);
  AddDecisionsFlag(*command, flags->decisions);
  command->add_flag("--controllers,!--no-controllers", flags->controllers,
                    "run the controllers too; without them, run berth controller beside it");
  command->add_flag("--node,!--no-node", flags->machine_node,
                    "this machine is the node \"berth\" while the cluster has no NodePool and no "
                    "other node; without it, such a cluster has none");
  command
      ->add_flag("--api-only", flags->api_only,
                 "serve Kubernetes' API alone: no Jobs, pods, garbage collection, cloud and "
                 "queues; for other programs' controllers and for tests of operators")
      ->excludes("--image", "--job-user", "--log-limit", "--config");
  command
      ->add_flag("--samples", flags->samples,
                 "make a queue with two jobs, one of which runs and one of which waits")
      ->excludes("--api-only");
  AddAuditFlags(*command, *flags);
  AddRecords(*command, *flags);
  AddPageFlags(*command, *flags);
  command->footer(
      "Examples:\n"
      "  berth up\n"
      "  berth up --samples\n"
      "  berth up --open\n"
      "  berth up --data-dir /tmp/try --listen 127.0.0.1:0 --image my/train:1=./train.sh\n"
      "Then: export KUBECONFIG=…/kubeconfig; kubectl get nodes; berth status\n"
      "Stored and validated, not acted on: HorizontalPodAutoscaler, Ingress, IngressClass,\n"
      "  CertificateSigningRequest, NetworkPolicy,\n"
      "  CSIDriver, CSINode, CSIStorageCapacity, VolumeAttachment,\n"
      "  FlowSchema, PriorityLevelConfiguration,\n"
      "  VolumeAttributesClass, StorageClasses of other provisioners than berth.dev/folder");
  command->callback([flags, &exit_code] {
    flags->dashboard = flags->dashboard || flags->open;
    exit_code = RunUp(*flags);
  });
}

}  // namespace berth::cli
