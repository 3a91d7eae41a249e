#include "program/controller_process.h"

#include <array>
#include <future>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include <unistd.h>

#include "admission/controller/shadow/shadow.h"
#include "admission/controller/visibility_api.h"
#include "base/log/log.h"
#include "base/strings.h"
#include "integrations/controller/user_kinds.h"
#include "kube/runtime/controller_program.h"
#include "ledger/controller/ledger_feed.h"
#include "net/client.h"
#include "net/io_pool.h"
#include "program/controller_set.h"
#include "program/deadline_watch.h"
#include "program/eta_writer.h"
#include "program/job_kinds.h"
#include "program/read_feed.h"
#include "program/version.h"
#include "webhook/controller/certificate_files.h"
#include "webhook/controller/certificate_keeper.h"
#include "webhook/controller/serving_certificate.h"
#include "webhook/webhook_server.h"

namespace berth::program {
namespace {

constexpr std::chrono::seconds kCertificateTimeout{30};
constexpr std::chrono::seconds kAskTimeout{10};
constexpr std::chrono::seconds kVisibilityTimeout{5};
constexpr char kEtaStarts[] = "berth_eta_starts_total";

std::string QuantileName(api::ForecastHit hit) {
  switch (hit) {
    case api::ForecastHit::kP10: return "p10";
    case api::ForecastHit::kP50: return "p50";
    case api::ForecastHit::kP90: return "p90";
    case api::ForecastHit::kLater: break;
  }
  return "later";
}

// Host name and a random suffix: two replicas on one machine differ.
std::string MakeIdentity(const std::string& prefix) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::random_device device;
  constexpr std::size_t kRandomBytes = 4;
  std::string random(kRandomBytes, '\0');
  for (char& c : random) c = static_cast<char>(device());
  return prefix + std::string(host.data()) + "_" + HexEncode(random);
}

class Process final : public ControllerProcess {
 public:
  Process(const Clock& clock, ControllerProcessOptions options)
      : clock_(clock),
        options_(std::move(options)),
        program_options_(options_.configuration.program),
        certificate_(webhook::CertificateIn(options_.configuration.namespace_name,
                                            program_options_.certificate.service,
                                            program_options_.certificate.secret)) {}
  ~Process() override { StopAll(); }

  Status Open();
  Status WaitUntilRunning(Duration timeout) override { return program_->WaitUntilRunning(timeout); }
  std::uint16_t health_port() const override { return program_->health_port(); }
  std::uint16_t metrics_port() const override { return program_->metrics_port(); }
  std::uint16_t webhook_port() const override {
    return webhook_server_ == nullptr ? std::uint16_t{0} : webhook_server_->port();
  }
  std::uint16_t visibility_port() const override { return program_->extension_port(); }
  std::uint16_t read_api_port() const override {
    return read_feed_ ? read_feed_->port() : std::uint16_t{0};
  }
  std::string MakeSignInCode(const std::string& token) override {
    return read_feed_ ? read_feed_->MakeSignInCode(token) : "";
  }
  net::Response AnswerVisibility(const net::Request& request) override;
  void Stop() override { StopAll(); }

 private:
  ReadFeedOptions ReadOptions() const;
  Status OpenLedger();
  Status OpenProgram();
  kube::LeaderElectionOptions ElectionOptions(const std::string& predecessors) const;
  Status ServeOverTls();
  Status ServeGivenCertificate();
  Status ServeOwnCertificate();
  void OnLeaseLost(const std::string& holder) const;
  Result<webhook::ServingCertificate> ObtainCertificate();
  Status OpenMetrics(std::shared_ptr<const net::TlsIdentity> tls);
  Status OpenTlsPorts(const net::TlsIdentity& identity);
  Status OpenWebhooks(const net::TlsIdentity& identity);
  void KeepCertificate(const webhook::ServingCertificate& certificate);
  Status AskWebhooks(const webhook::ServingCertificate& certificate);
  Status ServeWith(const net::TlsIdentity& identity);
  void MakeControllers();
  ledger::LedgerFeedOptions LedgerFeeds() const;
  void MakeEtaWriter();
  std::function<void(const provisioning::MeterNote&)> NodeTimes();
  void MakeShadow();
  void TakeDeclaredKind(const std::string& name, const integrations::KindPtr& kind);
  void StopAll();

  const Clock& clock_;
  ControllerProcessOptions options_;
  const admission::ProgramOptions program_options_;
  std::string identity_;
  const webhook::ServingCertificateOptions certificate_;
  std::unique_ptr<ledger::Ledger> ledger_;  // null: no history is written
  std::unique_ptr<kube::ControllerProgram> program_;
  std::unique_ptr<net::IoPool> webhook_pool_;
  std::unique_ptr<net::HttpServer> webhook_server_;
  std::unique_ptr<webhook::CertificateKeeper> certificate_keeper_;
  std::unique_ptr<webhook::CertificateFiles> certificate_files_;
  std::unique_ptr<ControllerSet> controllers_;
  std::unique_ptr<admission::Shadow> shadow_;  // in place of controllers_
  std::unique_ptr<integrations::UserKinds> shadow_kinds_;
  std::optional<ledger::LedgerFeed> ledger_feed_;
  std::optional<DeadlineWatch> deadline_watch_;
  std::optional<EtaWriter> eta_writer_;
  std::map<std::string, integrations::KindPtr> declared_;  // the Ready JobKinds, by their names
  std::optional<kube::ExtensionApi> visibility_;
  std::shared_ptr<ForecastHits> forecast_hits_ = std::make_shared<ForecastHits>();
  std::optional<ReadFeed> read_feed_;
};

Status Process::Open() {
  BERTH_CHECK_OK(OpenLedger());
  BERTH_CHECK_OK(OpenProgram());
  program_->RunOnStrand([this] {
    MakeControllers();
    if (ledger_ != nullptr)
      ledger_feed_.emplace(program_->manager(), clock_, *ledger_, LedgerFeeds());
    if (options_.read_api) {
      read_feed_.emplace(clock_, ReadOptions()).Start(program_->manager());
    }
  });
  program_->StartInformers();  // they list while the ports open
  const bool secure_metrics = options_.metrics && options_.metrics_secure;
  if (options_.metrics && !secure_metrics) BERTH_CHECK_OK(OpenMetrics(nullptr));
  if (secure_metrics || options_.webhook || options_.visibility || options_.read_api) {
    BERTH_CHECK_OK(ServeOverTls());
  }
  program_->Start([this](const std::string& holder) { OnLeaseLost(holder); });
  return OkStatus();
}

ReadFeedOptions Process::ReadOptions() const {
  forecast_hits_->since = clock_.Now();
  ReadFeedOptions options;
  options.callers.api = options_.api;
  if (ledger_ != nullptr) options.callers.ledger = options_.ledger->path;
  options.callers.driver = options_.configuration.admission.driver;
  options.access = options_.page;
  if (options_.eta_interval) options.hits = forecast_hits_;
  if (controllers_ != nullptr) options.scheduler = &controllers_->scheduler();
  return options;
}

Status Process::OpenLedger() {
  if (!options_.ledger) return OkStatus();
  Result<std::unique_ptr<ledger::Ledger>> opened = ledger::Ledger::Open(clock_, *options_.ledger);
  if (opened) {
    ledger_ = *std::move(opened);
  } else if (options_.needs_ledger) {
    return opened.error();
  } else {
    LogWarning("no history is written", {{"error", opened.error().message}});
  }
  return OkStatus();
}

Status Process::ServeOverTls() {
  // The shadow runs with the Configuration of the incumbent, and has none of its files.
  if (options_.shadow_window) return ServeOwnCertificate();
  if (!program_options_.certificate.internal) return ServeGivenCertificate();
  BERTH_TRY(const webhook::ServingCertificate certificate, ObtainCertificate());
  BERTH_CHECK_OK(OpenTlsPorts(certificate.identity));
  KeepCertificate(certificate);
  if (!options_.webhook) return OkStatus();
  BERTH_CHECK_OK(AskWebhooks(certificate));
  program_->ConfirmReady();
  return OkStatus();
}

// A shadow stores nothing: its certificate lives as long as the process.
Status Process::ServeOwnCertificate() {
  BERTH_TRY(const webhook::ServingCertificate certificate,
            webhook::MakeServingCertificate(certificate_.dns_names, clock_.Now()));
  return OpenTlsPorts(certificate.identity);
}

// Another program maintains the files, and tells API servers the CA.
Status Process::ServeGivenCertificate() {
  const std::string& folder = program_options_.webhook.certificate_folder;
  Result<net::TlsIdentity> identity = webhook::ReadCertificateFiles(folder);
  if (!identity) return Annotate(identity.error(), "internalCertManagement is off");
  BERTH_CHECK_OK(OpenTlsPorts(*identity));
  program_->RunOnStrand([&] {
    certificate_files_ = std::make_unique<webhook::CertificateFiles>(
        program_->manager().executor(), webhook::CertificateFiles::Options{.folder = folder},
        *identity, [this](const net::TlsIdentity& now) { return ServeWith(now); });
  });
  program_->ConfirmReady();
  return OkStatus();
}

void Process::OnLeaseLost(const std::string& holder) const {
  if (!options_.on_lease_lost) return;
  const std::string lease = "the lease " + ElectionOptions("").lease.ToString() + " is lost: ";
  options_.on_lease_lost(
      holder == identity_ ? lease + "the lease could not be renewed, and no other holder was seen"
                          : lease + holder + " has it");
}

kube::LeaderElectionOptions Process::ElectionOptions(const std::string& predecessors) const {
  const admission::LeaderOptions& leader = program_options_.leader;
  kube::LeaderElectionOptions election;
  election.lease = {leader.resource_namespace.empty() ? options_.configuration.namespace_name
                                                      : leader.resource_namespace,
                    leader.resource_name};
  election.predecessors = predecessors;
  election.lease_duration = leader.lease_duration;
  election.renew_deadline = leader.renew_deadline;
  election.retry_period = leader.retry_period;
  return election;
}

Status Process::OpenProgram() {
  kube::ControllerProgramOptions options;
  options.config = options_.api;
  const std::string prefix = options_.role.empty() ? "" : options_.role + "_";
  identity_ = MakeIdentity(prefix);
  options.identity = identity_;
  if (options_.webhook) options.not_ready_before = "the webhook port does not answer";
  if (options_.leader_election && options_.controllers.any()) {
    options.leader_election = ElectionOptions(prefix);
  }
  if (options_.health) {
    options.health =
        kube::HealthServerOptions{.address = options_.health->host,
                                  .port = options_.health->port,
                                  .liveness = program_options_.endpoints.liveness_endpoint,
                                  .readiness = program_options_.endpoints.readiness_endpoint};
  }
  options.read_only = options_.shadow_window.has_value();
  if (const auto& limit = program_options_.request_limit) {
    options.request_limit = TokenBucket::Limit{limit->per_second, limit->burst};
  }
  BERTH_TRY(program_, kube::ControllerProgram::Create(clock_, std::move(options)));
  return OkStatus();
}

void Process::MakeControllers() {
  kube::Metrics& metrics = program_->metrics();
  metrics.SetGauge("kueue_build_info",
                   {{"git_version", std::string("berth-") + kVersion}, {"compiler", __VERSION__}},
                   1);
  // A replica that does not lead runs no controllers and has no series.
  const char* role = options_.leader_election ? "leader" : "standalone";
  metrics.SetCommonLabels({{"replica_role", options_.shadow_window ? "shadow" : role}});
  if (options_.shadow_window) return MakeShadow();
  controllers_ =
      std::make_unique<ControllerSet>(program_->manager(), clock_, program_->events(), metrics,
                                      options_.configuration, options_.controllers, NodeTimes());
  if (options_.eta_interval && options_.controllers.scheduler) MakeEtaWriter();
  visibility_.emplace(admission::MakeVisibilityApi(
      program_->manager().executor(), controllers_->scheduler(),
      [manager = &program_->manager()] { return manager->has_synced(); }));
}

ledger::LedgerFeedOptions Process::LedgerFeeds() const {
  return {.metrics = &program_->metrics(), .users = options_.record_users};
}

std::function<void(const provisioning::MeterNote&)> Process::NodeTimes() {
  if (ledger_ == nullptr) return nullptr;
  return [ledger = ledger_.get()](const provisioning::MeterNote& note) {
    ledger->Append(ledger::NodeTimeOf(note));
  };
}

void Process::MakeEtaWriter() {
  EtaWriterOptions options;
  options.interval = *options_.eta_interval;
  if (ledger_ != nullptr) options.ledger = options_.ledger->path;
  options.driver = options_.configuration.admission.driver;
  deadline_watch_.emplace(program_->events(), program_->metrics());
  eta_writer_.emplace(
      program_->manager(), clock_,
      EtaWrites{
          .wait = [this] { return controllers_->TakeCommentary(); },
          .annotate =
              [this](const auto& workload, const auto& annotation, const auto& value, auto done) {
                controllers_->Annotate(workload, annotation, value, std::move(done));
              },
          .on_start =
              [&metrics = program_->metrics(), hits = forecast_hits_](api::ForecastHit hit) {
                metrics.Increment(kEtaStarts, {{"by", QuantileName(hit)}});
                hits->Count(hit);
              },
          .on_danger = [this](const auto& workload,
                              std::int32_t in_time) { deadline_watch_->Tell(workload, in_time); },
          .on_endangered = [this](const auto& workloads) { deadline_watch_->Show(workloads); }},
      std::move(options));
}

void Process::MakeShadow() {
  admission::ShadowOptions shadow;
  shadow.driver = options_.configuration.admission.driver;
  shadow.driver.scheduler.managed_owners = OwnersOf(options_.configuration);
  shadow.window = *options_.shadow_window;
  shadow_ =
      std::make_unique<admission::Shadow>(program_->manager(), clock_, program_->metrics(), shadow);
  shadow_kinds_ = std::make_unique<integrations::UserKinds>(
      program_->manager(), clock_,
      integrations::UserKinds::Callbacks{
          .review = [this](const std::string& name, const integrations::KindPtr& kind) {
            TakeDeclaredKind(name, kind);
          }});
  shadow_kinds_->Watch();
}

// The incumbent may preempt Workloads of the kinds that users declare.
void Process::TakeDeclaredKind(const std::string& name, const integrations::KindPtr& kind) {
  const auto manage = [this](const integrations::KindPtr& each, bool managed) {
    if (each == nullptr) return;
    shadow_->ManageOwner({std::string(each->kind.group), std::string(each->kind.kind)}, managed);
  };
  manage(std::exchange(declared_[name], kind), false);
  manage(kind, true);
  if (kind == nullptr) declared_.erase(name);
}

Result<webhook::ServingCertificate> Process::ObtainCertificate() {
  auto obtained = std::make_shared<std::promise<Result<webhook::ServingCertificate>>>();
  program_->RunOnStrand([&] {
    webhook::ObtainServingCertificate(program_->client(), clock_, certificate_,
                                      [obtained](Result<webhook::ServingCertificate> result) {
                                        obtained->set_value(std::move(result));
                                      });
  });
  auto future = obtained->get_future();
  if (future.wait_for(kCertificateTimeout) != std::future_status::ready) {
    return Error{ErrorCode::kDeadlineExceeded,
                 "no answer to the request for the serving certificate"};
  }
  return future.get();
}

Status Process::OpenMetrics(std::shared_ptr<const net::TlsIdentity> tls) {
  kube::MetricsServerOptions server{
      .address = options_.metrics->host, .port = options_.metrics->port, .tls = std::move(tls)};
  if (shadow_ != nullptr) {
    server.pages["/shadow"] = [this] { return shadow_->report().JsonText(clock_.Now()); };
  }
  return program_->ServeMetrics(std::move(server));
}

Status Process::OpenTlsPorts(const net::TlsIdentity& identity) {
  const auto tls = std::make_shared<const net::TlsIdentity>(identity);
  if (options_.metrics && options_.metrics_secure) BERTH_CHECK_OK(OpenMetrics(tls));
  if (options_.visibility) {
    BERTH_CHECK_OK(program_->ServeExtension(
        {.address = options_.visibility->host, .port = options_.visibility->port, .tls = tls},
        *visibility_));
  }
  if (options_.read_api) {
    BERTH_CHECK_OK(read_feed_->Serve(*options_.read_api,
                                     options_.read_api_tls ? options_.read_api_tls : tls,
                                     program_->MakeGate()));
  }
  return options_.webhook ? OpenWebhooks(identity) : OkStatus();
}

net::Response Process::AnswerVisibility(const net::Request& request) {
  kube::ExtensionApi::Route route = visibility_->RouteOf(request);
  if (route.answer) return *std::move(route.answer);
  auto made = std::make_shared<std::promise<kube::ExtensionApi::Answer>>();
  visibility_->Handle(*route.request, [made](kube::ExtensionApi::Answer answer) {
    made->set_value(std::move(answer));
  });
  auto answer = made->get_future();
  if (answer.wait_for(kVisibilityTimeout) == std::future_status::ready) return answer.get()();
  return kube::StatusAnswer(503, "ServiceUnavailable", "the controllers do not answer");
}

Status Process::OpenWebhooks(const net::TlsIdentity& identity) {
  constexpr int kThreads = 2;  // one for large reviews alone (webhook/webhook_server.h)
  webhook_pool_ = std::make_unique<net::IoPool>(kThreads);
  webhook::WebhookServerOptions server;
  server.address = options_.webhook->host;
  server.port = options_.webhook->port;
  server.gates = ReviewGatesOf(options_.configuration.admission.driver.scheduler.gates);
  server.gates.record_users = options_.record_users;
  server.tls = std::make_shared<const net::TlsIdentity>(identity);
  BERTH_TRY(webhook_server_, webhook::StartWebhookServer(*webhook_pool_, std::move(server),
                                                         controllers_->Reviews()));
  if (options_.on_webhook_port) options_.on_webhook_port(webhook_server_->port());
  return OkStatus();
}

void Process::KeepCertificate(const webhook::ServingCertificate& certificate) {
  webhook::CertificateKeeperOptions options;
  options.secret = certificate_;
  // Clients of the metrics read the CA from the Secret.
  if (!options_.webhook) options.registrations = {.mutating = "", .validating = "", .crds = {}};
  if (!options_.visibility) options.registrations.api_services.clear();
  auto injected = std::make_shared<std::promise<bool>>();
  program_->RunOnStrand([&] {
    certificate_keeper_ = std::make_unique<webhook::CertificateKeeper>(
        program_->client(), clock_, std::move(options), certificate,
        [this](const net::TlsIdentity& identity) {
          if (const Status served = ServeWith(identity); !served) {
            LogWarning("the new certificate", {{"error", served.error().message}});
          }
        });
    certificate_keeper_->Start([injected](bool complete) { injected->set_value(complete); });
  });
  // Missing registrations are looked up again later and must not delay the start.
  injected->get_future().wait_for(kCertificateTimeout);
}

Status Process::ServeWith(const net::TlsIdentity& identity) {
  const auto tls = std::make_shared<const net::TlsIdentity>(identity);
  BERTH_CHECK_OK(program_->ReplaceServingTls(tls));
  if (read_feed_ && options_.read_api_tls == nullptr) {
    BERTH_CHECK_OK(read_feed_->ReplaceTls(tls));
  }
  return webhook_server_ == nullptr ? OkStatus() : webhook_server_->ReplaceTls(tls);
}

// Calls the webhooks as an API server does: over TLS, by the service's name.
Status Process::AskWebhooks(const webhook::ServingCertificate& certificate) {
  std::string host = webhook_server_->address();
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  net::ClientOptions options;
  options.base_url = "https://" + host + ":" + std::to_string(webhook_server_->port());
  options.ca_pem = certificate.ca_pem;
  options.server_name = certificate_.dns_names.front();
  BERTH_TRY(const std::unique_ptr<net::HttpClient> client,
            net::HttpClient::Create(*webhook_pool_, std::move(options)));
  net::Request request;
  request.method = "GET";
  request.target = "/";
  const Result<net::Response> answer = client->SendAndWait(std::move(request), kAskTimeout);
  return answer ? OkStatus() : Annotate(answer.error(), "the webhook port does not answer");
}

void Process::StopAll() {
  if (program_ == nullptr) return;
  program_->RunOnStrand([this] {
    certificate_keeper_.reset();
    certificate_files_.reset();
  });
  program_->Stop();
  if (read_feed_) read_feed_->Stop();
  if (webhook_server_ != nullptr) webhook_server_->Stop();
  if (webhook_pool_ != nullptr) webhook_pool_->Stop();
  webhook_server_.reset();
  read_feed_.reset();
  ledger_feed_.reset();
  eta_writer_.reset();
  controllers_.reset();
  shadow_kinds_.reset();
  shadow_.reset();
  program_.reset();
  ledger_.reset();
}

}  // namespace

Result<std::unique_ptr<ControllerProcess>> ControllerProcess::Start(
    const Clock& clock, ControllerProcessOptions options) {
  auto process = std::make_unique<Process>(clock, std::move(options));
  BERTH_CHECK_OK(process->Open());
  return std::unique_ptr<ControllerProcess>(std::move(process));
}

}  // namespace berth::program
