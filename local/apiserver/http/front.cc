#include "local/apiserver/http/front.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <random>

#include "api/codec/json_write.h"
#include "base/architecture.h"
#include "base/go_duration.h"
#include "base/log/log.h"
#include "base/random.h"
#include "base/strings.h"
#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/blocking.h"
#include "local/apiserver/cancellation.h"
#include "local/apiserver/http/impersonation.h"
#include "local/apiserver/http/openapi_documents.h"
#include "local/apiserver/http/openapi_v2.h"
#include "local/apiserver/http/request_access.h"
#include "local/apiserver/http/server_metrics.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/registry/uuid.h"
#include "local/apiserver/store/backup.h"
#include "local/apiserver/webhooks/match.h"
#include "net/compression.h"

namespace berth::local {
namespace {

// Most requests handled at a time, without those that wait for webhooks.
constexpr std::size_t kRunningWorkers = 4;
constexpr std::size_t kMostRequestThreads = 64;  // the limit of each pool
constexpr std::size_t kMostRequestsWaiting = 4096;
constexpr WorkerPool::Limits kLimits{kMostRequestThreads, kRunningWorkers, kMostRequestsWaiting};

constexpr const char* kWebhookConfigurations[] = {
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io"};
constexpr std::size_t kMinCompressedBytes = 128 * 1024;  // kube-apiserver's limit
constexpr std::string_view kLeaseGroup = "coordination.k8s.io";
constexpr std::string_view kMetricsPath = "/metrics";
constexpr std::string_view kBackupPath = "/debug/berth/backup";
constexpr std::string_view kCrds = "customresourcedefinitions.apiextensions.k8s.io";

constexpr const char* kVersion = "v1.36.3+berth";

// The answer to GET /version.
Json VersionInfo() {
  return {{"major", "1"},        {"minor", "36"},           {"gitVersion", kVersion},
          {"gitCommit", ""},     {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
          {"goVersion", "none"}, {"compiler", "c++"},       {"platform", kPlatform}};
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// kube-apiserver's --request-timeout.
constexpr Duration kRequestTimeout = std::chrono::seconds(60);

// How long a request may wait for its turn; nullopt: it stays open, or a program answers it.
std::optional<Duration> PatienceOf(const Exchange& exchange) {
  const bool is_answered_elsewhere =
      exchange.api && !exchange.api->subresource.empty() && exchange.api->resource == "pods";
  if (exchange.target.IsTrue("watch") || is_answered_elsewhere) return std::nullopt;
  const std::optional<Duration> asked = ParseGoDuration(exchange.target.Get("timeout"));
  return asked && *asked > Duration::zero() ? std::min(*asked, kRequestTimeout) : kRequestTimeout;
}

// The form of the timeout that a client gives to a request that does not stay open.
std::optional<ApiError> CheckTimeout(const Target& target, const std::optional<ApiPath>& api) {
  if (api && api->subresource == "proxy") return std::nullopt;  // the parameter is the program's
  const std::string text = target.Get("timeout");
  if (text.empty() || target.IsTrue("watch") || ParseGoDuration(text)) return std::nullopt;
  return BadRequest("invalid timeout specified in the request URL - \"" + text +
                    "\" is not a duration such as 30s");
}

bool IsServed(const ResourceTable& table, const ApiPath& path) {
  const ResourcePtr resource = table.Find({path.group, path.version, path.resource});
  return resource != nullptr &&
         (path.subresource.empty() || resource->FindSubresource(path.subresource) != nullptr);
}

std::string Etag(const std::string& body) {
  return "\"" + std::to_string(std::hash<std::string>()(body)) + "\"";
}

}  // namespace

Front::Front(Registry& registry, const Authenticator& authenticator, LogSource* logs)
    : registry_(registry),
      authenticator_(authenticator),
      metrics_(std::make_shared<RequestMetrics>(
          [&registry](const ApiPath& path) { return IsServed(*registry.table(), path); })),
      watches_(registry, *metrics_),
      handlers_(registry, watches_, authenticator, logs),
      leases_(kLimits),
      readers_(kLimits),
      writers_(kLimits),
      callers_(kLimits),
      audit_seed_((std::uint64_t{std::random_device{}()} << 32U) | std::random_device{}()) {}

void Front::Stop() {
  ready_.store(false);
  watches_.Stop();
  leases_.Stop();
  readers_.Stop();
  writers_.Stop();
  callers_.Stop();
}

void Front::SetServerAddress(std::string address) { server_address_ = std::move(address); }

void Front::SetExtension(const std::string& group, Extension::Handler handler) {
  extension_.Set(group, std::move(handler));
  const std::lock_guard lock(openapi_mutex_);
  openapi_generation_ = -1;
}

bool Front::IsOwn(const std::string& group, const std::string& version) {
  return registry_.table()->HasGroupVersion(group, version) || extension_.Serves(group);
}

std::string Front::NewAuditId() {
  Random random(audit_seed_ + request_count_.fetch_add(1) * 2);
  return MakeUuid(random);
}

bool Front::Admit(Exchange& exchange) {
  const auto who = authenticator_.Authenticate(exchange.request);
  const AccessAttributes access =
      AttributesOf(exchange.request.method, exchange.target, exchange.api);
  const auto refuse = [&](const ApiError& error) {
    exchange.SendError(error);
    return false;
  };
  if (who.outcome == Authenticator::Outcome::kRefused) {
    const UserInfo nobody{.name = "", .uid = "", .groups = {}, .extra = {}};
    if (audit_ != nullptr) audit_->Begin(exchange, access, nobody, nullptr);
    return refuse(UnauthorizedStatus());
  }
  RoleIndex& roles = registry_.roles();
  auto user = ActingUser(exchange.request.headers, roles, who.user);
  if (audit_ != nullptr) {
    const bool acts = user && (user->name != who.user.name || user->groups != who.user.groups);
    audit_->Begin(exchange, access, who.user, acts ? &*user : nullptr);
  }
  if (!user) return refuse(user.error());
  exchange.user = *std::move(user);
  // Every request passes here, and nothing behind this line asks for the right again, but for what
  // the path does not tell: objects that a PUT or PATCH creates, and what roles grant.
  const Access granted = Authorize(roles, exchange.user, access);
  if (exchange.audit != nullptr) {
    auto& notes = exchange.audit->values;
    notes["authorization.k8s.io/decision"] = granted.allowed ? "allow" : "forbid";
    notes["authorization.k8s.io/reason"] = granted.reason;
  }
  return granted.allowed || refuse(ForbiddenTo(exchange.user, access));
}

void Front::Handle(net::Request request, std::shared_ptr<net::Responder> responder) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->responder = net::CompressLargeAnswers(exchange->request, std::move(responder),
                                                  {.min_bytes = kMinCompressedBytes});
  exchange->audit_id = NewAuditId();
  auto target = ParseTarget(exchange->request.target);
  if (!target) {
    exchange->SendError({400, "BadRequest",
                         "the request target cannot be decoded: write UTF-8 with percent escapes",
                         Json()});
    return;
  }
  exchange->target = std::move(*target);
  std::string& path = exchange->target.path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  exchange->api = ParseApiPath(path);
  exchange->responder = metrics_->Measure(exchange->request, exchange->target, exchange->api,
                                          std::move(exchange->responder));
  if (auto error = CheckTimeout(exchange->target, exchange->api))
    return exchange->SendError(*error);
  if (!Admit(*exchange)) return;
  if (RouteHealth(*exchange)) return;
  const auto work = [this, exchange, arrived = std::chrono::steady_clock::now()] {
    const Cancellation cancellation([&exchange, arrived, patience = PatienceOf(*exchange)] {
      if (exchange->responder->HasPeerLeft()) return true;
      return patience && std::chrono::steady_clock::now() - arrived > *patience;
    });
    if (auto error = CheckCancellation()) return exchange->SendError(*error);
    Route(*exchange);
  };
  if (!PoolOf(*exchange).Post(work, exchange->user.name)) {
    ApiError busy{429,
                  "TooManyRequests",
                  "too many requests are waiting, please try again later",
                  {{"retryAfterSeconds", 1}}};
    exchange->SendError(busy);
  }
}

bool Front::MayCallWebhooks(const Exchange& exchange) const {
  const std::optional<ApiPath>& path = exchange.api;
  if (!path || path->resource.empty()) return false;
  const auto table = registry_.table();
  const ResourcePtr resource = table->Find({path->group, path->version, path->resource});
  if (resource == nullptr) return false;
  if (resource->crd != nullptr && resource->crd->conversion.webhook) return true;
  if (exchange.request.method == "GET") return false;
  if (resource->storage == kCrds) return true;  // instances may be deleted with the CRD
  for (const char* configurations : kWebhookConfigurations) {
    for (const StoredPtr& stored : registry_.store().cache().List(configurations, "").objects) {
      const Object configuration = stored->json();
      if (configuration == nullptr) continue;
      for (const Json& webhook : ArrayAt(*configuration, {"webhooks"})) {
        if (NamesResource(webhook, path->group, path->resource)) return true;
      }
    }
  }
  return false;
}

WorkerPool& Front::PoolOf(const Exchange& exchange) {
  if (exchange.api && exchange.api->group == kLeaseGroup) return leases_;
  if (MayCallWebhooks(exchange)) return callers_;
  return exchange.request.method == "GET" ? readers_ : writers_;
}

bool Front::RouteHealth(Exchange& exchange) const {
  const std::string& path = exchange.target.path;
  if (path == "/version") {
    exchange.SendJson(200, api::FormatJson(VersionInfo()));
    return true;
  }
  if (!IsHealthPath(path)) return false;
  if (StartsWith(path, "/readyz") && !ready_.load()) {
    exchange.SendText(500, "text/plain; charset=utf-8", "not ready");
    return true;
  }
  // Reported in /readyz as etcd does; not in /livez, which would cause a restart.
  const Status store = registry_.store().Health();
  if (!store && !StartsWith(path, "/livez")) {
    exchange.SendText(500, "text/plain; charset=utf-8",
                      "[+]ping ok\n[-]store failed: " + store.error().message + "\n" +
                          path.substr(1) + " check failed\n");
    return true;
  }
  const std::string body = exchange.target.IsTrue("verbose")
                               ? "[+]ping ok\n[+]store ok\n" + path.substr(1) + " check passed\n"
                               : "ok";
  exchange.SendText(200, "text/plain; charset=utf-8", body);
  return true;
}

void Front::SendDiscovery(Exchange& exchange, Root root) {
  const auto form = Negotiate(exchange.request.headers.Find("Accept"), Offer::kDiscovery);
  if (!form) {
    exchange.SendError({406, "NotAcceptable",
                        "only the following media types are accepted: application/json", Json()});
    return;
  }
  const auto table = registry_.table();
  if (form->form != Form::kAggregatedDiscovery) {
    Json plain = root == Root::kCore ? CoreVersions(server_address_) : GroupList(*table);
    if (root == Root::kGroups) {
      extension_.AddTo(plain, "groups", "/apis", "application/json");
      if (aggregator_ != nullptr) aggregator_->AddGroups(plain);
    }
    exchange.SendJson(200, EncodeObject(plain));
    return;
  }
  Json document = AggregatedDiscovery(*table, root, form->api_version);
  if (root == Root::kGroups) {
    extension_.AddTo(document, "items", "/apis", form->content_type);
    if (aggregator_ != nullptr) aggregator_->AddDiscovery(document);
  }
  std::string body = EncodeObject(document);
  const std::string etag = Etag(body);
  net::Headers headers{{"Content-Type", form->content_type},
                       {"ETag", etag},
                       {"Vary", "Accept"},
                       {"Audit-Id", exchange.audit_id},
                       {"Cache-Control", "public"}};
  if (exchange.request.headers.Find("If-None-Match") == etag) {
    exchange.responder->Send({304, std::move(headers), ""});
    return;
  }
  body.push_back('\n');
  exchange.responder->Send({200, std::move(headers), std::move(body)});
}

bool Front::RouteDiscovery(Exchange& exchange) {
  const std::string& path = exchange.target.path;
  if (path == "/api" || path == "/apis") {
    SendDiscovery(exchange, path == "/api" ? Root::kCore : Root::kGroups);
    return true;
  }
  if (path == "/") {
    exchange.SendJson(
        200, api::FormatJson(Json{
                 {"paths", Json::array({"/api", "/apis", "/healthz", "/livez", "/metrics",
                                        "/openapi/v2", "/openapi/v3", "/readyz", "/version"})}}));
    return true;
  }
  const auto table = registry_.table();
  if (StartsWith(path, "/apis/") && path.find('/', 6) == std::string::npos) {
    const std::string group = path.substr(6);
    if (!table->HasGroup(group) || group.empty()) {
      auto other = aggregator_ == nullptr ? std::nullopt : aggregator_->GroupOf(group);
      if (other) exchange.SendJson(200, EncodeObject(*other));
      return other.has_value();
    }
    exchange.SendJson(200, EncodeObject(GroupOf(*table, group)));
    return true;
  }
  const std::optional<ApiPath>& api = exchange.api;
  if (!api || !api->resource.empty() || !table->HasGroupVersion(api->group, api->version)) {
    return false;
  }
  exchange.SendJson(200, EncodeObject(ResourceList(*table, api->group, api->version)));
  return true;
}

// The index has hashes of all documents: built once per state of the catalogue.
std::string Front::OpenApiIndexText(const ResourceTable& table) {
  const std::lock_guard lock(openapi_mutex_);
  const std::int64_t aggregated = aggregator_ == nullptr ? 0 : aggregator_->generation();
  if (openapi_generation_ != table.generation() || openapi_aggregated_ != aggregated) {
    Json index = OpenApiIndex(table);
    if (aggregator_ != nullptr) aggregator_->AddOpenApi(index);
    extension_.AddTo(index, "paths", "/openapi/v3", "application/json");
    openapi_index_ = api::FormatJson(index);
    openapi_generation_ = table.generation();
    openapi_aggregated_ = aggregated;
  }
  return openapi_index_;
}

bool Front::RouteOpenApi(Exchange& exchange) {
  constexpr std::string_view kRoot = "/openapi/v3";
  const std::string& path = exchange.target.path;
  if (path == "/openapi/v2") {
    const bool wants_protobuf =
        exchange.request.headers.Find("Accept").find("proto-openapi") != std::string::npos;
    if (wants_protobuf) {
      exchange.SendText(200, kOpenApiV2Media, OpenApiV2Protobuf(*registry_.table()));
    } else {
      exchange.SendText(200, "application/json", OpenApiV2Json(*registry_.table()));
    }
    return true;
  }
  if (!StartsWith(path, kRoot)) return false;
  const auto table = registry_.table();
  const std::string rest = path.substr(kRoot.size());
  if (rest.empty() || rest == "/") {
    exchange.SendText(200, "application/json", OpenApiIndexText(*table));
    return true;
  }
  const auto api = ParseApiPath(rest);
  if (!api || !api->resource.empty()) return false;
  const Json document = OpenApiDocument(*table, api->group, api->version);
  if (document.is_null()) return false;
  exchange.SendText(200, "application/json", api::FormatJson(document));
  return true;
}

// How others check tokens of ServiceAccounts. Source: OpenID Connect Discovery 1.0.
bool Front::RouteIssuer(Exchange& exchange) const {
  const std::string& path = exchange.target.path;
  const AccountTokens* tokens = registry_.tokens();
  if (tokens == nullptr) return false;
  if (path == "/openid/v1/jwks") {
    const auto keys = tokens->KeySet();
    if (!keys) {
      exchange.SendError(InternalStatus(keys.error().message));
    } else {
      exchange.SendText(200, "application/jwk-set+json", *keys);
    }
    return true;
  }
  if (path != "/.well-known/openid-configuration") return false;
  const Json configuration{{"issuer", kAudience},
                           {"jwks_uri", "https://" + server_address_ + "/openid/v1/jwks"},
                           {"response_types_supported", Json::array({"id_token"})},
                           {"subject_types_supported", Json::array({"public"})},
                           {"id_token_signing_alg_values_supported", Json::array({"ES256"})}};
  exchange.SendJson(200, api::FormatJson(configuration));
  return true;
}

// Writes to the data directory only: a client must not choose a path on this machine.
void Front::MakeBackup(Exchange& exchange) {
  if (backup_path_.empty()) {
    return exchange.SendError(UnavailableStatus("nothing is kept on a disk here"));
  }
  const BlockingScope blocking;
  const std::unique_lock lock(backup_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return exchange.SendError({429,
                               "TooManyRequests",
                               "another backup is being made, please try again later",
                               {{"retryAfterSeconds", 1}}});
  }
  const auto backup = WriteBackup(registry_.store().cache(), backup_path_);
  if (!backup) return exchange.SendError(UnavailableStatus(backup.error().message));
  const Json answer{{"path", backup->path},
                    {"resourceVersion", std::to_string(backup->revision)},
                    {"objects", backup->objects}};
  exchange.SendJson(201, api::FormatJson(answer));
}

void Front::Route(Exchange& exchange) {
  try {
    if (exchange.target.path == kBackupPath && exchange.request.method == "POST") {
      return MakeBackup(exchange);
    }
    if (exchange.target.path == kMetricsPath && exchange.request.method == "GET") {
      return exchange.SendText(200, kMetricsMedia, ServerMetrics(*metrics_, registry_, kVersion));
    }
    if (auto answer = extension_.Answer(exchange.target.path, exchange.request)) {
      answer->headers.Set("Audit-Id", exchange.audit_id);
      return exchange.responder->Send(*std::move(answer));
    }
    if (aggregator_ != nullptr && aggregator_->Handle(exchange)) return;
    if (exchange.request.method == "GET" &&
        (RouteDiscovery(exchange) || RouteOpenApi(exchange) || RouteIssuer(exchange))) {
      return;
    }
    if (exchange.api && !exchange.api->resource.empty()) {
      handlers_.Handle(exchange, *exchange.api);
      return;
    }
    exchange.SendText(404, "text/plain; charset=utf-8", "404 page not found\n");
  } catch (const std::exception& error) {
    // Usually a value of an unexpected type that the checks missed: a bug, but no reason to crash.
    LogError("request failed", {{"path", exchange.target.path}, {"error", error.what()}});
    exchange.SendError(InternalStatus(error.what()));
  }
}

}  // namespace berth::local
