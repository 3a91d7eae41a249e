// local/apiserver/auth/authenticator.h — who makes a request: a bearer token or a client
// certificate.
//
// Threads: immutable; any thread. Source: Kubernetes authentication.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "local/apiserver/registry/request.h"
#include "net/http.h"

namespace berth::local {

class Authenticator {
 public:
  enum class Outcome {
    kUser,
    kAnonymous,  // no credentials at all: the open paths only
    kRefused,    // wrong credentials: nothing, not even what is open
  };
  struct Answer {
    Outcome outcome = Outcome::kAnonymous;
    UserInfo user;
  };

  // The one token that is known; empty: none is.
  explicit Authenticator(std::string token) : token_(std::move(token)) {}

  Answer Authenticate(const net::Request& request) const;
  // Whose the bearer token is; nullopt: of nobody who is known.
  std::optional<UserInfo> UserOf(std::string_view token) const;

 private:
  const std::string token_;
};

}  // namespace berth::local
