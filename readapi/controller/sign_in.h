// readapi/controller/sign_in.h — sessions of the page over HTTP, at /api/v1/session.
//
//     POST   {"token": …} or {"code": …} ─▶ AccessGate: whose token? ─▶ cookie, user, csrf
//     POST …/openid ─▶ {"address": …} of the OpenID provider, and a cookie with the sealed flow
//     POST   {"openId": {"code": …, "state": …}} with that cookie ─▶ the provider's ID token ─▶
//            AccessGate ─▶ cookie, user, csrf
//     GET    ─▶ {"signedIn": …, "user": …, "csrf": …}
//     GET    with a token that a proxy sends, or the user whom a trusted proxy names
//                                         ─▶ AccessGate ─▶ {"signedIn": true, "csrf": ""}
//     DELETE with X-Berth-CSRF ─▶ the session ends
//
// The cookie names the session; it is HttpOnly, Secure, SameSite=Strict, for this host alone. A
// request with the cookie counts only if this site has sent it: browsers also send cookies of
// localhost to other ports, which SameSite does not tell apart. The token never reaches the browser
// again.
//
// A trusted proxy shows a client certificate (kube/runtime/front_proxy.h). Its headers count only
// in requests of this site, and never for users and groups of Kubernetes ("system:…").
//
// Threads: as ReadServer. Errors: answers; 400, 401, 403, 405, 415, 503.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kube/runtime/front_proxy.h"
#include "kube/runtime/metrics_server.h"
#include "net/server.h"
#include "readapi/controller/open_id_provider.h"
#include "readapi/controller/page_sessions.h"
#include "readapi/controller/sight_reviews.h"
#include "readapi/openapi.h"

namespace berth::readapi {

inline constexpr char kAllUsers[] = "system:authenticated";
inline constexpr char kCsrfHeader[] = "X-Berth-CSRF";
inline constexpr std::size_t kMaxSignInBytes = 32 * 1024;

// Whether no other site has sent the request. A browser names the sending site in headers; a
// request without these headers, as from a client that is no browser, counts as the own site's.
bool IsOwnSite(const net::Request& request);

// Whether the body is JSON: a form of another site cannot send that type.
bool HasJson(const net::Request& request);
// Whether the request names the session's secret in kCsrfHeader.
bool HasSecretOf(const PageSession& session, const net::Request& request);

class SignIn : public std::enable_shared_from_this<SignIn> {
 public:
  struct Options {
    bool actions = false;                     // writes are served
    std::string cluster_name;                 // empty: it has none
    std::optional<SessionFolder> folder;      // see PageSessions
    kube::FrontProxyTrust proxy;              // without an authority: headers name no user
    std::shared_ptr<OpenIdProvider> open_id;  // null: nobody signs in so
  };
  SignIn(const Clock& clock, PageSessions::RandomBytes random, kube::AccessGate gate,
         Options options);

  // A request for kSessionPath or kOpenIdPath.
  void Handle(const net::Request& request, const std::shared_ptr<net::Responder>& responder);
  // The session of the cookie; nullopt: there is none, or it does not count.
  std::optional<PageSession> SessionOf(const net::Request& request);
  // The caller that the header Authorization names, else the user that a trusted proxy names.
  Caller HeadersOf(const net::Request& request) const;
  // The caller of HeadersOf, else the holder of the cookie's session.
  Caller CallerOf(const net::Request& request);
  PageSessions& sessions() { return sessions_; }

 private:
  void Tell(const net::Request& request, const std::shared_ptr<net::Responder>& responder);
  void Begin(const net::Request& request, const std::shared_ptr<net::Responder>& responder);
  void BeginWith(const std::string& token, bool of_open_id, const net::Request& request,
                 const std::shared_ptr<net::Responder>& responder);
  void BeginOpenId(const net::Request& request, const std::shared_ptr<net::Responder>& responder);
  void EndOpenId(const std::string& code, const std::string& state, const net::Request& request,
                 const std::shared_ptr<net::Responder>& responder);
  // Marks the flow as used; false: it has been used, or too many flows are in use.
  bool TakeFlow(const OpenIdFlow& flow);
  // The answer for a session, or for nobody.
  std::string SessionText(const std::optional<PageSession>& session) const;
  net::Response End(const net::Request& request);

  const Clock& clock_;
  const PageSessions::RandomBytes random_;
  PageSessions sessions_;
  const kube::AccessGate gate_;
  const bool has_actions_;
  const std::string cluster_name_;
  const kube::FrontProxyTrust proxy_;
  const std::shared_ptr<OpenIdProvider> open_id_;
  const std::string flow_key_;  // seals flows; a restart of the program ends them
  std::mutex mutex_;
  std::map<std::string, WallTime> used_flows_;  // the state of each, until its end
};

}  // namespace berth::readapi
