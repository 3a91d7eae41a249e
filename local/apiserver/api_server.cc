#include "local/apiserver/api_server.h"

#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include <malloc.h>

#include "base/log/log.h"
#include "base/system_clock.h"
#include "base/threads/guarded.h"
#include "local/apiserver/auth/authenticator.h"
#include "local/apiserver/auth/credentials.h"
#include "local/apiserver/http/audit_trail.h"
#include "local/apiserver/http/front.h"
#include "local/apiserver/http/worker_pool.h"
#include "local/apiserver/registry/bootstrap.h"
#include "local/apiserver/registry/crd.h"
#include "local/apiserver/registry/in_process_api.h"
#include "local/apiserver/registry/registry.h"
#include "local/apiserver/store/store.h"
#include "local/apiserver/webhooks/http_caller.h"
#include "net/certificates.h"
#include "net/file_limit.h"
#include "net/io_pool.h"
#include "net/server.h"

namespace berth::local {
namespace {

// Watches pause far below this limit; followed logs do not.
constexpr std::size_t kMaxStreamBacklog = 16 * 1024 * 1024;
// Above the API's own limit of 3 MiB, so that the client gets a Status and not a bare 413.
constexpr std::size_t kMaxRequestBody = 8 * 1024 * 1024;
// Longer than a client takes to return with the revision of its last list.
constexpr std::chrono::seconds kKeepChanges{90};
constexpr std::chrono::seconds kTidyEvery{30};
constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::days kFrontProxyDays{3650};
constexpr std::chrono::days kWebhookCertificateDays{365};

std::uint64_t RandomSeed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

class ApiServerImpl final : public ApiServer {
 public:
  explicit ApiServerImpl(ApiServerOptions options) : options_(std::move(options)) {}
  ~ApiServerImpl() override { StopAll(); }

  Status Open();

  WholeApi& api() override { return *api_; }
  std::uint16_t port() const override { return http_ == nullptr ? port_ : http_->port(); }
  const std::string& url() const override { return url_; }
  const std::string& ca_pem() const override {
    return credentials_.authority.certificate_chain_pem;
  }
  const std::string& token() const override { return credentials_.token; }
  const std::string& kubeconfig() const override { return kubeconfig_; }
  Result<Identity> IssueServerCertificate(const std::string& common_name,
                                          const std::vector<std::string>& dns_names) override;
  void SetWebhookService(const std::string& name, const std::string& url) override {
    webhooks_->SetService(name, url);
  }
  void SetExtension(const std::string& group, ExtensionHandler handler) override {
    if (front_ != nullptr) front_->SetExtension(group, std::move(handler));
  }
  void SetPodStreams(std::shared_ptr<PodStreams> streams) override {
    if (front_ != nullptr) front_->SetPodStreams(std::move(streams));
  }
  void Stop() override { StopAll(); }

 private:
  Status Listen();
  Status StartAudit();
  Status MakeAggregator();
  void LookLater();
  void TidyLater();
  void Tidy();
  void StopAll();

  ApiServerOptions options_;
  SystemClock system_clock_;
  Credentials credentials_;
  std::string url_;
  std::string kubeconfig_;
  std::uint16_t port_ = 0;
  std::unique_ptr<net::IoPool> io_;
  std::unique_ptr<Executor> tidy_;
  WorkerPool tidy_workers_{{.threads = 1, .running = 1, .waiting = 1}};
  WorkerPool look_workers_{{.threads = 1, .running = 1, .waiting = 1}};
  std::unique_ptr<HttpWebhookCaller> webhooks_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<AccountTokens> tokens_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<WholeApi> api_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<AuditLog> audit_log_;
  std::unique_ptr<AuditTrail> audit_;
  std::unique_ptr<Aggregator> aggregator_;
  std::unique_ptr<Front> front_;
  std::unique_ptr<net::HttpServer> http_;
};

Status ApiServerImpl::Open() {
  const Clock* clock = options_.clock == nullptr ? &system_clock_ : options_.clock;
  StoreOptions store;
  if (!options_.data_directory.empty()) store.path = options_.data_directory + "/state.db";
  store.window.keep_for = kKeepChanges;
  store.clock = clock;
  // Above every revision of an earlier database in the same folder, which made fewer than one write
  // a microsecond. In virtual time the simulation chooses the start.
  if (options_.watch_executor == nullptr) {
    store.first_revision = system_clock_.Now().time_since_epoch().count();
  }
  BERTH_TRY(store_, Store::Open(std::move(store)));
  const std::string folder =
      options_.data_directory.empty() ? "" : options_.data_directory + "/pki";
  // Clients check certificates against real time.
  BERTH_TRY(credentials_, LoadOrMakeCredentials(folder, system_clock_.Now()));
  io_ = std::make_unique<net::IoPool>(options_.io_threads);
  webhooks_ = std::make_unique<HttpWebhookCaller>(*io_, store_->cache(), options_.webhook_services);
  RegistryOptions registry;
  registry.clock = clock;
  registry.seed = options_.seed == 0 ? RandomSeed() : options_.seed;
  registry.root_ca_pem = credentials_.authority.certificate_chain_pem;
  if (options_.serve_http) {
    registry.front_proxy_ca_pem = credentials_.front_proxy_authority.certificate_chain_pem;
  }
  registry.service_prefix = options_.service_prefix;
  auto key = net::SigningKey::FromPem(credentials_.account_key_pem);
  if (!key) {
    return Error{key.error().code, folder + "/sa.key: " + key.error().message +
                                       "; remove the file for a new key, which ends the tokens of "
                                       "service accounts"};
  }
  tokens_ = std::make_unique<AccountTokens>(*std::move(key), store_->cache());
  registry.tokens = tokens_.get();
  registry.mounts_tokens = options_.serve_http;  // nothing else would take them
  registry.webhooks = webhooks_.get();
  registry_ = std::make_unique<Registry>(*store_, std::move(registry));
  api_ = MakeInProcessApi(*registry_, options_.watch_executor);
  BERTH_CHECK_OK(registry_->Bootstrap());
  BERTH_CHECK_OK(registry_->BootstrapRoles());
  if (options_.serve_http) {
    registry_->BootstrapApiServices();
    BERTH_CHECK_OK(Listen());
  }
  // Not in virtual time, where the instant would differ between runs.
  if (options_.watch_executor == nullptr) {
    tidy_ = io_->MakeStrand();
    TidyLater();
    if (aggregator_ != nullptr) LookLater();
  }
  return OkStatus();
}

void ApiServerImpl::TidyLater() {
  tidy_->PostAfter(kTidyEvery, [this] {
    // Blocks, so it must not run on an I/O thread.
    tidy_workers_.Post([this] {
      Tidy();
      TidyLater();
    });
  });
}

void ApiServerImpl::LookLater() {
  tidy_->PostAfter(kLookEvery, [this] {
    // Blocks, so it must not run on an I/O thread.
    look_workers_.Post([this] {
      RunGuarded("a look at APIServices failed",
                 [this] { aggregator_->Look(system_clock_.SteadyNow()); });
      LookLater();
    });
  });
}

Status ApiServerImpl::MakeAggregator() {
  net::CertificateRequest request;
  request.common_name = kFrontProxyName;
  request.for_client = true;
  request.not_before = system_clock_.Now() - net::kClockSlack;
  request.not_after = system_clock_.Now() + kFrontProxyDays;
  BERTH_TRY(net::TlsIdentity identity,
            net::IssueCertificate(credentials_.front_proxy_authority, request));
  Aggregator::Options options;
  options.front_proxy = std::make_shared<const net::TlsIdentity>(std::move(identity));
  options.is_own = [this](const std::string& group, const std::string& version) {
    return front_->IsOwn(group, version);
  };
  aggregator_ = std::make_unique<Aggregator>(store_->cache(), *api_, *io_, std::move(options));
  front_->SetAggregator(aggregator_.get());
  return OkStatus();
}

void ApiServerImpl::Tidy() {
  registry_->ExpireEvents();
  if (front_ != nullptr) front_->CutIdleStreams(system_clock_.SteadyNow());
  store_->cache().DropParsed();
  ::malloc_trim(0);
}

Status ApiServerImpl::Listen() {
  if (const Status raised = net::RaiseFileLimit(); !raised) LogWarning(raised.error().message);
  authenticator_ =
      std::make_unique<Authenticator>(credentials_.token, tokens_.get(),
                                      options_.clock == nullptr ? &system_clock_ : options_.clock);
  BERTH_CHECK_OK(StartAudit());
  front_ = std::make_unique<Front>(*registry_, *authenticator_, options_.logs);
  front_->SetAudit(audit_.get());
  front_->SetIoPool(*io_);
  BERTH_CHECK_OK(MakeAggregator());
  net::ServerOptions server;
  server.address = options_.address;
  server.port = options_.port;
  server.tls = std::make_shared<const net::TlsIdentity>(credentials_.serving);
  server.client_ca_pem = credentials_.authority.certificate_chain_pem;
  server.max_stream_backlog_bytes = kMaxStreamBacklog;
  server.max_body_bytes = kMaxRequestBody;
  BERTH_TRY(http_, net::HttpServer::Start(
                       *io_, std::move(server),
                       [this](net::Request request, std::shared_ptr<net::Responder> responder) {
                         front_->Handle(std::move(request), std::move(responder));
                       }));
  port_ = http_->port();
  const bool any = options_.address == "0.0.0.0" || options_.address == "::";
  const std::string host = any ? "127.0.0.1" : options_.address;
  const bool v6 = host.find(':') != std::string::npos;
  url_ = "https://" + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port_);
  front_->SetServerAddress(url_.substr(8));
  kubeconfig_ = MakeKubeconfig(credentials_, url_);
  if (!options_.data_directory.empty()) {
    front_->SetBackupPath(options_.data_directory + "/backup.db");
  }
  front_->SetReady();
  return OkStatus();
}

Status ApiServerImpl::StartAudit() {
  if (options_.audit_log.empty()) return OkStatus();
  AuditPolicy policy = AuditPolicy::Default();
  if (!options_.audit_policy.empty()) {
    std::ifstream file(options_.audit_policy);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) {
      return Error{ErrorCode::kInvalid, "the audit policy " + options_.audit_policy +
                                            " cannot be read; choose another --audit-policy"};
    }
    auto parsed = AuditPolicy::Parse(text.str());
    if (!parsed) {
      return Error{ErrorCode::kInvalid,
                   "the audit policy " + options_.audit_policy + ": " + parsed.error().message};
    }
    policy = *std::move(parsed);
  }
  BERTH_TRY(auto sink, OpenAuditFile({.path = options_.audit_log,
                                      .max_bytes = options_.audit_log_bytes,
                                      .kept = options_.audit_log_kept}));
  audit_log_ = std::make_unique<AuditLog>(std::move(sink));
  audit_ =
      std::make_unique<AuditTrail>(std::move(policy), *audit_log_, *registry_,
                                   options_.clock == nullptr ? &system_clock_ : options_.clock);
  return OkStatus();
}

Result<ApiServer::Identity> ApiServerImpl::IssueServerCertificate(
    const std::string& common_name, const std::vector<std::string>& dns_names) {
  net::CertificateRequest request;
  request.common_name = common_name;
  request.dns_names = dns_names;
  request.ip_addresses = {"127.0.0.1", "::1"};
  request.for_server = true;
  request.not_before = system_clock_.Now() - std::chrono::hours(1);
  request.not_after = system_clock_.Now() + kWebhookCertificateDays;
  BERTH_TRY(net::TlsIdentity identity, net::IssueCertificate(credentials_.authority, request));
  return Identity{std::move(identity.certificate_chain_pem), std::move(identity.private_key_pem)};
}

void ApiServerImpl::StopAll() {
  if (front_ != nullptr) front_->Stop();
  if (http_ != nullptr) http_->Stop();
  if (aggregator_ != nullptr) aggregator_->Stop();
  look_workers_.Stop();
  // No callback reaches the members below once the I/O threads have stopped.
  if (io_ != nullptr) io_->Stop();
  tidy_workers_.Stop();
  http_.reset();
  front_.reset();
  aggregator_.reset();
  audit_.reset();
  api_.reset();
  registry_.reset();
  tokens_.reset();
  store_.reset();
  // Answers to the last writes are logged.
  audit_log_.reset();
  webhooks_.reset();
  tidy_.reset();
  io_.reset();
}

}  // namespace

Result<std::unique_ptr<ApiServer>> ApiServer::Start(ApiServerOptions options) {
  auto server = std::make_unique<ApiServerImpl>(std::move(options));
  BERTH_CHECK_OK(server->Open());
  return std::unique_ptr<ApiServer>(std::move(server));
}

}  // namespace berth::local
