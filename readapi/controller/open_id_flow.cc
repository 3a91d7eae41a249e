#include "readapi/controller/open_id_flow.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "net/sealed_text.h"
#include "readapi/controller/json_text.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kSecretBytes = 32;
constexpr char kSealContext[] = "berth sign-in by OpenID";
constexpr api::JsonLimits kClaimLimits{.max_depth = 16, .max_values = 4096};

// Whether the claim "aud" names the client: as its only audience, or as the party that the token
// was issued to.
bool IsFor(const Json& claims, const std::string& client_id) {
  const auto audience = claims.find("aud");
  if (audience == claims.end()) return false;
  if (audience->is_string()) return audience->get_ref<const std::string&>() == client_id;
  if (!audience->is_array()) return false;
  const bool is_named = std::any_of(audience->begin(), audience->end(), [&](const Json& each) {
    return each.is_string() && each.get_ref<const std::string&>() == client_id;
  });
  return is_named && (audience->size() == 1 || TextAt(claims, "azp") == client_id);
}

}  // namespace

OpenIdFlow MakeOpenIdFlow(const std::function<std::string(std::size_t)>& random,
                          std::string redirect_uri, WallTime now) {
  return {.state = Base64UrlEncode(random(kSecretBytes)),
          .nonce = Base64UrlEncode(random(kSecretBytes)),
          .verifier = Base64UrlEncode(random(kSecretBytes)),
          .redirect_uri = std::move(redirect_uri),
          .until = now + kOpenIdFlowLife};
}

std::string ChallengeOf(const std::string& verifier) { return Base64UrlEncode(Sha256(verifier)); }

Result<std::string> SealFlow(const std::string& key, const OpenIdFlow& flow,
                             const std::string& nonce) {
  const auto until = std::chrono::floor<std::chrono::seconds>(flow.until).time_since_epoch();
  const Json text = {{"state", flow.state},
                     {"nonce", flow.nonce},
                     {"verifier", flow.verifier},
                     {"redirect", flow.redirect_uri},
                     {"until", until.count()}};
  BERTH_TRY(const std::string sealed,
            net::SealText(key, kSealContext, api::FormatJson(text), nonce));
  return Base64UrlEncode(sealed);
}

std::optional<OpenIdFlow> UnsealFlow(const std::string& key, const std::string& sealed,
                                     WallTime now) {
  const std::optional<std::string> bytes = Base64UrlDecode(sealed);
  const auto text = bytes ? net::UnsealText(key, kSealContext, *bytes) : std::nullopt;
  const Json object = text ? api::ParseJsonOrNull(*text, kClaimLimits) : Json();
  if (!object.is_object()) return std::nullopt;
  OpenIdFlow flow{.state = TextAt(object, "state"),
                  .nonce = TextAt(object, "nonce"),
                  .verifier = TextAt(object, "verifier"),
                  .redirect_uri = TextAt(object, "redirect"),
                  .until = WallTime(std::chrono::seconds(object.value("until", std::int64_t{0})))};
  if (flow.until <= now) return std::nullopt;
  return flow;
}

Status CheckIdToken(const std::string& token, const OpenIdExpectation& expected) {
  const auto refuse = [](const std::string& what) {
    return Error{ErrorCode::kInvalid, "the ID token of the OpenID provider " + what};
  };
  const std::vector<std::string_view> parts = Split(token, '.');
  const auto payload = parts.size() == 3 ? Base64UrlDecode(parts[1]) : std::nullopt;
  const Json claims = payload ? api::ParseJsonOrNull(*payload, kClaimLimits) : Json();
  if (!claims.is_object()) return refuse("is not a signed JSON Web Token");
  if (TextAt(claims, "iss") != expected.issuer) return refuse("names another issuer");
  if (!IsFor(claims, expected.client_id)) return refuse("is for another client");
  if (TextAt(claims, "nonce") != expected.nonce) return refuse("belongs to another sign-in");
  return OkStatus();
}

}  // namespace berth::readapi
