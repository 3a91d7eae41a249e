#include <set>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/admission_rules.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

void CheckClientConfig(const Json& webhook, const std::string& path, std::vector<Cause>& causes) {
  const Json* config = Member(webhook, "clientConfig");
  const std::string url = config == nullptr ? "" : TextAt(*config, {"url"});
  const bool service = config != nullptr && Member(*config, "service") != nullptr;
  if (url.empty() == !service) {
    causes.push_back(RequiredError(path, "exactly one of url or service is required"));
    return;
  }
  if (!url.empty() && url.rfind("https://", 0) != 0) {
    causes.push_back(InvalidError(path + ".url", url, "'https' is the only allowed URL scheme"));
  }
  if (!service) return;
  const std::string at = path + ".service";
  if (TextAt(*config, {"service", "name"}).empty()) {
    causes.push_back(RequiredError(at + ".name", "service name is required"));
  }
  if (TextAt(*config, {"service", "namespace"}).empty()) {
    causes.push_back(RequiredError(at + ".namespace", "service namespace is required"));
  }
  const std::int64_t port = IntAt(*config, {"service", "port"}, 443);
  if (!IsPortNumber(port)) {
    causes.push_back(InvalidError(at + ".port", port,
                                  "port is not valid: must be between 1 and 65535, inclusive"));
  }
}

void CheckWebhook(const Json& webhook, const std::string& path, std::vector<Cause>& causes) {
  const std::string name = TextAt(webhook, {"name"});
  if (name.empty()) causes.push_back(RequiredError(path + ".name"));
  CheckClientConfig(webhook, path + ".clientConfig", causes);
  const Json& rules = ArrayAt(webhook, {"rules"});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    CheckRule(rules[i], IndexPath(path + ".rules", i), causes);
  }
  const std::string effects = TextAt(webhook, {"sideEffects"});
  if (effects != "None" && effects != "NoneOnDryRun") {
    causes.push_back(
        effects.empty()
            ? RequiredError(path + ".sideEffects", "must specify one of None, NoneOnDryRun")
            : NotSupportedError(path + ".sideEffects", effects, {"None", "NoneOnDryRun"}));
  }
  bool speaks_v1 = false;
  for (const Json& version : ArrayAt(webhook, {"admissionReviewVersions"})) {
    speaks_v1 = speaks_v1 || version == "v1";
  }
  if (!speaks_v1) {
    causes.push_back(InvalidError(path + ".admissionReviewVersions",
                                  ArrayAt(webhook, {"admissionReviewVersions"}),
                                  "must include at least one of v1, v1beta1"));
  }
  const std::int64_t timeout = IntAt(webhook, {"timeoutSeconds"}, 10);
  if (timeout < 1 || timeout > 30) {
    causes.push_back(InvalidError(path + ".timeoutSeconds", timeout,
                                  "the timeout value must be between 1 and 30 seconds"));
  }
  CheckMatchConditions(ArrayAt(webhook, {"matchConditions"}), path + ".matchConditions",
                       ConditionParams::kNone, causes);
}

class WebhookStrategy final : public Strategy {
 public:
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, CheckWebhooks(object));
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    AppendCauses(causes, CheckWebhooks(object));
    return causes;
  }

 private:
  static std::vector<Cause> CheckWebhooks(const Json& object) {
    std::vector<Cause> causes;
    std::set<std::string> names;
    const Json& webhooks = ArrayAt(object, {"webhooks"});
    for (std::size_t i = 0; i < webhooks.size(); ++i) {
      const std::string path = IndexPath("webhooks", i);
      CheckWebhook(webhooks[i], path, causes);
      const std::string name = TextAt(webhooks[i], {"name"});
      if (!names.insert(name).second) causes.push_back(DuplicateError(path + ".name", name));
    }
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeWebhookStrategy() {
  return std::make_unique<WebhookStrategy>();
}

}  // namespace berth::local
