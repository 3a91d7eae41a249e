// apiregistration.k8s.io/v1 APIService. Source: Kubernetes 1.36 validation, restated.
#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/stored_checks.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

constexpr std::int64_t kMostGroupPriority = 20000;
constexpr std::int64_t kMostVersionPriority = 1000;

void CheckPriority(const Json& object, std::string_view field, std::int64_t most,
                   std::vector<Cause>& causes) {
  const std::int64_t priority = IntAt(object, {"spec", field}, 0);
  if (priority > 0 && priority <= most) return;
  causes.push_back(InvalidError(ChildPath("spec", field), priority,
                                "must be positive and less than " + std::to_string(most)));
}

void CheckService(const Json& object, std::vector<Cause>& causes) {
  const Json* service = At(object, {"spec", "service"});
  const std::string bundle = TextAt(object, {"spec", "caBundle"});
  const bool skips = BoolAt(object, {"spec", "insecureSkipTLSVerify"}, false);
  if (service == nullptr) {
    if (!bundle.empty()) {
      causes.push_back(InvalidError(
          "spec.caBundle", std::to_string(Base64Decode(bundle).value_or("").size()) + " bytes",
          "local APIServices may not have a caBundle"));
    }
    if (skips) {
      causes.push_back(InvalidError("spec.insecureSkipTLSVerify", true,
                                    "local APIServices may not have insecureSkipTLSVerify"));
    }
    return;
  }
  for (const std::string_view field : {"namespace", "name"}) {
    if (TextAt(*service, {field}).empty()) {
      causes.push_back(RequiredError(ChildPath("spec.service", field)));
    }
  }
  const Json port = IntAt(*service, {"port"}, 443);
  for (const std::string& error : PortNumberErrors(port)) {
    causes.push_back(InvalidError("spec.service.port", port, "port is not valid: " + error));
  }
  if (skips && !bundle.empty()) {
    causes.push_back(
        InvalidError("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present"));
  }
}

class ApiServiceStrategy final : public Strategy {
 public:
  NameRule name_rule() const override { return NameRule::kPathSegment; }
  // A group version that this server answers itself is available at once.
  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    Strategy::PrepareForCreate(resource, object, now);
    if (At(object, {"spec", "service"}) != nullptr) return;
    object["status"]["conditions"] =
        Json::array({{{"type", "Available"},
                      {"status", "True"},
                      {"reason", "Local"},
                      {"message", "Local APIServices are always available"},
                      {"lastTransitionTime", FormatTime(now)}}});
  }
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, Check(object));
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    if (subresource.empty()) AppendCauses(causes, Check(object));
    return causes;
  }

 private:
  static std::vector<Cause> Check(const Json& object) {
    std::vector<Cause> causes;
    const std::string group = TextAt(object, {"spec", "group"});
    const std::string version = TextAt(object, {"spec", "version"});
    const std::string name = version + "." + group;
    if (NameOf(object) != name) {
      causes.push_back(InvalidError("metadata.name", NameOf(object),
                                    "must be `spec.version+\".\"+spec.group`: " + GoQuote(name)));
    }
    if (group.empty() && version != "v1") {
      causes.push_back(RequiredError(
          "spec.group", "only v1 may have an empty group and it better be legacy kube"));
    }
    if (!group.empty()) AppendInvalid("spec.group", group, Dns1123SubdomainErrors(group), causes);
    AppendInvalid("spec.version", version, Dns1035LabelErrors(version), causes);
    CheckPriority(object, "groupPriorityMinimum", kMostGroupPriority, causes);
    CheckPriority(object, "versionPriority", kMostVersionPriority, causes);
    CheckService(object, causes);
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeApiServiceStrategy() {
  return std::make_unique<ApiServiceStrategy>();
}

}  // namespace berth::local
