// apps/v1 DaemonSet. Source: Kubernetes 1.36 strategy and validation, restated.
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/registry/strategies/workload_checks.h"

namespace berth::local {
namespace {

constexpr const char* kTemplateGeneration = "deprecated.daemonset.template.generation";

void CheckDaemonUpdate(const Json& set, std::vector<Cause>& causes) {
  const std::string path = "spec.updateStrategy.rollingUpdate";
  const std::string type = TextAt(set, {"spec", "updateStrategy", "type"});
  if (type == "OnDelete") return;
  if (type != "RollingUpdate") {
    causes.push_back(
        NotSupportedError("spec.updateStrategy.type", type, {"OnDelete", "RollingUpdate"}));
    return;
  }
  const Json* rolling = At(set, {"spec", "updateStrategy", "rollingUpdate"});
  if (rolling == nullptr) {
    causes.push_back(RequiredError(path));
    return;
  }
  for (const std::string_view field : {"maxUnavailable", "maxSurge"}) {
    const Json* value = Member(*rolling, field);
    if (value == nullptr || IsAmount(*value)) continue;
    causes.push_back(InvalidError(ChildPath(path, field), *value,
                                  "must be a number of 0 or more, or a percentage such as '25%'"));
  }
  const Json* unavailable = Member(*rolling, "maxUnavailable");
  const Json* surge = Member(*rolling, "maxSurge");
  const bool surges = surge != nullptr && !IsZero(surge);
  if (unavailable != nullptr && IsZero(unavailable) && !surges) {
    causes.push_back(
        InvalidError(path + ".maxUnavailable", *unavailable, "cannot be 0 when maxSurge is 0"));
  }
  if (surges && unavailable != nullptr && !IsZero(unavailable)) {
    causes.push_back(
        InvalidError(path + ".maxSurge", *surge, "may not be set when maxUnavailable is non-zero"));
  }
}

class DaemonSetStrategy final : public WorkloadStrategy {
 public:
  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    WorkloadStrategy::PrepareForCreate(resource, object, now);
    object["metadata"]["annotations"][kTemplateGeneration] = "1";
  }

  // The generation of the template counts its changes alone.
  void PrepareForUpdate(const ResourceInfo& resource, Json& object, const Json& old_object,
                        std::string_view subresource, WallTime now) const override {
    WorkloadStrategy::PrepareForUpdate(resource, object, old_object, subresource, now);
    if (!subresource.empty()) return;
    const std::string known = TextAt(old_object, {"metadata", "annotations", kTemplateGeneration});
    const std::int64_t old = ParseInt64(known).value_or(0);
    const bool changes = !SameAt(object, old_object, {"spec", "template"});
    object["metadata"]["annotations"][kTemplateGeneration] =
        std::to_string(changes ? old + 1 : old);
  }

 private:
  std::vector<Cause> ValidateSpec(const Json& object) const override {
    std::vector<Cause> causes;
    CheckSelector(object, "daemonset", causes);
    CheckTemplate(object, causes);
    CheckDaemonUpdate(object, causes);
    for (const std::string_view field : {"minReadySeconds", "revisionHistoryLimit"}) {
      CheckNotNegative(object, field, causes);
    }
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeDaemonSetStrategy() {
  return std::make_unique<DaemonSetStrategy>();
}

}  // namespace berth::local
