#include "cli/controller_process.h"

#include <array>
#include <future>
#include <random>

#include <unistd.h>

#include "base/log/log.h"
#include "base/strings.h"
#include "cli/controller_set.h"
#include "cli/version.h"
#include "kube/runtime/controller_program.h"
#include "net/client.h"
#include "net/io_pool.h"
#include "webhook/controller/certificate_keeper.h"
#include "webhook/controller/serving_certificate.h"
#include "webhook/server.h"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds kCertificateTimeout{30};
constexpr std::chrono::seconds kAskTimeout{10};

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
        certificate_(webhook::CertificateIn(options_.configuration.namespace_name)) {}
  ~Process() override { StopAll(); }

  Status Open();
  Status WaitUntilRunning(Duration timeout) override { return program_->WaitUntilRunning(timeout); }
  std::uint16_t health_port() const override { return program_->health_port(); }
  std::uint16_t metrics_port() const override { return program_->metrics_port(); }
  std::uint16_t webhook_port() const override {
    return webhook_server_ == nullptr ? std::uint16_t{0} : webhook_server_->port();
  }
  void Stop() override { StopAll(); }

 private:
  Status OpenProgram();
  Result<webhook::ServingCertificate> ObtainCertificate();
  Status OpenMetrics(std::shared_ptr<const net::TlsIdentity> tls);
  Status OpenWebhooks(const webhook::ServingCertificate& certificate);
  void KeepCertificate(const webhook::ServingCertificate& certificate);
  Status AskWebhooks(const webhook::ServingCertificate& certificate);
  void ServeWith(const net::TlsIdentity& identity);
  void MakeControllers();
  void StopAll();

  const Clock& clock_;
  ControllerProcessOptions options_;
  const webhook::ServingCertificateOptions certificate_;
  std::unique_ptr<kube::ControllerProgram> program_;
  std::unique_ptr<net::IoPool> webhook_pool_;
  std::unique_ptr<net::HttpServer> webhook_server_;
  std::unique_ptr<webhook::CertificateKeeper> certificate_keeper_;
  std::unique_ptr<ControllerSet> controllers_;
};

Status Process::Open() {
  BERTH_CHECK_OK(OpenProgram());
  program_->RunOnStrand([this] { MakeControllers(); });
  const bool secure_metrics = options_.metrics && options_.metrics_secure;
  if (options_.metrics && !secure_metrics) BERTH_CHECK_OK(OpenMetrics(nullptr));
  if (secure_metrics || options_.webhook) {
    BERTH_TRY(const webhook::ServingCertificate certificate, ObtainCertificate());
    if (secure_metrics) {
      BERTH_CHECK_OK(OpenMetrics(std::make_shared<const net::TlsIdentity>(certificate.identity)));
    }
    if (options_.webhook) BERTH_CHECK_OK(OpenWebhooks(certificate));
    KeepCertificate(certificate);
    if (options_.webhook) {
      BERTH_CHECK_OK(AskWebhooks(certificate));
      program_->ConfirmReady();
    }
  }
  program_->Start(options_.on_lease_lost ? options_.on_lease_lost : [] {});
  return OkStatus();
}

Status Process::OpenProgram() {
  kube::ControllerProgramOptions options;
  options.config = options_.api;
  const std::string prefix = options_.role.empty() ? "" : options_.role + "_";
  options.identity = MakeIdentity(prefix);
  if (options_.webhook) options.not_ready_before = "the webhook port does not answer";
  if (options_.leader_election) {
    options.leader_election.emplace();
    options.leader_election->lease.namespace_name = options_.configuration.namespace_name;
    options.leader_election->predecessors = prefix;
  }
  if (options_.health) {
    options.health =
        kube::HealthServerOptions{.address = options_.health->host, .port = options_.health->port};
  }
  BERTH_TRY(program_, kube::ControllerProgram::Create(clock_, std::move(options)));
  return OkStatus();
}

void Process::MakeControllers() {
  kube::Metrics& metrics = program_->metrics();
  metrics.DeclareGauge("kueue_build_info", "The program, with the API that it speaks");
  metrics.SetGauge("kueue_build_info",
                   {{"git_version", std::string("berth-") + kVersion}, {"compiler", __VERSION__}},
                   1);
  // A replica that does not lead runs no controllers and has no series.
  metrics.SetCommonLabels({{"replica_role", options_.leader_election ? "leader" : "standalone"}});
  controllers_ = std::make_unique<ControllerSet>(program_->manager(), clock_, program_->events(),
                                                 metrics, options_.configuration);
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
  return program_->ServeMetrics(
      {.address = options_.metrics->host, .port = options_.metrics->port, .tls = std::move(tls)});
}

Status Process::OpenWebhooks(const webhook::ServingCertificate& certificate) {
  webhook_pool_ = std::make_unique<net::IoPool>(1);
  webhook::WebhookServerOptions server;
  server.address = options_.webhook->host;
  server.port = options_.webhook->port;
  server.gates.priority_boost = options_.configuration.admission.scheduler.gates.priority_boost;
  server.tls = std::make_shared<const net::TlsIdentity>(certificate.identity);
  BERTH_TRY(webhook_server_,
            webhook::StartWebhookServer(
                *webhook_pool_, std::move(server),
                [facts = &controllers_->facts()](const api::Job& job) { return facts->Of(job); }));
  if (options_.on_webhook_port) options_.on_webhook_port(webhook_server_->port());
  return OkStatus();
}

void Process::KeepCertificate(const webhook::ServingCertificate& certificate) {
  webhook::CertificateKeeperOptions options;
  options.secret = certificate_;
  // The CA is written to the webhook registrations; clients of the metrics read it from the
  // Secret.
  if (!options_.webhook) options.registrations = {.mutating = "", .validating = "", .crds = {}};
  auto injected = std::make_shared<std::promise<bool>>();
  program_->RunOnStrand([&] {
    certificate_keeper_ = std::make_unique<webhook::CertificateKeeper>(
        program_->client(), clock_, std::move(options), certificate,
        [this](const net::TlsIdentity& identity) { ServeWith(identity); });
    certificate_keeper_->Start([injected](bool complete) { injected->set_value(complete); });
  });
  // Missing registrations are looked up again later and must not delay the start.
  injected->get_future().wait_for(kCertificateTimeout);
}

void Process::ServeWith(const net::TlsIdentity& identity) {
  const auto tls = std::make_shared<const net::TlsIdentity>(identity);
  Status served = program_->ReplaceMetricsTls(tls);
  if (!served) LogWarning("the new certificate of metrics", {{"error", served.error().message}});
  if (webhook_server_ == nullptr) return;
  served = webhook_server_->ReplaceTls(tls);
  if (!served) LogWarning("the new certificate of webhooks", {{"error", served.error().message}});
}

// Calls the webhooks as an API server does: over TLS, by the service's name.
Status Process::AskWebhooks(const webhook::ServingCertificate& certificate) {
  std::string host = options_.webhook->host;
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
  program_->RunOnStrand([this] { certificate_keeper_.reset(); });
  program_->Stop();
  if (webhook_server_ != nullptr) webhook_server_->Stop();
  if (webhook_pool_ != nullptr) webhook_pool_->Stop();
  webhook_server_.reset();
  controllers_.reset();
  program_.reset();
}

}  // namespace

Result<std::unique_ptr<ControllerProcess>> ControllerProcess::Start(
    const Clock& clock, ControllerProcessOptions options) {
  auto process = std::make_unique<Process>(clock, std::move(options));
  BERTH_CHECK_OK(process->Open());
  return std::unique_ptr<ControllerProcess>(std::move(process));
}

}  // namespace berth::cli
