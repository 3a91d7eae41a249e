#include "readapi/controller/sign_in.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/strings.h"
#include "net/sealed_text.h"
#include "readapi/controller/json_text.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;

constexpr char kJsonType[] = "application/json";
constexpr std::size_t kMaxTokenBytes = 16 * 1024;
constexpr int kMaxDepth = 4;
constexpr std::size_t kFlowKeyBytes = 32;
constexpr std::size_t kMostUsedFlows = 1024;  // within the life of a flow
constexpr char kNoProvider[] =
    "there is no OpenID provider: start with --read-api-openid-issuer, or sign in with a token";
constexpr char kUnknownProvider[] =
    "the API server does not take the tokens of this OpenID provider: kube-apiserver needs the "
    "same --oidc-issuer-url and --oidc-client-id";

// Browsers send the cookies of a host to all its ports: each port has a name of its own.
std::string CookieName(const net::Request& request) {
  const std::string_view host = request.headers.Find("Host");
  const std::string_view port = host.substr(std::min(host.rfind(':'), host.size()));
  const auto number = port.empty() ? std::nullopt : ParseInt64(port.substr(1));
  return "__Host-berth" + (number && *number > 0 ? "-" + std::to_string(*number) : "");
}

std::string CookieOf(const net::Request& request, const std::string& name) {
  const std::string prefix = name + "=";
  for (const std::string_view each : Split(request.headers.Find("Cookie"), ';')) {
    const std::string_view pair = TrimSpace(each);
    if (pair.starts_with(prefix)) return std::string(pair.substr(prefix.size()));
  }
  return "";
}

// The cookie of a sign-in that is under way.
std::string FlowCookieName(const net::Request& request) { return CookieName(request) + "-openid"; }

std::string SetCookie(const std::string& name, const std::string& value, Duration life) {
  return name + "=" + value + "; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=" +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(life).count());
}

std::string TextOf(const Json& value) { return api::FormatJson(value) + "\n"; }

net::Response OfOtherSite() { return Problem(403, "requests of other sites are refused"); }

struct SignInSecret {
  enum class Kind : std::uint8_t { kToken, kCode, kOpenId };
  Kind kind = Kind::kToken;
  std::string text;   // a token, or a code
  std::string state;  // kOpenId
};

// The text of a field, without blanks around it; empty: there is none, or it is too long.
std::string SecretAt(const Json& object, const char* field) {
  std::string text(TrimSpace(TextAt(object, field)));
  return text.size() <= kMaxTokenBytes ? text : "";
}

// The one secret of the body. Errors: kInvalid.
Result<SignInSecret> SecretOf(const net::Request& request) {
  using Kind = SignInSecret::Kind;
  const Json body = api::ParseJsonOrNull(request.body, {.max_depth = kMaxDepth, .max_values = 16});
  if (body.is_object() && body.size() == 1) {
    SignInSecret secret{Kind::kToken, SecretAt(body, "token"), ""};
    if (body.contains("code")) secret = {Kind::kCode, SecretAt(body, "code"), ""};
    if (const auto of = body.find("openId"); of != body.end() && of->is_object()) {
      secret = {Kind::kOpenId, SecretAt(*of, "code"), SecretAt(*of, "state")};
    }
    const bool is_whole = secret.kind != Kind::kOpenId || !secret.state.empty();
    if (!secret.text.empty() && is_whole) return secret;
  }
  return Error{ErrorCode::kInvalid,
               R"(send {"token": "…"}, {"code": "…"} or {"openId": {"code": "…", "state": "…"}})"};
}

// The page's own address, to which a provider sends the browser; nullopt: the header Host is none.
std::optional<std::string> RedirectUriOf(const net::Request& request) {
  constexpr std::size_t kLongestHost = 261;  // a name and a port
  const std::string host(request.headers.Find("Host"));
  const bool is_host =
      !host.empty() && host.size() <= kLongestHost &&
      std::all_of(host.begin(), host.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view(".-:[]").find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (!is_host) return std::nullopt;
  return "https://" + host + "/sign-in";
}

// A provider that does not answer is no fault of the reader.
int StatusOfProvider(ErrorCode code) { return code == ErrorCode::kInvalid ? 401 : 503; }

constexpr std::string_view kOfKubernetes = "system:";

// A provider of identities gives no rights that Kubernetes keeps for itself. Some proxies write all
// groups into one header, with commas.
std::optional<kube::AccessUser> ReaderOf(kube::AccessUser named) {
  if (named.name.starts_with(kOfKubernetes)) return std::nullopt;
  kube::AccessUser reader{.name = std::move(named.name)};
  for (const std::string& header : named.groups) {
    for (const std::string_view each : Split(header, ',')) {
      const std::string_view group = TrimSpace(each);
      if (!group.empty() && !group.starts_with(kOfKubernetes)) reader.groups.emplace_back(group);
    }
  }
  reader.groups.emplace_back(kAllUsers);
  return reader;
}

}  // namespace

bool IsOwnSite(const net::Request& request) {
  const std::string_view site = request.headers.Find("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") return false;
  const std::string_view origin = request.headers.Find("Origin");
  return origin.empty() ||
         EqualsIgnoreCase(origin, "https://" + std::string(request.headers.Find("Host")));
}

bool HasJson(const net::Request& request) {
  return ToLower(request.headers.Find("Content-Type")).starts_with(kJsonType);
}

bool HasSecretOf(const PageSession& session, const net::Request& request) {
  return EqualSecrets(std::string(request.headers.Find(kCsrfHeader)), session.csrf);
}

SignIn::SignIn(const Clock& clock, PageSessions::RandomBytes random, kube::AccessGate gate,
               Options options)
    : clock_(clock),
      random_(random),
      sessions_(clock, std::move(random), {}, std::move(options.folder)),
      gate_(std::move(gate)),
      has_actions_(options.actions),
      cluster_name_(std::move(options.cluster_name)),
      proxy_(std::move(options.proxy)),
      open_id_(std::move(options.open_id)),
      flow_key_(open_id_ == nullptr ? "" : random_(kFlowKeyBytes)) {}

std::string SignIn::SessionText(const std::optional<PageSession>& session) const {
  Json answer = {{"signedIn", session.has_value()}};
  if (session) {
    answer["user"] = session->user;
    answer["csrf"] = session->csrf;
    answer["actions"] = has_actions_;
  }
  if (!cluster_name_.empty()) answer["cluster"] = cluster_name_;
  if (open_id_ != nullptr) answer["openId"] = open_id_->host();
  return TextOf(answer);
}

std::optional<PageSession> SignIn::SessionOf(const net::Request& request) {
  const std::string cookie = CookieOf(request, CookieName(request));
  if (cookie.empty() || !IsOwnSite(request)) return std::nullopt;
  return sessions_.Find(cookie);
}

Caller SignIn::HeadersOf(const net::Request& request) const {
  Caller caller{.token = kube::BearerTokenOf(request)};
  if (!caller.token.empty() || !IsOwnSite(request)) return caller;
  if (std::optional<kube::AccessUser> named = kube::UserOf(request, proxy_)) {
    caller.user = ReaderOf(*std::move(named));
  }
  return caller;
}

Caller SignIn::CallerOf(const net::Request& request) {
  Caller caller = HeadersOf(request);
  if (caller.is_known()) return caller;
  if (std::optional<PageSession> session = SessionOf(request)) {
    caller.token = std::move(session->token);
  }
  return caller;
}

void SignIn::Handle(const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
  if (!IsOwnSite(request)) return responder->Send(OfOtherSite());
  if (request.target == kOpenIdPath) return BeginOpenId(request, responder);
  if (request.method == "POST") return Begin(request, responder);
  if (request.method == "DELETE") return responder->Send(End(request));
  if (request.method == "GET") return Tell(request, responder);
  net::Response response = Problem(405, "GET, POST and DELETE are allowed here");
  response.headers.Add("Allow", "GET, POST, DELETE");
  responder->Send(std::move(response));
}

void SignIn::Tell(const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
  Caller caller = HeadersOf(request);
  if (!caller.is_known()) {
    return responder->Send(Answer(200, kJsonType, SessionText(SessionOf(request))));
  }
  gate_(WhoseQuestion(std::move(caller)),
        [self = shared_from_this(), responder](const kube::AccessAnswer& access) {
          if (std::optional<net::Response> refusal = RefusalOf(access)) {
            return responder->Send(*std::move(refusal));
          }
          const PageSession of_headers{.user = access.user};
          responder->Send(Answer(200, kJsonType, self->SessionText(of_headers)));
        });
}

void SignIn::Begin(const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
  // A form of another site cannot have this type.
  if (!HasJson(request)) {
    return responder->Send(Problem(415, "send application/json"));
  }
  const Result<SignInSecret> secret = SecretOf(request);
  if (!secret) return responder->Send(Problem(400, secret.error().message));
  switch (secret->kind) {
    case SignInSecret::Kind::kToken: return BeginWith(secret->text, false, request, responder);
    case SignInSecret::Kind::kOpenId:
      return EndOpenId(secret->text, secret->state, request, responder);
    case SignInSecret::Kind::kCode: break;
  }
  const std::optional<std::string> token = sessions_.TakeCode(secret->text);
  if (!token) {
    return responder->Send(
        Problem(401, "the code has been used, or is too old: sign in with a token"));
  }
  BeginWith(*token, false, request, responder);
}

void SignIn::BeginWith(const std::string& token, bool of_open_id, const net::Request& request,
                       const std::shared_ptr<net::Responder>& responder) {
  gate_(WhoseQuestion({.token = token}), [self = shared_from_this(), token, of_open_id, request,
                                          responder](const kube::AccessAnswer& access) {
    if (of_open_id && access.outcome == kube::AccessAnswer::Outcome::kNoUser) {
      return responder->Send(Problem(401, kUnknownProvider));
    }
    if (std::optional<net::Response> refusal = RefusalOf(access)) {
      return responder->Send(*std::move(refusal));
    }
    const std::string name = CookieName(request);
    self->sessions_.End(CookieOf(request, name));
    const std::optional<PageSession> session = self->sessions_.Begin(token, access.user);
    if (!session) return responder->Send(Problem(503, "too many sessions are open"));
    net::Response response = Answer(200, kJsonType, self->SessionText(*session));
    response.headers.Add("Set-Cookie",
                         SetCookie(name, session->name, self->sessions_.options().longest_life));
    if (of_open_id) {
      response.headers.Add("Set-Cookie", SetCookie(FlowCookieName(request), "", Duration::zero()));
    }
    responder->Send(std::move(response));
  });
}

void SignIn::BeginOpenId(const net::Request& request,
                         const std::shared_ptr<net::Responder>& responder) {
  if (request.method != "POST") {
    net::Response response = Problem(405, "POST is allowed here");
    response.headers.Add("Allow", "POST");
    return responder->Send(std::move(response));
  }
  if (!HasJson(request)) return responder->Send(Problem(415, "send application/json"));
  if (open_id_ == nullptr) return responder->Send(Problem(404, kNoProvider));
  const std::optional<std::string> redirect_uri = RedirectUriOf(request);
  if (!redirect_uri) return responder->Send(Problem(400, "the header Host is not a host"));
  const OpenIdFlow flow = MakeOpenIdFlow(random_, *redirect_uri, clock_.Now());
  const Result<std::string> sealed = SealFlow(flow_key_, flow, random_(net::kNonceBytes));
  if (!sealed) return responder->Send(Problem(500, sealed.error().message));
  const std::string cookie = SetCookie(FlowCookieName(request), *sealed, kOpenIdFlowLife);
  open_id_->AddressOf(flow, [responder, cookie](const Result<std::string>& address) {
    if (!address) return responder->Send(Problem(503, address.error().message));
    net::Response response = Answer(200, kJsonType, TextOf(Json{{"address", *address}}));
    response.headers.Add("Set-Cookie", cookie);
    responder->Send(std::move(response));
  });
}

// A client that is not signed in causes at most one request to the provider by each flow.
bool SignIn::TakeFlow(const OpenIdFlow& flow) {
  const std::lock_guard lock(mutex_);
  std::erase_if(used_flows_, [now = clock_.Now()](const auto& each) { return each.second <= now; });
  return used_flows_.size() < kMostUsedFlows && used_flows_.emplace(flow.state, flow.until).second;
}

void SignIn::EndOpenId(const std::string& code, const std::string& state,
                       const net::Request& request,
                       const std::shared_ptr<net::Responder>& responder) {
  if (open_id_ == nullptr) return responder->Send(Problem(404, kNoProvider));
  const std::string cookie = CookieOf(request, FlowCookieName(request));
  const std::optional<OpenIdFlow> flow = UnsealFlow(flow_key_, cookie, clock_.Now());
  if (!flow || !EqualSecrets(flow->state, state)) {
    return responder->Send(
        Problem(401, "the sign-in was begun in another browser, or too long ago: sign in again"));
  }
  if (!TakeFlow(*flow)) {
    return responder->Send(Problem(401, "this sign-in has been used already: sign in again"));
  }
  open_id_->Redeem(*flow, code,
                   [weak = weak_from_this(), request, responder](const Result<std::string>& token) {
                     const auto self = weak.lock();
                     if (self == nullptr) return;  // the server ends, and the responder with it
                     if (!token) {
                       return responder->Send(
                           Problem(StatusOfProvider(token.error().code), token.error().message));
                     }
                     self->BeginWith(*token, true, request, responder);
                   });
}

net::Response SignIn::End(const net::Request& request) {
  const std::optional<PageSession> session = SessionOf(request);
  if (!session) return Problem(401, "nobody is signed in");
  if (!HasSecretOf(*session, request)) {
    return Problem(403, std::string("send the header ") + kCsrfHeader);
  }
  const std::string name = CookieName(request);
  sessions_.End(CookieOf(request, name));
  net::Response response = Answer(200, kJsonType, SessionText(std::nullopt));
  response.headers.Add("Set-Cookie", SetCookie(name, "", Duration::zero()));
  return response;
}

}  // namespace berth::readapi
