#include "base/strings.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/registry/crd.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/stored_checks.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxDataBytes = 1024 * 1024;
constexpr const char* kAccountName = "kubernetes.io/service-account.name";
constexpr std::int64_t kHighestUserPriority = 1'000'000'000;

class NamespaceStrategy final : public Strategy {
 public:
  NameRule name_rule() const override { return NameRule::kLabel; }
  bool AnswersDeletionWithObject() const override { return true; }
  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    Strategy::PrepareForCreate(resource, object, now);
    object["status"]["phase"] = "Active";
    object["spec"] = {{"finalizers", Json::array({"kubernetes"})}};
    object["metadata"]["labels"]["kubernetes.io/metadata.name"] = NameOf(object);
  }
  void PrepareForUpdate(const ResourceInfo& resource, Json& object, const Json& old_object,
                        std::string_view subresource, WallTime now) const override {
    const Json given = object;
    Strategy::PrepareForUpdate(resource, object, old_object, subresource, now);
    if (subresource == "finalize") {
      object = old_object;
      if (const Json* managers = At(given, {"metadata", "managedFields"})) {
        object["metadata"]["managedFields"] = *managers;
      }
      object["spec"]["finalizers"] = ArrayAt(given, {"spec", "finalizers"});
      if (object["spec"]["finalizers"].empty()) object["spec"].erase("finalizers");
      return;
    }
    // Only …/finalize removes spec.finalizers.
    if (subresource.empty()) object["spec"] = old_object.value("spec", Json::object());
    object["metadata"]["labels"]["kubernetes.io/metadata.name"] = NameOf(old_object);
  }
  bool MayVanish(const Json& object) const override {
    return ArrayAt(object, {"spec", "finalizers"}).empty();
  }
  void PrepareForDeletion(Json& object) const override {
    object["status"]["phase"] = "Terminating";
  }
  std::string RefuseDeletion(const Json& object) const override {
    const std::string name = NameOf(object);
    const bool needed = name == "default" || name == "kube-system" || name == "kube-public";
    return needed ? "this namespace may not be deleted" : "";
  }
};

class NodeStrategy final : public Strategy {
 public:
  // A kubelet creates its Node with status.
  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    const Json status = object.value("status", Json::object());
    Strategy::PrepareForCreate(resource, object, now);
    object["status"] = status;
  }
};

std::size_t TextBytes(const Json* map) {
  std::size_t bytes = 0;
  if (map == nullptr || !map->is_object()) return 0;
  for (const auto& [key, value] : map->items()) {
    if (value.is_string()) bytes += value.get_ref<const std::string&>().size();
  }
  return bytes;
}

bool IsConfigKey(std::string_view key) {
  if (key.empty() || key.size() > 253 || key == "." || key.substr(0, 2) == "..") return false;
  for (const char c : key) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

void CheckDataKeys(const Json& object, const std::string& field, std::vector<Cause>& causes) {
  const Json* data = Member(object, field);
  if (data == nullptr) return;
  for (const auto& [key, value] : data->items()) {
    if (IsConfigKey(key)) continue;
    causes.push_back(InvalidError(
        KeyPath(field, key), key,
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
        "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
        "'[-._a-zA-Z0-9]+')"));
  }
}

// ConfigMap and Secret: data is bounded in size, and never changes once immutable.
class DataStrategy : public Strategy {
 public:
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, ValidateData(object));
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    AppendCauses(causes, ValidateData(object));
    if (BoolAt(old_object, {"immutable"}, false)) {
      for (const std::string_view field : {"immutable", "data", "binaryData"}) {
        if (SameAt(object, old_object, {field})) continue;
        causes.push_back(
            ForbiddenError(std::string(field), "field is immutable when `immutable` is set"));
      }
    }
    return causes;
  }

 private:
  static std::vector<Cause> ValidateData(const Json& object) {
    std::vector<Cause> causes;
    CheckDataKeys(object, "data", causes);
    CheckDataKeys(object, "binaryData", causes);
    if (TextBytes(Member(object, "data")) + TextBytes(Member(object, "binaryData")) >
        kMaxDataBytes) {
      causes.push_back(TooLongError("", kMaxDataBytes));
    }
    return causes;
  }
};

class SecretStrategy final : public DataStrategy {
 public:
  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    DataStrategy::PrepareForCreate(resource, object, now);
    EncodeStringData(object);
  }
  void PrepareForUpdate(const ResourceInfo& resource, Json& object, const Json& old_object,
                        std::string_view subresource, WallTime now) const override {
    DataStrategy::PrepareForUpdate(resource, object, old_object, subresource, now);
    EncodeStringData(object);
  }
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = DataStrategy::Validate(resource, object);
    if (TextAt(object, {"type"}) == "kubernetes.io/service-account-token" &&
        TextAt(object, {"metadata", "annotations", kAccountName}).empty()) {
      causes.push_back(RequiredError(KeyPath("metadata.annotations", kAccountName)));
    }
    return causes;
  }

 private:
  static void EncodeStringData(Json& object) {
    if (const Json* texts = Member(object, "stringData"); texts != nullptr) {
      for (const auto& [key, value] : texts->items()) {
        if (value.is_string()) object["data"][key] = Base64Encode(value.get<std::string>());
      }
    }
    object.erase("stringData");
  }
};

class PriorityClassStrategy final : public Strategy {
 public:
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    const bool system = NameOf(object).rfind("system-", 0) == 0;
    if (!system && IntAt(object, {"value"}, 0) > kHighestUserPriority) {
      causes.push_back(ForbiddenError(
          "value", "maximum allowed value of a user defined priority is 1000000000"));
    }
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    if (!SameAt(object, old_object, {"value"})) {
      causes.push_back(ForbiddenError("value", "may not be changed in an update."));
    }
    if (!SameAt(object, old_object, {"preemptionPolicy"})) {
      causes.push_back(InvalidError("preemptionPolicy", TextAt(object, {"preemptionPolicy"}),
                                    "field is immutable"));
    }
    return causes;
  }
};

class CrdStrategy final : public Strategy {
 public:
  bool AnswersDeletionWithObject() const override { return true; }
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, ValidateCrd(object));
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    // An invalid spec must not block the deletion of a CRD.
    if (!IsBeingDeleted(old_object)) AppendCauses(causes, ValidateCrdUpdate(object, old_object));
    return causes;
  }
};

std::vector<Cause> CheckRuntimeClass(const Json& runtime_class) {
  std::vector<Cause> causes;
  const std::string handler = TextAt(runtime_class, {"handler"});
  if (handler.empty()) {
    causes.push_back(RequiredError("handler"));
  } else {
    AppendInvalid("handler", handler, Dns1123LabelErrors(handler), causes);
  }
  if (const Json* selector = At(runtime_class, {"scheduling", "nodeSelector"})) {
    AppendCauses(causes, ValidateLabels(*selector, "scheduling.nodeSelector"));
  }
  return causes;
}

void CheckRuntimeClassChange(const Json& object, const Json& old_object,
                             std::vector<Cause>& causes) {
  CheckImmutable(object, old_object, "handler", causes);
}

}  // namespace

std::unique_ptr<const Strategy> MakeRuntimeClassStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckRuntimeClass, CheckRuntimeClassChange});
}
std::unique_ptr<const Strategy> MakeNamespaceStrategy() {
  return std::make_unique<NamespaceStrategy>();
}
std::unique_ptr<const Strategy> MakeNodeStrategy() { return std::make_unique<NodeStrategy>(); }
std::unique_ptr<const Strategy> MakeConfigMapStrategy() { return std::make_unique<DataStrategy>(); }
std::unique_ptr<const Strategy> MakeSecretStrategy() { return std::make_unique<SecretStrategy>(); }
std::unique_ptr<const Strategy> MakePriorityClassStrategy() {
  return std::make_unique<PriorityClassStrategy>();
}
std::unique_ptr<const Strategy> MakeCrdStrategy() { return std::make_unique<CrdStrategy>(); }

std::map<std::string, std::unique_ptr<const Strategy>> MakeStrategies() {
  std::map<std::string, std::unique_ptr<const Strategy>> strategies;
  strategies["jobs.batch"] = MakeJobStrategy();
  strategies["deployments.apps"] = MakeDeploymentStrategy();
  strategies["replicasets.apps"] = MakeReplicaSetStrategy();
  strategies["replicationcontrollers"] = MakeReplicationControllerStrategy();
  strategies["statefulsets.apps"] = MakeStatefulSetStrategy();
  strategies["controllerrevisions.apps"] = MakeControllerRevisionStrategy();
  strategies["persistentvolumeclaims"] = MakeClaimStrategy();
  strategies["persistentvolumes"] = MakeVolumeStrategy();
  strategies["daemonsets.apps"] = MakeDaemonSetStrategy();
  strategies["cronjobs.batch"] = MakeCronJobStrategy();
  strategies["poddisruptionbudgets.policy"] = MakeDisruptionBudgetStrategy();
  strategies["resourcequotas"] = MakeResourceQuotaStrategy();
  strategies["services"] = MakeServiceStrategy();
  strategies["pods"] = MakePodStrategy();
  strategies["namespaces"] = MakeNamespaceStrategy();
  strategies["nodes"] = MakeNodeStrategy();
  strategies["configmaps"] = MakeConfigMapStrategy();
  strategies["secrets"] = MakeSecretStrategy();
  strategies["priorityclasses.scheduling.k8s.io"] = MakePriorityClassStrategy();
  strategies["customresourcedefinitions.apiextensions.k8s.io"] = MakeCrdStrategy();
  strategies["mutatingwebhookconfigurations.admissionregistration.k8s.io"] = MakeWebhookStrategy();
  strategies["validatingwebhookconfigurations.admissionregistration.k8s.io"] =
      MakeWebhookStrategy();
  strategies["validatingadmissionpolicies.admissionregistration.k8s.io"] =
      MakeAdmissionPolicyStrategy();
  strategies["validatingadmissionpolicybindings.admissionregistration.k8s.io"] =
      MakeAdmissionPolicyBindingStrategy();
  strategies["mutatingadmissionpolicies.admissionregistration.k8s.io"] =
      MakeMutatingPolicyStrategy();
  strategies["mutatingadmissionpolicybindings.admissionregistration.k8s.io"] =
      MakeMutatingPolicyBindingStrategy();
  strategies["apiservices.apiregistration.k8s.io"] = MakeApiServiceStrategy();
  strategies["certificatesigningrequests.certificates.k8s.io"] = MakeCertificateRequestStrategy();
  strategies["runtimeclasses.node.k8s.io"] = MakeRuntimeClassStrategy();
  strategies["horizontalpodautoscalers.autoscaling"] = MakeAutoscalerStrategy();
  strategies["ingresses.networking.k8s.io"] = MakeIngressStrategy();
  strategies["ingressclasses.networking.k8s.io"] = MakeIngressClassStrategy();
  strategies["networkpolicies.networking.k8s.io"] = MakeNetworkPolicyStrategy();
  strategies["storageclasses.storage.k8s.io"] = MakeStorageClassStrategy();
  strategies["volumeattributesclasses.storage.k8s.io"] = MakeVolumeAttributesClassStrategy();
  strategies["csidrivers.storage.k8s.io"] = MakeCsiDriverStrategy();
  strategies["csinodes.storage.k8s.io"] = MakeCsiNodeStrategy();
  strategies["csistoragecapacities.storage.k8s.io"] = MakeCsiCapacityStrategy();
  strategies["volumeattachments.storage.k8s.io"] = MakeVolumeAttachmentStrategy();
  strategies["flowschemas.flowcontrol.apiserver.k8s.io"] = MakeFlowSchemaStrategy();
  strategies["prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"] =
      MakePriorityLevelStrategy();
  for (const char* roles : {kRoles, kClusterRoles}) strategies[roles] = MakeRoleStrategy();
  for (const char* bindings : {kRoleBindings, kClusterRoleBindings}) {
    strategies[bindings] = MakeRoleBindingStrategy();
  }
  return strategies;
}

}  // namespace berth::local
