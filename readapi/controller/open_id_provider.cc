#include "readapi/controller/open_id_provider.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "base/log/log.h"
#include "base/strings.h"
#include "kube/client/api_client.h"
#include "kube/client/proxy.h"
#include "net/io_pool.h"
#include "readapi/controller/json_text.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;

constexpr char kHttps[] = "https://";
constexpr char kDiscoveryPath[] = "/.well-known/openid-configuration";
constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr Duration kKeepEndpoints = std::chrono::hours(1);
constexpr Duration kKeepFailure = std::chrono::seconds(5);
constexpr std::size_t kMostWaiting = 64;
constexpr std::size_t kMostConnections = 4;
constexpr std::size_t kMostTokenBytes = 16 * 1024;
constexpr std::size_t kMostAnswerBytes = 256 * 1024;
constexpr api::JsonLimits kAnswerLimits{.max_depth = 16, .max_values = 4096};

Error Unavailable(const std::string& what) {
  LogWarning("nobody can sign in at the OpenID provider", {{"error", "the provider " + what}});
  return {ErrorCode::kUnavailable, "the OpenID provider " + what};
}

// An https URL in two parts: "https://host:port" and "/path?query".
struct Location {
  std::string origin;
  std::string target;
};

std::optional<Location> LocationOf(const std::string& url) {
  if (!url.starts_with(kHttps) || url.find('#') != std::string::npos) return std::nullopt;
  const std::size_t start = std::string(kHttps).size();
  const std::size_t end = std::min(url.find_first_of("/?", start), url.size());
  if (end == start) return std::nullopt;
  std::string target = url.substr(end);
  if (!target.starts_with('/')) target.insert(0, "/");
  return Location{url.substr(0, end), std::move(target)};
}

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string FormOf(const Fields& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    form += (form.empty() ? "" : "&") + name + "=" + kube::EscapeQuery(value);
  }
  return form;
}

Json ObjectIn(const net::Response& response) {
  Json object = api::ParseJsonOrNull(response.body, kAnswerLimits);
  return object.is_object() ? object : Json::object();
}

// ": invalid_grant"; empty: the answer names no reason of RFC 6749, section 5.2.
std::string ReasonIn(const Json& answer) {
  constexpr std::size_t kLongest = 40;
  const std::string why = TextAt(answer, "error");
  const bool is_word = !why.empty() && why.size() <= kLongest &&
                       why.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  return is_word ? ": " + why : "";
}

// The provider takes the secret in the body alone. By default it takes the secret in a header.
bool TakesSecretInBody(const Json& document) {
  const auto methods = document.find("token_endpoint_auth_methods_supported");
  if (methods == document.end() || !methods->is_array()) return false;
  const auto has = [&](const char* method) {
    return std::find(methods->begin(), methods->end(), method) != methods->end();
  };
  return has("client_secret_post") && !has("client_secret_basic");
}

}  // namespace

Result<std::shared_ptr<OpenIdProvider>> OpenIdProvider::Create(net::IoPool& pool,
                                                               const Clock& clock,
                                                               OpenIdOptions options) {
  const std::optional<Location> location = LocationOf(options.issuer);
  if (!location) {
    return Error{ErrorCode::kInvalid,
                 "issuer of OpenID: \"" + options.issuer + "\" is not an https URL"};
  }
  if (options.client_id.empty()) {
    return Error{ErrorCode::kInvalid, "the issuer of OpenID needs the name of the page's client"};
  }
  std::string host = location->origin.substr(std::string(kHttps).size());
  std::shared_ptr<OpenIdProvider> made(
      new OpenIdProvider(pool, clock, std::move(options), std::move(host)));
  BERTH_TRY(made->discovery_client_, made->MakeClient(location->origin));
  return made;
}

Result<std::shared_ptr<net::HttpClient>> OpenIdProvider::MakeClient(
    const std::string& origin) const {
  net::ClientOptions client{.base_url = origin, .ca_pem = options_.ca_pem};
  BERTH_TRY(client.proxy_url, kube::ProxyFor(origin, "", kube::ReadProxyEnvironment()));
  client.max_connections = kMostConnections;
  client.max_waiting = kMostWaiting;
  client.max_body_bytes = kMostAnswerBytes;
  BERTH_TRY(std::unique_ptr<net::HttpClient> made,
            net::HttpClient::Create(pool_, std::move(client)));
  return std::shared_ptr<net::HttpClient>(std::move(made));
}

Result<std::shared_ptr<net::HttpClient>> OpenIdProvider::ClientFor(const std::string& origin) {
  const std::lock_guard lock(mutex_);
  if (token_client_ == nullptr || token_origin_ != origin) {
    BERTH_TRY(token_client_, MakeClient(origin));
    token_origin_ = origin;
  }
  return token_client_;
}

void OpenIdProvider::AddressOf(const OpenIdFlow& flow, Done done) {
  Discover([options = options_, flow, done = std::move(done)](const Result<Endpoints>& endpoints) {
    if (!endpoints) return done(endpoints.error());
    const std::string& base = endpoints->authorization;
    const std::string mark = base.find('?') == std::string::npos ? "?" : "&";
    done(base + mark +
         FormOf({{"response_type", "code"},
                 {"client_id", options.client_id},
                 {"redirect_uri", flow.redirect_uri},
                 {"scope", options.scopes},
                 {"state", flow.state},
                 {"nonce", flow.nonce},
                 {"code_challenge", ChallengeOf(flow.verifier)},
                 {"code_challenge_method", "S256"}}));
  });
}

void OpenIdProvider::Redeem(const OpenIdFlow& flow, const std::string& code, Done done) {
  Discover([weak = weak_from_this(), flow, code,
            done = std::move(done)](const Result<Endpoints>& endpoints) {
    if (!endpoints) return done(endpoints.error());
    if (const auto self = weak.lock()) self->SendCode(*endpoints, flow, code, done);
  });
}

void OpenIdProvider::Discover(const WithEndpoints& then) {
  std::optional<Result<Endpoints>> known;
  bool begins = false;
  {
    const std::lock_guard lock(mutex_);
    if (known_ && clock_.SteadyNow() < known_until_) {
      known = known_;
    } else if (waiting_.size() >= kMostWaiting) {
      known = Error{ErrorCode::kTooManyRequests, "too many sign-ins wait for the OpenID provider"};
    } else {
      begins = waiting_.empty();
      waiting_.push_back(then);
    }
  }
  if (known) return then(*known);
  if (!begins) return;
  std::string path = LocationOf(options_.issuer)->target;
  if (path.ends_with('/')) path.pop_back();
  discovery_client_->Send(net::Request{.method = "GET", .target = path + kDiscoveryPath}, kTimeout,
                          [weak = weak_from_this()](const Result<net::Response>& response) {
                            if (const auto self = weak.lock()) self->TakeDiscovery(response);
                          });
}

void OpenIdProvider::TakeDiscovery(const Result<net::Response>& response) {
  const Result<Endpoints> found = EndpointsIn(response);
  std::vector<WithEndpoints> waiting;
  Result<Endpoints> usable = found;
  {
    const std::lock_guard lock(mutex_);
    // Endpoints that worked stay in use while the provider's document cannot be read.
    const bool keeps = !found && known_ && *known_;
    if (!keeps) known_ = found;
    known_until_ = clock_.SteadyNow() + (found ? kKeepEndpoints : kKeepFailure);
    waiting.swap(waiting_);
    usable = *known_;
  }
  for (const WithEndpoints& then : waiting) then(usable);
}

Result<OpenIdProvider::Endpoints> OpenIdProvider::EndpointsIn(
    const Result<net::Response>& response) const {
  if (!response) return Unavailable("does not answer: " + response.error().message);
  if (response->status != 200) {
    return Unavailable("answers " + std::to_string(response->status) + " to the request for " +
                       kDiscoveryPath);
  }
  const Json document = ObjectIn(*response);
  if (TextAt(document, "issuer") != options_.issuer) {
    return Unavailable("calls itself \"" + TextAt(document, "issuer") + "\", not \"" +
                       options_.issuer + "\"");
  }
  Endpoints endpoints{TextAt(document, "authorization_endpoint"),
                      TextAt(document, "token_endpoint"), TakesSecretInBody(document)};
  if (!LocationOf(endpoints.authorization) || !LocationOf(endpoints.token)) {
    return Unavailable("has no https endpoints for codes and tokens");
  }
  return endpoints;
}

void OpenIdProvider::SendCode(const Endpoints& endpoints, const OpenIdFlow& flow,
                              const std::string& code, const Done& done) {
  const Location location = *LocationOf(endpoints.token);
  const Result<std::shared_ptr<net::HttpClient>> client = ClientFor(location.origin);
  if (!client) return done(client.error());
  Fields fields = {{"grant_type", "authorization_code"},
                   {"code", code},
                   {"redirect_uri", flow.redirect_uri},
                   {"code_verifier", flow.verifier}};
  net::Request request{.method = "POST", .target = location.target};
  const bool in_header = !options_.client_secret.empty() && !endpoints.secret_in_body;
  if (in_header) {
    request.headers.Add("Authorization",
                        "Basic " + Base64Encode(kube::EscapeQuery(options_.client_id) + ":" +
                                                kube::EscapeQuery(options_.client_secret)));
  } else {
    fields.emplace_back("client_id", options_.client_id);
    if (!options_.client_secret.empty()) {
      fields.emplace_back("client_secret", options_.client_secret);
    }
  }
  request.headers.Add("Content-Type", "application/x-www-form-urlencoded");
  request.headers.Add("Accept", "application/json");
  request.body = FormOf(fields);
  (*client)->Send(std::move(request), kTimeout,
                  [weak = weak_from_this(), flow, done](const Result<net::Response>& response) {
                    if (const auto self = weak.lock()) done(self->TokenIn(response, flow));
                  });
}

Result<std::string> OpenIdProvider::TokenIn(const Result<net::Response>& response,
                                            const OpenIdFlow& flow) const {
  if (!response) return Unavailable("does not answer: " + response.error().message);
  const Json answer = ObjectIn(*response);
  if (response->status == 400 && TextAt(answer, "error") == "invalid_grant") {
    return Error{ErrorCode::kInvalid,
                 "the OpenID provider does not know the code, or not any more: sign in again"};
  }
  if (response->status != 200) {
    return Unavailable("answers " + std::to_string(response->status) + ReasonIn(answer) +
                       " to the request for a token");
  }
  std::string token = TextAt(answer, "id_token");
  if (token.empty()) {
    return Unavailable("sends no ID token: does the scope have \"openid\"?");
  }
  if (token.size() > kMostTokenBytes) {
    return Unavailable("sends an ID token above 16 KiB: ask for fewer scopes or groups");
  }
  BERTH_CHECK_OK(CheckIdToken(token, {options_.issuer, options_.client_id, flow.nonce}));
  return token;
}

}  // namespace berth::readapi
