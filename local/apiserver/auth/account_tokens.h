// local/apiserver/auth/account_tokens.h — tokens of ServiceAccounts: JSON Web Tokens that this
// server signs and checks.
//
// A token names its account and may name a pod or a Secret. It is valid until its end, and as long
// as these objects exist with the same uid.
//
// Threads: any thread. Source: Kubernetes ServiceAccount tokens; RFC 7519.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "local/apiserver/auth/user.h"
#include "local/apiserver/store/watch_cache.h"
#include "net/signing_key.h"

namespace berth::local {

// The issuer of tokens and the audience of this server, which spec.audiences of a TokenReview may
// name.
inline constexpr char kAudience[] = "https://kubernetes.default.svc.cluster.local";

struct NamedObject {
  std::string name;
  std::string uid;
};

struct AccountClaims {
  std::string id;  // identifies the token
  std::vector<std::string> audiences;
  std::string namespace_name;
  NamedObject account;
  std::optional<NamedObject> pod;
  std::optional<NamedObject> secret;
  std::optional<NamedObject> node;  // the node of the pod
  WallTime issued;
  WallTime end;
};

class AccountTokens {
 public:
  // The cache must outlive this object.
  AccountTokens(net::SigningKey key, const WatchCache& cache);
  ~AccountTokens();

  Result<std::string> Issue(const AccountClaims& claims) const;

  // The key with which others check the tokens, as a JSON Web Key Set. Source: RFC 7517.
  Result<std::string> KeySet() const;

  struct Account {
    UserInfo user;
    std::vector<std::string> audiences;
  };
  // Errors: kInvalid, with the reason why the token is not valid at `now`.
  Result<Account> Check(std::string_view token, WallTime now) const;
  // Whether the text has the form of one of these tokens.
  static bool IsToken(std::string_view token);

 private:
  Result<std::shared_ptr<const AccountClaims>> Verified(std::string_view token) const;
  Status CheckObjects(const AccountClaims& claims) const;

  const net::SigningKey key_;
  const WatchCache& cache_;
  const std::string header_;  // the first part of every token
  mutable std::mutex mutex_;
  // Tokens whose signature has been checked; guarded by mutex_.
  mutable std::map<std::string, std::shared_ptr<const AccountClaims>, std::less<>> verified_;
};

}  // namespace berth::local
