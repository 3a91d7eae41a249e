// local/apiserver/auth/authenticator.h — finds the user of a request from its bearer token or
// client certificate.
//
// Threads: any thread. Source: Kubernetes authentication.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/auth/account_tokens.h"
#include "local/apiserver/auth/user.h"
#include "net/http.h"

namespace berth::local {

class Authenticator {
 public:
  enum class Outcome {
    kUser,
    kAnonymous,  // no credentials
    kRefused,    // wrong credentials: may use no path, not even open ones
  };
  struct Answer {
    Outcome outcome = Outcome::kAnonymous;
    UserInfo user;
  };

  // `token`: the administrator's bearer token; empty: there is none. `accounts`: null if there are
  // no tokens of service accounts; else `clock` must not be null.
  explicit Authenticator(std::string token, const AccountTokens* accounts = nullptr,
                         const Clock* clock = nullptr)
      : token_(std::move(token)), accounts_(accounts), clock_(clock) {}

  Answer Authenticate(const net::Request& request) const;

  // The user of a token, and those of the asked audiences (none asked: this server's) for which the
  // token is valid. Without a user, `error` has the reason.
  struct TokenAnswer {
    std::optional<UserInfo> user;
    std::vector<std::string> audiences;
    std::string error;
  };
  TokenAnswer Review(std::string_view token, const std::vector<std::string>& audiences) const;

 private:
  const std::string token_;
  const AccountTokens* const accounts_;
  const Clock* const clock_;
};

}  // namespace berth::local
