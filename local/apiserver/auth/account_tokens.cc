#include "local/apiserver/auth/account_tokens.h"

#include <algorithm>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr const char* kUserPrefix = "system:serviceaccount:";
constexpr const char* kExtraPrefix = "authentication.kubernetes.io/";
constexpr const char* kKubernetes = "kubernetes.io";
constexpr std::size_t kMostVerified = 1024;
constexpr std::size_t kLongestToken = std::size_t{16} * 1024;

Error Refused(std::string why) { return {ErrorCode::kInvalid, std::move(why)}; }

std::int64_t Seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

WallTime TimeOf(const Json& claims, const char* field) {
  return WallTime(std::chrono::seconds(IntAt(claims, {field}, 0)));
}

Json JsonOf(const NamedObject& object) { return {{"name", object.name}, {"uid", object.uid}}; }

std::optional<NamedObject> ObjectAt(const Json& claims, const char* field) {
  const Json* object = At(claims, {kKubernetes, field});
  if (object == nullptr) return std::nullopt;
  return NamedObject{TextAt(*object, {"name"}), TextAt(*object, {"uid"})};
}

Json PayloadOf(const AccountClaims& claims) {
  Json about{{"namespace", claims.namespace_name}, {"serviceaccount", JsonOf(claims.account)}};
  if (claims.pod) about["pod"] = JsonOf(*claims.pod);
  if (claims.secret) about["secret"] = JsonOf(*claims.secret);
  if (claims.node) about["node"] = JsonOf(*claims.node);
  return {{"aud", claims.audiences},
          {"exp", Seconds(claims.end)},
          {"iat", Seconds(claims.issued)},
          {"nbf", Seconds(claims.issued)},
          {"iss", kAudience},
          {"jti", claims.id},
          {"sub", kUserPrefix + claims.namespace_name + ":" + claims.account.name},
          {kKubernetes, std::move(about)}};
}

AccountClaims ClaimsOf(const Json& payload) {
  AccountClaims claims;
  claims.id = TextAt(payload, {"jti"});
  for (const Json& audience : ArrayAt(payload, {"aud"})) {
    if (audience.is_string()) claims.audiences.push_back(audience.get<std::string>());
  }
  claims.namespace_name = TextAt(payload, {kKubernetes, "namespace"});
  claims.account = ObjectAt(payload, "serviceaccount").value_or(NamedObject{});
  claims.pod = ObjectAt(payload, "pod");
  claims.secret = ObjectAt(payload, "secret");
  claims.node = ObjectAt(payload, "node");
  claims.issued = TimeOf(payload, "nbf");
  claims.end = TimeOf(payload, "exp");
  return claims;
}

UserInfo UserOf(const AccountClaims& claims) {
  UserInfo user;
  user.name = kUserPrefix + claims.namespace_name + ":" + claims.account.name;
  user.uid = claims.account.uid;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + claims.namespace_name,
                 kAuthenticatedGroup};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) user.extra[std::string(kExtraPrefix) + key] = {value};
  };
  add("credential-id", "JTI=" + claims.id);
  if (claims.pod) {
    add("pod-name", claims.pod->name);
    add("pod-uid", claims.pod->uid);
  }
  if (claims.node) {
    add("node-name", claims.node->name);
    add("node-uid", claims.node->uid);
  }
  return user;
}

}  // namespace

AccountTokens::AccountTokens(net::SigningKey key, const WatchCache& cache)
    : key_(std::move(key)),
      cache_(cache),
      header_(Base64UrlEncode(api::FormatJson(Json{{"alg", "ES256"}, {"kid", key_.id()}}))) {}

AccountTokens::~AccountTokens() = default;

bool AccountTokens::IsToken(std::string_view token) {
  return std::count(token.begin(), token.end(), '.') == 2;
}

Result<std::string> AccountTokens::Issue(const AccountClaims& claims) const {
  const std::string text = header_ + "." + Base64UrlEncode(api::FormatJson(PayloadOf(claims)));
  BERTH_TRY(const std::string signature, key_.Sign(text));
  return text + "." + Base64UrlEncode(signature);
}

Result<std::string> AccountTokens::KeySet() const {
  BERTH_TRY(const net::SigningKey::Point point, key_.PublicPoint());
  const Json key{{"use", "sig"},
                 {"kty", "EC"},
                 {"kid", key_.id()},
                 {"crv", "P-256"},
                 {"alg", "ES256"},
                 {"x", Base64UrlEncode(point.x)},
                 {"y", Base64UrlEncode(point.y)}};
  return api::FormatJson(Json{{"keys", Json::array({key})}});
}

// The header is compared, not parsed, and claims are parsed once the signature is known to be ours.
Result<std::shared_ptr<const AccountClaims>> AccountTokens::Verified(std::string_view token) const {
  if (token.size() > kLongestToken) return Refused("the token is too long");
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = verified_.find(token); known != verified_.end()) return known->second;
  }
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  if (first == std::string_view::npos || first == last) return Refused("the token has no parts");
  if (token.substr(0, first) != header_) return Refused("the token is signed by another key");
  const auto signature = Base64UrlDecode(token.substr(last + 1));
  if (!signature || !key_.Verify(token.substr(0, last), *signature)) {
    return Refused("the signature is wrong");
  }
  const auto payload = Base64UrlDecode(token.substr(first + 1, last - first - 1));
  // allow json-parse: this server wrote the text, as the signature shows
  const Json json = payload ? Json::parse(*payload, nullptr, false) : Json();
  if (!json.is_object()) return Refused("the claims cannot be read");
  auto claims = std::make_shared<const AccountClaims>(ClaimsOf(json));
  const std::lock_guard lock(mutex_);
  if (verified_.size() >= kMostVerified) verified_.clear();
  verified_.emplace(token, claims);
  return std::shared_ptr<const AccountClaims>(std::move(claims));
}

Status AccountTokens::CheckObjects(const AccountClaims& claims) const {
  const auto check = [&](const char* resource, const NamedObject& named) -> Status {
    const StoredPtr stored = cache_.Get({resource, claims.namespace_name, named.name});
    const Object object = stored == nullptr ? nullptr : stored->json();
    if (object != nullptr && UidOf(*object) == named.uid) return OkStatus();
    return Refused(std::string("service account token has been invalidated: ") + resource + " \"" +
                   named.name + "\" of the token does not exist any more");
  };
  BERTH_CHECK_OK(check("serviceaccounts", claims.account));
  if (claims.pod) BERTH_CHECK_OK(check("pods", *claims.pod));
  if (claims.secret) BERTH_CHECK_OK(check("secrets", *claims.secret));
  return OkStatus();
}

Result<AccountTokens::Account> AccountTokens::Check(std::string_view token, WallTime now) const {
  BERTH_TRY(const std::shared_ptr<const AccountClaims> claims, Verified(token));
  if (now >= claims->end) return Refused("service account token has expired");
  if (now + std::chrono::minutes(1) < claims->issued) {
    return Refused("service account token is not valid yet");
  }
  BERTH_CHECK_OK(CheckObjects(*claims));
  return Account{UserOf(*claims), claims->audiences};
}

}  // namespace berth::local
