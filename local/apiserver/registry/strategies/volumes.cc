// v1 PersistentVolumeClaim and PersistentVolume. Source: Kubernetes 1.36 validation, restated.
#include <algorithm>

#include "api/codec/json_write.h"
#include "api/quantity.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/stored_checks.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/registry/strategies/workload_checks.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

// Bytes; 0: absent or no quantity.
std::int64_t StorageAt(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* value = At(object, path);
  if (value == nullptr) return 0;
  const auto amount = api::ParseAmount(
      "memory", value->is_string() ? value->get<std::string>() : api::FormatJson(*value));
  return amount ? *amount : 0;
}

void CheckAccessModes(const Json& modes, std::vector<Cause>& causes) {
  bool has_one_pod = false;
  bool has_other = false;
  for (const Json& mode : modes) {
    if (mode == "ReadWriteOncePod") {
      has_one_pod = true;
    } else if (mode == "ReadWriteOnce" || mode == "ReadOnlyMany" || mode == "ReadWriteMany") {
      has_other = true;
    } else {
      causes.push_back(NotSupportedError(
          "spec.accessModes", mode,
          {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}));
    }
  }
  if (!has_one_pod || !has_other) return;
  causes.push_back(
      ForbiddenError("spec.accessModes", "may not use ReadWriteOncePod with other access modes"));
}

// What claims and volumes have in common.
class BoundStrategy : public Strategy {
 public:
  bool AnswersDeletionWithObject() const override { return true; }
  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    Strategy::PrepareForCreate(resource, object, now);
    object["status"]["phase"] = "Pending";
  }
};

class ClaimStrategy final : public BoundStrategy {
 public:
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    const Json& modes = ArrayAt(object, {"spec", "accessModes"});
    if (modes.empty()) {
      causes.push_back(RequiredError("spec.accessModes", "at least 1 access mode is required"));
    }
    CheckAccessModes(modes, causes);
    if (At(object, {"spec", "resources", "requests", "storage"}) == nullptr) {
      causes.push_back(RequiredError("spec.resources[storage]"));
    }
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    if (subresource == "status") return causes;
    Json allowed = old_object.value("spec", Json::object());
    const Json spec = object.value("spec", Json::object());
    for (const char* field : {"resources", "volumeAttributesClassName", "volumeName"}) {
      CopyOrErase(allowed, spec, field);
    }
    const std::int64_t asked = StorageAt(object, {"spec", "resources", "requests", "storage"});
    if (asked < StorageAt(old_object, {"status", "capacity", "storage"})) {
      causes.push_back(ForbiddenError("spec.resources.requests.storage",
                                      "field can not be less than status.capacity"));
    }
    if (allowed != spec) {
      causes.push_back(
          ForbiddenError("spec",
                         "spec is immutable after creation except resources.requests and "
                         "volumeAttributesClassName for bound claims"));
    }
    return causes;
  }
};

// The members of a volume's spec that do not name its source.
constexpr std::string_view kNoSources[] = {"accessModes",      "capacity",
                                           "claimRef",         "mountOptions",
                                           "nodeAffinity",     "persistentVolumeReclaimPolicy",
                                           "storageClassName", "volumeAttributesClassName",
                                           "volumeMode"};

// spec.TYPE of the volume's source, as an object with one member.
Json SourcesOf(const Json& volume) {
  Json sources = volume.value("spec", Json::object());
  for (const std::string_view member : kNoSources) sources.erase(std::string(member));
  return sources;
}

std::vector<Cause> CheckVolume(const Json& volume) {
  std::vector<Cause> causes;
  const Json& modes = ArrayAt(volume, {"spec", "accessModes"});
  if (modes.empty()) causes.push_back(RequiredError("spec.accessModes"));
  CheckAccessModes(modes, causes);
  const Json* capacity = At(volume, {"spec", "capacity"});
  if (capacity == nullptr || capacity->empty()) causes.push_back(RequiredError("spec.capacity"));
  if (capacity == nullptr || capacity->size() != 1 || !capacity->contains("storage")) {
    causes.push_back(NotSupportedError("spec.capacity", OrNull(capacity), {"storage"}));
  } else if (StorageAt(volume, {"spec", "capacity", "storage"}) <= 0) {
    causes.push_back(InvalidError("spec.capacity[storage]", (*capacity)["storage"],
                                  "must be greater than zero"));
  }
  const std::string policy = TextAt(volume, {"spec", "persistentVolumeReclaimPolicy"});
  if (policy != "Delete" && policy != "Recycle" && policy != "Retain") {
    causes.push_back(NotSupportedError("spec.persistentVolumeReclaimPolicy", policy,
                                       {"Delete", "Recycle", "Retain"}));
  }
  const Json sources = SourcesOf(volume);
  if (sources.empty()) causes.push_back(RequiredError("spec", "must specify a volume type"));
  bool is_first = true;
  for (const auto& [type, source] : sources.items()) {
    if (!is_first) {
      causes.push_back(
          ForbiddenError(ChildPath("spec", type), "may not specify more than 1 volume type"));
    }
    is_first = false;
  }
  if (sources.contains("local") && At(volume, {"spec", "nodeAffinity", "required"}) == nullptr) {
    causes.push_back(RequiredError("spec.nodeAffinity", "Local volume requires node affinity"));
  }
  const std::string name = TextAt(volume, {"spec", "storageClassName"});
  if (!name.empty()) {
    AppendInvalid("spec.storageClassName", name, Dns1123SubdomainErrors(name), causes);
  }
  const std::string mode = TextAt(volume, {"spec", "volumeMode"});
  if (mode != "Block" && mode != "Filesystem") {
    causes.push_back(NotSupportedError("spec.volumeMode", mode, {"Block", "Filesystem"}));
  }
  return causes;
}

class VolumeStrategy final : public BoundStrategy {
 public:
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, CheckVolume(object));
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    if (subresource == "status") return causes;
    AppendCauses(causes, CheckVolume(object));
    if (SourcesOf(object) != SourcesOf(old_object)) {
      causes.push_back(ForbiddenError("spec.persistentvolumesource",
                                      "spec.persistentvolumesource is immutable after creation"));
    }
    if (!SameAt(object, old_object, {"spec", "volumeMode"})) {
      causes.push_back(InvalidError("spec.volumeMode", OrNull(At(object, {"spec", "volumeMode"})),
                                    "field is immutable"));
    }
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeClaimStrategy() { return std::make_unique<ClaimStrategy>(); }
std::unique_ptr<const Strategy> MakeVolumeStrategy() { return std::make_unique<VolumeStrategy>(); }

}  // namespace berth::local
