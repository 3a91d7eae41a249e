#include "readapi/controller/sign_in.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/strings.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;

constexpr char kJsonType[] = "application/json";
constexpr std::size_t kMaxTokenBytes = 16 * 1024;
constexpr int kMaxDepth = 4;

// Browsers send the cookies of a host to all its ports: each port has a name of its own.
std::string CookieName(const net::Request& request) {
  const std::string_view host = request.headers.Find("Host");
  const std::string_view port = host.substr(std::min(host.rfind(':'), host.size()));
  const auto number = port.empty() ? std::nullopt : ParseInt64(port.substr(1));
  return "__Host-berth" + (number && *number > 0 ? "-" + std::to_string(*number) : "");
}

std::string CookieOf(const net::Request& request) {
  const std::string prefix = CookieName(request) + "=";
  for (const std::string_view each : Split(request.headers.Find("Cookie"), ';')) {
    const std::string_view pair = TrimSpace(each);
    if (pair.starts_with(prefix)) return std::string(pair.substr(prefix.size()));
  }
  return "";
}

std::string SetCookie(const net::Request& request, const std::string& value, Duration life) {
  return CookieName(request) + "=" + value +
         "; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=" +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(life).count());
}

std::string TextOf(const Json& value) { return api::FormatJson(value) + "\n"; }

// `actions`: whether the page may offer writes.
Json SessionJson(const PageSession& session, bool actions) {
  return {{"signedIn", true}, {"user", session.user}, {"csrf", session.csrf}, {"actions", actions}};
}

net::Response OfOtherSite() { return Problem(403, "requests of other sites are refused"); }

// The one secret of the body: its kind and its text. Errors: kInvalid.
Result<std::pair<std::string, std::string>> SecretOf(const net::Request& request) {
  const Json body = api::ParseJsonOrNull(request.body, {.max_depth = kMaxDepth, .max_values = 16});
  if (body.is_object() && body.size() == 1) {
    const auto only = body.begin();
    const bool is_known = only.key() == "token" || only.key() == "code";
    if (is_known && only->is_string()) {
      std::string text(TrimSpace(only->get_ref<const std::string&>()));
      if (!text.empty() && text.size() <= kMaxTokenBytes) return std::pair(only.key(), text);
    }
  }
  return Error{ErrorCode::kInvalid, R"(send {"token": "…"} or {"code": "…"})"};
}

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

std::optional<PageSession> SignIn::SessionOf(const net::Request& request) {
  const std::string cookie = CookieOf(request);
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
    const std::optional<PageSession> session = SessionOf(request);
    const Json body = session ? SessionJson(*session, has_actions_) : Json{{"signedIn", false}};
    return responder->Send(Answer(200, kJsonType, TextOf(body)));
  }
  gate_(WhoseQuestion(std::move(caller)), [responder, actions = has_actions_](
                                              const kube::AccessAnswer& access) {
    if (std::optional<net::Response> refusal = RefusalOf(access)) {
      return responder->Send(*std::move(refusal));
    }
    responder->Send(Answer(200, kJsonType, TextOf(SessionJson({.user = access.user}, actions))));
  });
}

void SignIn::Begin(const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
  // A form of another site cannot have this type.
  if (!HasJson(request)) {
    return responder->Send(Problem(415, "send application/json"));
  }
  Result<std::pair<std::string, std::string>> secret = SecretOf(request);
  if (!secret) return responder->Send(Problem(400, secret.error().message));
  std::optional<std::string> token = std::move(secret->second);
  if (secret->first == "code") token = sessions_.TakeCode(*token);
  if (!token) {
    return responder->Send(
        Problem(401, "the code has been used, or is too old: sign in with a token"));
  }
  gate_(WhoseQuestion({.token = *token}), [self = shared_from_this(), token = *token, request,
                                           responder](const kube::AccessAnswer& access) {
    if (std::optional<net::Response> refusal = RefusalOf(access)) {
      return responder->Send(*std::move(refusal));
    }
    self->sessions_.End(CookieOf(request));
    const std::optional<PageSession> session = self->sessions_.Begin(token, access.user);
    if (!session) return responder->Send(Problem(503, "too many sessions are open"));
    net::Response response =
        Answer(200, kJsonType, TextOf(SessionJson(*session, self->has_actions_)));
    response.headers.Add("Set-Cookie",
                         SetCookie(request, session->name, self->sessions_.options().longest_life));
    responder->Send(std::move(response));
  });
}

net::Response SignIn::End(const net::Request& request) {
  const std::optional<PageSession> session = SessionOf(request);
  if (!session) return Problem(401, "nobody is signed in");
  if (!HasSecretOf(*session, request)) {
    return Problem(403, std::string("send the header ") + kCsrfHeader);
  }
  sessions_.End(CookieOf(request));
  net::Response response = Answer(200, kJsonType, TextOf(Json{{"signedIn", false}}));
  response.headers.Add("Set-Cookie", SetCookie(request, "", Duration::zero()));
  return response;
}

}  // namespace berth::readapi
