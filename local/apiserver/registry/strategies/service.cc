// v1 Service. Source: Kubernetes 1.36 service strategy and validation, restated.
#include <set>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

void CheckPort(const Json& port, const std::string& path, bool needs_name,
               std::set<std::string>& names, std::vector<Cause>& causes) {
  constexpr const char* kRange = "must be between 1 and 65535, inclusive";
  const std::string name = TextAt(port, {"name"});
  if (name.empty() && needs_name) causes.push_back(RequiredError(path + ".name"));
  if (!name.empty() && !names.insert(name).second) {
    causes.push_back(DuplicateError(path + ".name", name));
  }
  if (!IsPortNumber(IntAt(port, {"port"}, 0))) {
    causes.push_back(InvalidError(path + ".port", IntAt(port, {"port"}, 0), kRange));
  }
  const std::string protocol = TextAt(port, {"protocol"});
  if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
    causes.push_back(NotSupportedError(path + ".protocol", protocol, {"SCTP", "TCP", "UDP"}));
  }
  const Json* target = Member(port, "targetPort");
  if (target != nullptr && target->is_number_integer() &&
      !IsPortNumber(target->get<std::int64_t>())) {
    causes.push_back(InvalidError(path + ".targetPort", *target, kRange));
  }
}

std::vector<Cause> ValidateSpec(const Json& service) {
  std::vector<Cause> causes;
  const std::string type = TextAt(service, {"spec", "type"});
  const std::set<std::string> types{"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"};
  if (!types.contains(type)) {
    causes.push_back(NotSupportedError("spec.type", type,
                                       {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}));
  }
  const bool is_headless = TextAt(service, {"spec", "clusterIP"}) == "None";
  const Json& ports = ArrayAt(service, {"spec", "ports"});
  if (type == "ExternalName") {
    if (TextAt(service, {"spec", "externalName"}).empty()) {
      causes.push_back(RequiredError("spec.externalName"));
    }
  } else if (ports.empty() && !is_headless) {
    causes.push_back(RequiredError("spec.ports"));
  }
  if (is_headless && type != "ClusterIP" && type != "ExternalName") {
    causes.push_back(InvalidError("spec.clusterIPs[0]", "None",
                                  "may not be set to 'None' for " + type + " services"));
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    CheckPort(ports[i], IndexPath("spec.ports", i), ports.size() > 1, names, causes);
  }
  if (const Json* selector = At(service, {"spec", "selector"})) {
    AppendCauses(causes, ValidateLabels(*selector, "spec.selector"));
  }
  return causes;
}

class ServiceStrategy final : public Strategy {
 public:
  NameRule name_rule() const override { return NameRule::kLabel; }
  bool AnswersDeletionWithObject() const override { return true; }

  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    Strategy::PrepareForCreate(resource, object, now);
    object["status"]["loadBalancer"] = Json::object();
  }

  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, ValidateSpec(object));
    return causes;
  }

  // Manifests name no address: it stays.
  void PrepareForUpdate(const ResourceInfo& resource, Json& object, const Json& old_object,
                        std::string_view subresource, WallTime now) const override {
    Strategy::PrepareForUpdate(resource, object, old_object, subresource, now);
    if (!subresource.empty() || TextAt(object, {"spec", "type"}) == "ExternalName") return;
    if (!TextAt(object, {"spec", "clusterIP"}).empty()) return;
    for (const char* field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
      CopyOrErase(object["spec"], old_object.at("spec"), field);
    }
  }

  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    if (subresource == "status" || SameAt(object, old_object, {"spec"})) return causes;
    AppendCauses(causes, ValidateSpec(object));
    const std::string before = TextAt(old_object, {"spec", "clusterIP"});
    const bool had_address =
        !before.empty() && TextAt(old_object, {"spec", "type"}) != "ExternalName";
    if (had_address && TextAt(object, {"spec", "type"}) != "ExternalName" &&
        TextAt(object, {"spec", "clusterIP"}) != before) {
      causes.push_back(InvalidError("spec.clusterIPs[0]",
                                    Json::array({TextAt(object, {"spec", "clusterIP"})}),
                                    "may not change once set"));
    }
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeServiceStrategy() {
  return std::make_unique<ServiceStrategy>();
}

}  // namespace berth::local
