// The kinds of storage.k8s.io/v1. Source: Kubernetes 1.36 validation, restated.
#include <algorithm>
#include <set>

#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/stored_checks.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/registry/strategies/workload_checks.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxParameters = 512;
constexpr std::int64_t kMaxParameterBytes = 256 * 1024;
constexpr std::size_t kMaxDriverName = 63;
constexpr std::size_t kMaxNodeId = 256;
constexpr std::int64_t kMinTokenSeconds = 600;
constexpr std::int64_t kMaxTokenSeconds = std::int64_t{1} << 32;
constexpr std::int64_t kMinAllocatableUpdateSeconds = 10;

void CheckProvisioner(const Json& object, const std::string& field, std::vector<Cause>& causes) {
  const std::string name = TextAt(object, {field});
  if (name.empty()) {
    causes.push_back(RequiredError(field));
  } else {
    AppendInvalid(field, ToLower(name), LabelKeyErrors(ToLower(name)), causes);
  }
}

void CheckParameters(const Json& object, std::vector<Cause>& causes) {
  const Json* parameters = Member(object, "parameters");
  if (parameters == nullptr || !parameters->is_object()) return;
  if (parameters->size() > kMaxParameters) {
    causes.push_back(TooLongError("parameters", std::int64_t{kMaxParameters}));
    return;
  }
  std::size_t bytes = 0;
  for (const auto& [key, value] : parameters->items()) {
    if (key.empty()) causes.push_back(InvalidError("parameters", key, "field can not be empty."));
    bytes += key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
  }
  if (bytes > static_cast<std::size_t>(kMaxParameterBytes)) {
    causes.push_back(TooLongError("parameters", kMaxParameterBytes));
  }
}

void CheckOneOf(const Json& object, std::string_view field,
                const std::vector<std::string>& supported, std::vector<Cause>& causes) {
  const Json* value = Member(object, field);
  if (value == nullptr) return;
  const auto is_value = [value](const std::string& text) { return *value == text; };
  if (std::any_of(supported.begin(), supported.end(), is_value)) return;
  causes.push_back(NotSupportedError(std::string(field), *value, supported));
}

std::vector<Cause> CheckStorageClass(const Json& storage_class) {
  std::vector<Cause> causes;
  CheckProvisioner(storage_class, "provisioner", causes);
  CheckParameters(storage_class, causes);
  CheckOneOf(storage_class, "reclaimPolicy", {"Delete", "Retain"}, causes);
  CheckOneOf(storage_class, "volumeBindingMode", {"Immediate", "WaitForFirstConsumer"}, causes);
  return causes;
}

void CheckStorageClassChange(const Json& object, const Json& old_object,
                             std::vector<Cause>& causes) {
  for (const char* field : {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"}) {
    CheckImmutable(object, old_object, field, causes);
  }
}

std::vector<Cause> CheckAttributesClass(const Json& attributes_class) {
  std::vector<Cause> causes;
  CheckProvisioner(attributes_class, "driverName", causes);
  CheckParameters(attributes_class, causes);
  const Json* parameters = Member(attributes_class, "parameters");
  if (parameters == nullptr || parameters->empty()) {
    causes.push_back(RequiredError("parameters", "must contain at least one key/value pair"));
  }
  return causes;
}

void CheckAttributesClassChange(const Json& object, const Json& old_object,
                                std::vector<Cause>& causes) {
  for (const std::string field : {"driverName", "parameters"}) {
    if (SameAt(object, old_object, {field})) continue;
    causes.push_back(ForbiddenError(field, "updates to " + field + " are forbidden."));
  }
}

void CheckDriverName(const std::string& name, const std::string& path, std::vector<Cause>& causes) {
  if (name.empty()) {
    causes.push_back(RequiredError(path));
    return;
  }
  if (name.size() > kMaxDriverName) {
    causes.push_back(TooLongError(path, std::int64_t{kMaxDriverName}));
  }
  AppendInvalid(path, name, Dns1123SubdomainErrors(ToLower(name)), causes);
}

void CheckTokenRequests(const Json& requests, std::vector<Cause>& causes) {
  std::set<std::string> audiences;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string path = IndexPath("spec.tokenRequests", i);
    const std::string audience = TextAt(requests[i], {"audience"});
    if (!audiences.insert(audience).second) {
      causes.push_back(DuplicateError(path + ".audience", audience));
      continue;
    }
    const Json* seconds = Member(requests[i], "expirationSeconds");
    if (seconds == nullptr) continue;
    if (*seconds < kMinTokenSeconds) {
      causes.push_back(InvalidError(path + ".expirationSeconds", *seconds,
                                    "may not specify a duration less than 10 minutes"));
    }
    if (*seconds > kMaxTokenSeconds) {
      causes.push_back(InvalidError(path + ".expirationSeconds", *seconds,
                                    "may not specify a duration larger than 2^32 seconds"));
    }
  }
}

std::vector<Cause> CheckCsiDriver(const Json& driver) {
  std::vector<Cause> causes;
  const Json spec = driver.value("spec", Json::object());
  const std::string policy = TextAt(spec, {"fsGroupPolicy"});
  if (!policy.empty() && policy != "File" && policy != "None" &&
      policy != "ReadWriteOnceWithFSType") {
    causes.push_back(NotSupportedError("spec.fsGroupPolicy", policy,
                                       {"File", "None", "ReadWriteOnceWithFSType"}));
  }
  const Json& requests = ArrayAt(spec, {"tokenRequests"});
  CheckTokenRequests(requests, causes);
  for (const Json& mode : ArrayAt(spec, {"volumeLifecycleModes"})) {
    if (mode == "Persistent" || mode == "Ephemeral") continue;
    causes.push_back(
        NotSupportedError("spec.volumeLifecycleModes", mode, {"Persistent", "Ephemeral"}));
  }
  const Json* period = Member(spec, "nodeAllocatableUpdatePeriodSeconds");
  if (period != nullptr && *period < kMinAllocatableUpdateSeconds) {
    causes.push_back(InvalidError("spec.nodeAllocatableUpdatePeriodSeconds", *period,
                                  "must be greater than or equal to 10 seconds"));
  }
  const Json* in_secrets = Member(spec, "serviceAccountTokenInSecrets");
  if (in_secrets != nullptr && requests.empty()) {
    causes.push_back(
        InvalidError("spec.serviceAccountTokenInSecrets", *in_secrets,
                     "serviceAccountTokenInSecrets is set but no tokenRequests are specified"));
  }
  return causes;
}

void CheckCsiDriverChange(const Json& object, const Json& old_object, std::vector<Cause>& causes) {
  // The path of attachRequired has another spelling in Kubernetes' messages.
  if (!SameAt(object, old_object, {"spec", "attachRequired"})) {
    causes.push_back(InvalidError("spec.attachedRequired",
                                  OrNull(At(object, {"spec", "attachRequired"})),
                                  "field is immutable"));
  }
  if (!SameAt(object, old_object, {"spec", "volumeLifecycleModes"})) {
    causes.push_back(InvalidError("spec.volumeLifecycleModes",
                                  OrNull(At(object, {"spec", "volumeLifecycleModes"})),
                                  "field is immutable"));
  }
}

void CheckNodeDriver(const Json& driver, const std::string& path, std::vector<Cause>& causes) {
  CheckDriverName(TextAt(driver, {"name"}), path + ".name", causes);
  const std::string node_id = TextAt(driver, {"nodeID"});
  if (node_id.empty()) causes.push_back(RequiredError(path + ".nodeID"));
  if (node_id.size() > kMaxNodeId) {
    causes.push_back(InvalidError(path + ".nodeID", node_id, "must be 256 characters or less"));
  }
  const std::int64_t count = IntAt(driver, {"allocatable", "count"}, 0);
  if (count < 0) {
    causes.push_back(
        InvalidError(path + ".allocatable.count", count, "must be greater than or equal to 0"));
  }
  std::set<std::string> known;
  for (const Json& key : ArrayAt(driver, {"topologyKeys"})) {
    const std::string text = key.is_string() ? key.get<std::string>() : "";
    if (text.empty()) causes.push_back(RequiredError(path));
    if (!known.insert(text).second) causes.push_back(DuplicateError(path, text));
    AppendInvalid(path, text, LabelKeyErrors(text), causes);
  }
}

std::vector<Cause> CheckCsiNode(const Json& node) {
  std::vector<Cause> causes;
  std::set<std::string> names;
  const Json& drivers = ArrayAt(node, {"spec", "drivers"});
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    const std::string path = IndexPath("spec.drivers", i);
    CheckNodeDriver(drivers[i], path, causes);
    const std::string name = TextAt(drivers[i], {"name"});
    if (!names.insert(name).second) causes.push_back(DuplicateError(path + ".name", name));
  }
  return causes;
}

void CheckCsiNodeChange(const Json& object, const Json& old_object, std::vector<Cause>& causes) {
  for (Json known : ArrayAt(old_object, {"spec", "drivers"})) {
    for (Json driver : ArrayAt(object, {"spec", "drivers"})) {
      if (TextAt(known, {"name"}) != TextAt(driver, {"name"})) continue;
      known.erase("allocatable");
      driver.erase("allocatable");
      if (known == driver) continue;
      causes.push_back(InvalidError("spec.drivers", driver, "field is immutable"));
    }
  }
}

std::vector<Cause> CheckCsiCapacity(const Json& capacity) {
  std::vector<Cause> causes;
  CheckLabelSelector(Member(capacity, "nodeTopology"), "nodeTopology", causes);
  const std::string name = TextAt(capacity, {"storageClassName"});
  AppendInvalid("storageClassName", name, Dns1123SubdomainErrors(name), causes);
  const std::string amount = TextAt(capacity, {"capacity"});
  if (amount.starts_with("-")) {
    causes.push_back(InvalidError("capacity", amount, "must be greater than or equal to 0"));
  }
  return causes;
}

void CheckCsiCapacityChange(const Json& object, const Json& old_object,
                            std::vector<Cause>& causes) {
  for (const char* field : {"nodeTopology", "storageClassName"}) {
    CheckImmutable(object, old_object, field, causes);
  }
}

std::vector<Cause> CheckAttachment(const Json& attachment) {
  std::vector<Cause> causes;
  CheckDriverName(TextAt(attachment, {"spec", "attacher"}), "spec.attacher", causes);
  const Json* in_line = At(attachment, {"spec", "source", "inlineVolumeSpec"});
  const Json* volume = At(attachment, {"spec", "source", "persistentVolumeName"});
  constexpr const char* kExactlyOne =
      "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (in_line == nullptr && volume == nullptr) {
    causes.push_back(RequiredError("spec.source", kExactlyOne));
  } else if (in_line != nullptr && volume != nullptr) {
    causes.push_back(ForbiddenError("spec.source", kExactlyOne));
  } else if (volume != nullptr) {
    const std::string name = TextAt(attachment, {"spec", "source", "persistentVolumeName"});
    const std::string path = "spec.source.persistentVolumeName";
    if (name.empty()) {
      causes.push_back(RequiredError(path, "must specify non empty persistentVolumeName"));
    }
    AppendInvalid(path, name, Dns1123SubdomainErrors(name), causes);
  }
  const std::string node = TextAt(attachment, {"spec", "nodeName"});
  AppendInvalid("spec.nodeName", node, Dns1123SubdomainErrors(node), causes);
  return causes;
}

void CheckAttachmentChange(const Json& object, const Json& old_object, std::vector<Cause>& causes) {
  CheckImmutable(object, old_object, "spec", causes);
}

}  // namespace

std::unique_ptr<const Strategy> MakeStorageClassStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckStorageClass, CheckStorageClassChange});
}
std::unique_ptr<const Strategy> MakeVolumeAttributesClassStrategy() {
  return std::make_unique<StoredStrategy>(
      StoredRules{CheckAttributesClass, CheckAttributesClassChange});
}
std::unique_ptr<const Strategy> MakeCsiDriverStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckCsiDriver, CheckCsiDriverChange});
}
std::unique_ptr<const Strategy> MakeCsiNodeStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckCsiNode, CheckCsiNodeChange});
}
std::unique_ptr<const Strategy> MakeCsiCapacityStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckCsiCapacity, CheckCsiCapacityChange});
}
std::unique_ptr<const Strategy> MakeVolumeAttachmentStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckAttachment, CheckAttachmentChange});
}

}  // namespace berth::local
