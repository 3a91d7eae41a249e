// flowcontrol.apiserver.k8s.io FlowSchema and PriorityLevelConfiguration: stored, not acted on.
// Source: Kubernetes 1.36 flowcontrol validation, restated.
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/stored_checks.h"
#include "local/apiserver/registry/strategies/strategies.h"

namespace berth::local {
namespace {

constexpr std::int64_t kLeastPrecedence = 10'000;

std::vector<Cause> CheckFlowSchema(const Json& schema) {
  std::vector<Cause> causes;
  const std::int64_t precedence = IntAt(schema, {"spec", "matchingPrecedence"}, 0);
  if (precedence < 1) {
    causes.push_back(
        InvalidError("spec.matchingPrecedence", precedence, "must be a positive value"));
  } else if (precedence > kLeastPrecedence) {
    causes.push_back(
        InvalidError("spec.matchingPrecedence", precedence, "must not be greater than 10000"));
  }
  const std::string method = TextAt(schema, {"spec", "distinguisherMethod", "type"});
  if (At(schema, {"spec", "distinguisherMethod"}) != nullptr && method != "ByNamespace" &&
      method != "ByUser") {
    causes.push_back(
        NotSupportedError("spec.distinguisherMethod", method, {"ByNamespace", "ByUser"}));
  }
  if (TextAt(schema, {"spec", "priorityLevelConfiguration", "name"}).empty()) {
    causes.push_back(
        RequiredError("spec.priorityLevelConfiguration.name", "must reference a priority level"));
  }
  return causes;
}

std::vector<Cause> CheckPriorityLevel(const Json& level) {
  const std::string type = TextAt(level, {"spec", "type"});
  if (type == "Limited") {
    if (At(level, {"spec", "limited"}) != nullptr) return {};
    return {RequiredError("spec.limited", "must not be empty when type is Limited")};
  }
  if (type != "Exempt") return {NotSupportedError("spec.type", type, {"Exempt", "Limited"})};
  if (At(level, {"spec", "limited"}) == nullptr) return {};
  return {ForbiddenError("spec.limited", "must be nil if the type is not Limited")};
}

}  // namespace

std::unique_ptr<const Strategy> MakeFlowSchemaStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{.check = CheckFlowSchema});
}

std::unique_ptr<const Strategy> MakePriorityLevelStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{.check = CheckPriorityLevel});
}

}  // namespace berth::local
