// local/apiserver/auth/authenticator.h — finds the user of a request from its bearer token or
// client certificate.
//
// Threads: immutable; any thread. Source: Kubernetes authentication.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "local/apiserver/auth/user.h"
#include "net/http.h"

namespace berth::local {

// The audience of this server's tokens, which spec.audiences of a TokenReview may name.
inline constexpr char kAudience[] = "https://kubernetes.default.svc.cluster.local";

class Authenticator {
 public:
  enum class Outcome {
    kUser,
    kAnonymous,  // no credentials: may use open paths only
    kRefused,    // wrong credentials: may use no path, not even open ones
  };
  struct Answer {
    Outcome outcome = Outcome::kAnonymous;
    UserInfo user;
  };

  // `token`: the only valid bearer token; empty: none is valid.
  explicit Authenticator(std::string token) : token_(std::move(token)) {}

  Answer Authenticate(const net::Request& request) const;
  // The user of a bearer token; nullopt: the token is not valid.
  std::optional<UserInfo> UserOf(std::string_view token) const;

 private:
  const std::string token_;
};

}  // namespace berth::local
