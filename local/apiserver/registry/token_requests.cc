#include "local/apiserver/registry/token_requests.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/rfc3339.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

constexpr std::int64_t kDefaultSeconds = 3600;
constexpr std::int64_t kLeastSeconds = 600;
constexpr std::int64_t kMostAllowedSeconds = std::int64_t{1} << 32;
constexpr std::int64_t kMostSeconds = 365LL * 24 * 3600;
constexpr std::size_t kMostAudienceBytes = 4096;
constexpr const char* kGroup = "authentication.k8s.io";

ApiError InvalidRequest(Cause cause) {
  return InvalidStatus(kGroup, "TokenRequest", "", {std::move(cause)});
}

std::optional<ApiError> ReadAudiences(const Json& spec, AccountClaims& claims) {
  std::size_t bytes = 0;
  for (const Json& audience : ArrayAt(spec, {"audiences"})) {
    if (!audience.is_string()) continue;
    claims.audiences.push_back(audience.get<std::string>());
    bytes += claims.audiences.back().size();
  }
  if (bytes > kMostAudienceBytes) {
    return InvalidRequest(TooLongError("spec.audiences", kMostAudienceBytes));
  }
  if (claims.audiences.empty()) claims.audiences = {kAudience};
  return std::nullopt;
}

std::optional<ApiError> ReadEnd(RequestContext& context, const Json& spec, AccountClaims& claims) {
  std::int64_t seconds = IntAt(spec, {"expirationSeconds"}, kDefaultSeconds);
  const std::string field = "spec.expirationSeconds";
  if (seconds < kLeastSeconds) {
    return InvalidRequest(
        InvalidError(field, seconds, "may not specify a duration less than 10 minutes"));
  }
  if (seconds > kMostAllowedSeconds) {
    return InvalidRequest(
        InvalidError(field, seconds, "may not specify a duration larger than 2^32 seconds"));
  }
  if (seconds > kMostSeconds) {
    context.warnings.push_back("requested expiration of " + std::to_string(seconds) +
                               " seconds shortened to " + std::to_string(kMostSeconds) +
                               " seconds");
    seconds = kMostSeconds;
  }
  claims.end = claims.issued + std::chrono::seconds(seconds);
  return std::nullopt;
}

// What a body says about the account must be true.
std::optional<ApiError> CheckAccount(const RequestContext& context, const Json& request,
                                     const AccountClaims& claims) {
  const std::pair<const char*, const std::string&> places[] = {
      {"name", context.name}, {"namespace", context.namespace_name}};
  for (const auto& [field, value] : places) {
    const std::string given = TextAt(request, {"metadata", field});
    if (given.empty() || given == value) continue;
    return InvalidRequest(
        InvalidError(std::string("metadata.") + field, given,
                     std::string("must match the service account ") + field + " if specified"));
  }
  const std::string uid = UidOf(request);
  if (uid.empty() || uid == claims.account.uid) return std::nullopt;
  return ConflictStatus({kGroup, "v1", "TokenRequest"}, context.name,
                        "the UID in the token request (" + uid +
                            ") does not match the UID of the service account (" +
                            claims.account.uid + ")");
}

}  // namespace

std::optional<ApiError> TokenRequests::BindToken(const RequestContext& context,
                                                 const Json& reference,
                                                 AccountClaims& claims) const {
  const std::string kind = TextAt(reference, {"kind"});
  const std::string name = TextAt(reference, {"name"});
  const std::string version = TextAt(reference, {"apiVersion"});
  if (version != "v1" || (kind != "Pod" && kind != "Secret")) {
    return BadRequest("cannot bind token to object of type " + version + ", Kind=" + kind +
                      ": a Pod or a Secret of v1 can be named");
  }
  const bool is_pod = kind == "Pod";
  const char* resource = is_pod ? "pods" : "secrets";
  const StoredPtr stored = cache_.Get({resource, context.namespace_name, name});
  const Object object = stored == nullptr ? nullptr : stored->json();
  if (object == nullptr) return NotFoundStatus({"", "v1", resource}, name);
  if (is_pod && TextAt(*object, {"spec", "serviceAccountName"}) != context.name) {
    return BadRequest("cannot bind token for serviceaccount \"" + context.name +
                      "\" to pod running with different serviceaccount name.");
  }
  const NamedObject bound{name, UidOf(*object)};
  const std::string uid = TextAt(reference, {"uid"});
  if (!uid.empty() && uid != bound.uid) {
    return ConflictStatus({"", "v1", resource}, name,
                          "the UID in the bound object reference (" + uid +
                              ") does not match the UID in record. The object might have been "
                              "deleted and then recreated");
  }
  (is_pod ? claims.pod : claims.secret) = bound;
  const std::string node = is_pod ? TextAt(*object, {"spec", "nodeName"}) : std::string();
  if (node.empty()) return std::nullopt;
  const StoredPtr machine = cache_.Get({"nodes", "", node});
  const Object machine_json = machine == nullptr ? nullptr : machine->json();
  claims.node = NamedObject{node, machine_json == nullptr ? std::string() : UidOf(*machine_json)};
  return std::nullopt;
}

ApiResult<Json> TokenRequests::Issue(RequestContext& context, const Json& request) const {
  if (tokens_ == nullptr) {
    return UnavailableStatus("this server signs no tokens of service accounts");
  }
  if (!request.is_object()) return BadRequest("the TokenRequest is no object");
  const StoredPtr stored = cache_.Get(context.key());
  const Object account = stored == nullptr ? nullptr : stored->json();
  if (account == nullptr) return committer_.Missing(context);
  AccountClaims claims;
  claims.id = identifiers_.NewUid();
  claims.namespace_name = context.namespace_name;
  claims.account = {context.name, UidOf(*account)};
  claims.issued = clock_.Now();
  if (auto error = CheckAccount(context, request, claims)) return *error;
  Json spec = request.value("spec", Json::object());
  if (auto error = ReadAudiences(spec, claims)) return *error;
  if (auto error = ReadEnd(context, spec, claims)) return *error;
  if (const Json* bound = Member(spec, "boundObjectRef"); bound != nullptr && bound->is_object()) {
    if (auto error = BindToken(context, *bound, claims)) return *error;
  }
  auto token = tokens_->Issue(claims);
  if (!token) return InternalStatus("failed to generate token: " + token.error().message);
  spec["audiences"] = claims.audiences;
  spec["expirationSeconds"] =
      std::chrono::duration_cast<std::chrono::seconds>(claims.end - claims.issued).count();
  return Json{{"apiVersion", std::string(kGroup) + "/v1"},
              {"kind", "TokenRequest"},
              {"metadata",
               {{"name", context.name},
                {"namespace", context.namespace_name},
                {"uid", claims.account.uid},
                {"creationTimestamp", FormatTime(claims.issued)}}},
              {"spec", std::move(spec)},
              {"status", {{"token", *token}, {"expirationTimestamp", FormatTime(claims.end)}}}};
}

}  // namespace berth::local
