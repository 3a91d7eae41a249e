// certificates.k8s.io/v1 CertificateSigningRequest: stored, approved and given certificates by
// clients; no controller of `berth up` signs. Source: Kubernetes 1.36 registry and validation,
// restated.
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/strategies.h"

namespace berth::local {
namespace {

constexpr std::int64_t kLeastSeconds = 600;

bool IsDecision(const Json& condition) {
  const std::string type = TextAt(condition, {"type"});
  return type == "Approved" || type == "Denied";
}

// The conditions of `given`, with the decisions of `known` only.
Json KeepDecisions(const Json& given, const Json& known) {
  Json kept = Json::array();
  for (const Json& condition : known) {
    if (IsDecision(condition)) kept.push_back(condition);
  }
  for (const Json& condition : given) {
    if (!IsDecision(condition)) kept.push_back(condition);
  }
  return kept;
}

class CertificateRequestStrategy final : public Strategy {
 public:
  void PrepareForUpdate(const ResourceInfo& resource, Json& object, const Json& old_object,
                        std::string_view subresource, WallTime now) const override {
    const Json conditions = ArrayAt(object, {"status", "conditions"});
    Strategy::PrepareForUpdate(resource, object, old_object,
                               subresource == "approval" ? "" : subresource, now);
    CopyOrErase(object, old_object, "spec");
    if (subresource == "approval") {
      object["status"]["conditions"] = conditions;
    } else if (subresource == "status") {
      Json kept = KeepDecisions(conditions, ArrayAt(old_object, {"status", "conditions"}));
      if (!kept.empty()) {
        object["status"]["conditions"] = std::move(kept);
      } else if (object.contains("status")) {
        object["status"].erase("conditions");
      }
    }
  }
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    const std::string request = Base64Decode(TextAt(object, {"spec", "request"})).value_or("");
    if (request.find("-----BEGIN CERTIFICATE REQUEST-----") == std::string::npos) {
      causes.push_back(
          InvalidWithoutValue("spec.request", "PEM block type must be CERTIFICATE REQUEST"));
    }
    if (ArrayAt(object, {"spec", "usages"}).empty()) {
      causes.push_back(RequiredError("spec.usages"));
    }
    const std::string signer = TextAt(object, {"spec", "signerName"});
    if (signer.empty()) {
      causes.push_back(RequiredError("spec.signerName"));
    } else if (const auto slash = signer.find('/');
               slash == std::string::npos || slash + 1 == signer.size()) {
      causes.push_back(InvalidError(
          "spec.signerName", signer,
          "must be a fully qualified domain and path of the form 'example.com/signer-name'"));
    }
    const std::int64_t seconds = IntAt(object, {"spec", "expirationSeconds"}, kLeastSeconds);
    if (seconds < kLeastSeconds) {
      causes.push_back(InvalidError("spec.expirationSeconds", seconds,
                                    "may not specify a duration less than 600 seconds (10 "
                                    "minutes)"));
    }
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    bool approved = false;
    bool denied = false;
    for (const Json& condition : ArrayAt(object, {"status", "conditions"})) {
      approved |= TextAt(condition, {"type"}) == "Approved";
      denied |= TextAt(condition, {"type"}) == "Denied";
    }
    if (approved && denied) {
      causes.push_back(InvalidWithoutValue("status.conditions",
                                           "Approved and Denied conditions are mutually "
                                           "exclusive"));
    }
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeCertificateRequestStrategy() {
  return std::make_unique<CertificateRequestStrategy>();
}

}  // namespace berth::local
