// readapi/controller/open_id_flow.h — one sign-in at an OpenID provider: from the answer that sends
// the browser there until the browser has come back.
//
// The browser keeps the flow itself, in a cookie that is sealed with a key of the program: no
// memory is used for browsers that never come back. The page has the state from the provider, and
// the cookie proves that the same browser began the flow.
//
// Threads: pure functions. Errors: kInvalid, with texts for the reader of the page.
// Source: RFC 6749 section 4.1, RFC 7636, OpenID Connect Core 1.0 sections 3.1 and 15.5.2.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace berth::readapi {

inline constexpr Duration kOpenIdFlowLife = std::chrono::minutes(10);

struct OpenIdFlow {
  std::string state;         // in the address of the provider, and in its answer
  std::string nonce;         // a claim of the ID token
  std::string verifier;      // the secret of PKCE; only the program sends it
  std::string redirect_uri;  // the page's own address, to which the provider sends the browser
  WallTime until{};
};

// `random` gives as many bytes as it is asked for, of a source for secrets.
OpenIdFlow MakeOpenIdFlow(const std::function<std::string(std::size_t)>& random,
                          std::string redirect_uri, WallTime now);

// The challenge of a verifier, by the method S256.
std::string ChallengeOf(const std::string& verifier);

// `key`: at least 32 random bytes. `nonce`: net::kNonceBytes random bytes. The result is fit for a
// cookie. Errors: kInternal for a failure of OpenSSL.
Result<std::string> SealFlow(const std::string& key, const OpenIdFlow& flow,
                             const std::string& nonce);
// nullopt: the text was sealed with another key, has been changed, or the flow has ended.
std::optional<OpenIdFlow> UnsealFlow(const std::string& key, const std::string& sealed,
                                     WallTime now);

struct OpenIdExpectation {
  std::string issuer;
  std::string client_id;
  std::string nonce;
};
// Checks the claims iss, aud, azp and nonce of an ID token. The token comes from the provider over
// TLS; its signature and its end are reviewed by the API server, as those of every token.
Status CheckIdToken(const std::string& token, const OpenIdExpectation& expected);

}  // namespace berth::readapi
