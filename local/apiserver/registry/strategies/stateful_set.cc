// apps/v1 StatefulSet, and the claims that it makes. Source: Kubernetes 1.36 strategies and
// validation, restated.
#include <algorithm>
#include <set>
#include <utility>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/registry/strategies/workload_checks.h"

namespace berth::local {
namespace {

void CheckUpdateStrategy(const Json& set, std::vector<Cause>& causes) {
  const std::string path = "spec.updateStrategy";
  const std::string type = TextAt(set, {"spec", "updateStrategy", "type"});
  const Json* rolling = At(set, {"spec", "updateStrategy", "rollingUpdate"});
  if (type.empty()) {
    causes.push_back(RequiredError(path));
  } else if (type == "OnDelete") {
    if (rolling != nullptr) {
      causes.push_back(InvalidError(path + ".rollingUpdate", *rolling,
                                    "only allowed for updateStrategy 'RollingUpdate'"));
    }
  } else if (type != "RollingUpdate") {
    causes.push_back(
        InvalidError(path, set["spec"]["updateStrategy"], "must be 'RollingUpdate' or 'OnDelete'"));
  } else if (rolling != nullptr) {
    if (IntAt(*rolling, {"partition"}, 0) < 0) {
      causes.push_back(InvalidError(path + ".rollingUpdate.partition",
                                    *Member(*rolling, "partition"),
                                    "must be greater than or equal to 0"));
    }
    const Json* most = Member(*rolling, "maxUnavailable");
    if (most != nullptr && (!IsAmount(*most) || IsZero(most))) {
      causes.push_back(InvalidError(path + ".rollingUpdate.maxUnavailable", *most,
                                    "must be a number above 0, or a percentage such as '25%'"));
    }
  }
}

void CheckRetention(const Json& set, std::vector<Cause>& causes) {
  for (const std::string_view when : {"whenDeleted", "whenScaled"}) {
    const std::string policy = TextAt(set, {"spec", "persistentVolumeClaimRetentionPolicy", when});
    if (policy.empty() || policy == "Retain" || policy == "Delete") continue;
    causes.push_back(NotSupportedError(ChildPath("spec.persistentVolumeClaimRetentionPolicy", when),
                                       policy, {"Delete", "Retain"}));
  }
}

// The set with a volume for each of its claims, as its pods have them.
Json WithVolumesOfClaims(Json set) {
  const Json claims = ArrayAt(set, {"spec", "volumeClaimTemplates"});
  if (claims.empty() || At(set, {"spec", "template", "spec"}) == nullptr) return set;
  Json& volumes = set["spec"]["template"]["spec"]["volumes"];
  Json kept = Json::array();
  std::set<std::string> names;
  for (const Json& claim : claims) {
    const std::string name = TextAt(claim, {"metadata", "name"});
    kept.push_back({{"name", name}, {"emptyDir", Json::object()}});
    names.insert(name);
  }
  for (const Json& volume : volumes.is_array() ? volumes : Json::array()) {
    if (names.insert(TextAt(volume, {"name"})).second) kept.push_back(volume);
  }
  volumes = std::move(kept);
  return set;
}

class StatefulSetStrategy final : public WorkloadStrategy {
  std::vector<Cause> ValidateSpec(const Json& object) const override {
    std::vector<Cause> causes;
    const std::string management = TextAt(object, {"spec", "podManagementPolicy"});
    if (management.empty()) {
      causes.push_back(RequiredError("spec.podManagementPolicy"));
    } else if (management != "OrderedReady" && management != "Parallel") {
      causes.push_back(InvalidError("spec.podManagementPolicy", management,
                                    "must be 'OrderedReady' or 'Parallel'"));
    }
    CheckUpdateStrategy(object, causes);
    CheckRetention(object, causes);
    for (const std::string_view field : {"replicas", "minReadySeconds", "revisionHistoryLimit"}) {
      CheckNotNegative(object, field, causes);
    }
    if (IntAt(object, {"spec", "ordinals", "start"}, 0) < 0) {
      causes.push_back(InvalidError("spec.ordinals.start",
                                    *At(object, {"spec", "ordinals", "start"}),
                                    "must be greater than or equal to 0"));
    }
    CheckSelector(object, "statefulset", causes);
    CheckTemplate(WithVolumesOfClaims(object), causes);
    return causes;
  }

  void CheckChange(const Json& object, const Json& old_object,
                   std::vector<Cause>& causes) const override {
    Json allowed = old_object.value("spec", Json::object());
    const Json& spec = object["spec"];
    for (const char* field :
         {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
          "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}) {
      CopyOrErase(allowed, spec, field);
    }
    if (allowed == spec) return;
    causes.push_back(ForbiddenError(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden"));
  }
};

// A revision's data is what it was made with.
class ControllerRevisionStrategy final : public Strategy {
 public:
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    CheckRevision(object, causes);
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    CheckRevision(object, causes);
    if (!SameAt(object, old_object, {"data"})) {
      causes.push_back(InvalidError("data", OrNull(At(object, {"data"})), "field is immutable"));
    }
    return causes;
  }

 private:
  static void CheckRevision(const Json& object, std::vector<Cause>& causes) {
    const std::int64_t number = IntAt(object, {"revision"}, 0);
    if (number >= 0) return;
    causes.push_back(InvalidError("revision", number, "must be greater than or equal to 0"));
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeStatefulSetStrategy() {
  return std::make_unique<StatefulSetStrategy>();
}
std::unique_ptr<const Strategy> MakeControllerRevisionStrategy() {
  return std::make_unique<ControllerRevisionStrategy>();
}

}  // namespace berth::local
