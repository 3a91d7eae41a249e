#include "local/cluster/volumes/volume_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/codec/json_write.h"
#include "api/quantity.h"
#include "local/apiserver/schema/selector.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/ownership.h"

namespace berth::local::cluster {
namespace {

constexpr char kProvisionedBy[] = "pv.kubernetes.io/provisioned-by";
constexpr char kIsDefaultClass[] = "storageclass.kubernetes.io/is-default-class";

api::Amount StorageOf(const Json& object, Path path) {
  const Json* value = Find(object, path);
  if (value == nullptr) return 0;
  const auto amount = api::ParseAmount(
      "memory", value->is_string() ? value->get<std::string>() : api::FormatJson(*value));
  return amount ? *amount : 0;
}

api::Amount Asked(const Json& claim) {
  return StorageOf(claim, {"spec", "resources", "requests", "storage"});
}
api::Amount Capacity(const Json& volume) {
  return StorageOf(volume, {"spec", "capacity", "storage"});
}

bool HasModes(const Json& volume, const Json& claim) {
  const Json& has = ArrayAt(volume, {"spec", "accessModes"});
  const Json& asked = ArrayAt(claim, {"spec", "accessModes"});
  return std::all_of(asked.begin(), asked.end(), [&](const Json& mode) {
    return std::find(has.begin(), has.end(), mode) != has.end();
  });
}

// Whether the volume's claimRef names this claim; one without uid was written by a person.
bool IsReservedFor(const Json& volume, const Json& claim) {
  const Json* reference = Find(volume, {"spec", "claimRef"});
  if (reference == nullptr) return false;
  const std::string uid = StringAt(*reference, {"uid"});
  return StringAt(*reference, {"name"}) == NameOf(claim) &&
         StringAt(*reference, {"namespace"}) == NamespaceOf(claim) &&
         (uid.empty() || uid == UidOf(claim));
}

bool Fits(const Json& volume, const Json& claim) {
  if (IsDeleting(volume) || Capacity(volume) < Asked(claim) || !HasModes(volume, claim)) {
    return false;
  }
  if (StringAt(volume, {"spec", "volumeMode"}) != StringAt(claim, {"spec", "volumeMode"})) {
    return false;
  }
  if (StringAt(volume, {"spec", "storageClassName"}) !=
      StringAt(claim, {"spec", "storageClassName"})) {
    return false;
  }
  const Json* selector = Find(claim, {"spec", "selector"});
  if (selector == nullptr) return true;
  const auto parsed = LabelSelectorFromJson(*selector);
  const Json* labels = Find(volume, {"metadata", "labels"});
  return parsed && Matches(*parsed, labels == nullptr ? Json() : *labels);
}

// A volume that is reserved for the claim, or else the smallest free one that fits.
Object Choose(const ClaimView& view) {
  const Json& claim = *view.claim;
  for (const Object& volume : view.volumes) {
    if (IsReservedFor(*volume, claim) && !IsDeleting(*volume)) return volume;
  }
  Object best;
  for (const Object& volume : view.volumes) {
    if (Find(*volume, {"spec", "claimRef"}) != nullptr || !Fits(*volume, claim)) continue;
    if (best == nullptr || Capacity(*volume) < Capacity(*best)) best = volume;
  }
  return best;
}

Object Named(const std::vector<Object>& volumes, const std::string& name) {
  for (const Object& volume : volumes) {
    if (NameOf(*volume) == name) return volume;
  }
  return nullptr;
}

ClaimPlan PlanBoundClaim(const ClaimView& view) {
  ClaimPlan plan;
  const Json& claim = *view.claim;
  const Object volume = Named(view.volumes, StringAt(claim, {"spec", "volumeName"}));
  if (volume == nullptr || !IsReservedFor(*volume, claim)) {
    if (StringAt(claim, {"status", "phase"}) == "Lost") return plan;
    plan.phase = "Lost";
    plan.event =
        PlannedEvent{EventType::kWarning, "ClaimLost",
                     "Bound claim has lost its PersistentVolume. Data on the volume is lost!"};
    return plan;
  }
  if (StringAt(claim, {"status", "phase"}) != "Bound") plan.bind_to = volume;
  if (IsFolderVolume(*volume) && Asked(claim) > Capacity(*volume)) {
    plan.grow_to = api::FormatAmount("memory", Asked(claim));
  }
  return plan;
}

ClaimPlan PlanProvision(const ClaimView& view) {
  ClaimPlan plan;
  const Json& claim = *view.claim;
  const auto tell = [&plan](EventType type, const char* reason, std::string message) {
    plan.event = PlannedEvent{type, reason, std::move(message)};
    return plan;
  };
  const std::string name = StringAt(claim, {"spec", "storageClassName"});
  if (name.empty()) {
    return tell(EventType::kNormal, "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set");
  }
  if (view.storage_class == nullptr) {
    return tell(EventType::kWarning, "ProvisioningFailed",
                fmt::format("storageclass.storage.k8s.io \"{}\" not found", name));
  }
  const std::string provisioner = StringAt(*view.storage_class, {"provisioner"});
  if (StringAt(*view.storage_class, {"volumeBindingMode"}) == "WaitForFirstConsumer" &&
      !view.has_consumer) {
    return tell(EventType::kNormal, "WaitForFirstConsumer",
                "waiting for first consumer to be created before binding");
  }
  if (provisioner != kFolderProvisioner) {
    return tell(EventType::kNormal, "ExternalProvisioning",
                fmt::format("Waiting for a volume to be created either by the external provisioner "
                            "'{}' or manually by the system administrator. If volume creation is "
                            "delayed, please verify that the provisioner is running and correctly "
                            "registered.",
                            provisioner));
  }
  if (StringAt(claim, {"spec", "volumeMode"}) == "Block") {
    return tell(EventType::kWarning, "ProvisioningFailed",
                "a folder is no block device: write volumeMode Filesystem");
  }
  if (Find(claim, {"spec", "dataSource"}) != nullptr ||
      Find(claim, {"spec", "selector"}) != nullptr) {
    return tell(EventType::kWarning, "ProvisioningFailed",
                "a claim with a selector or a data source gets no new folder");
  }
  plan.make_volume = true;
  return tell(EventType::kNormal, "ProvisioningSucceeded",
              fmt::format("Successfully provisioned volume {}", FolderVolumeName(claim)));
}

}  // namespace

Json DefaultStorageClass() {
  return {
      {"apiVersion", "storage.k8s.io/v1"},
      {"kind", "StorageClass"},
      {"metadata", {{"name", kDefaultStorageClass}, {"annotations", {{kIsDefaultClass, "true"}}}}},
      {"provisioner", kFolderProvisioner},
      {"reclaimPolicy", "Delete"},
      {"volumeBindingMode", "Immediate"},
      {"allowVolumeExpansion", true}};
}

std::vector<PodClaim> ClaimsOfPod(const Json& pod) {
  std::vector<PodClaim> claims;
  for (const Json& volume : ArrayAt(pod, {"spec", "volumes"})) {
    const std::string name = StringAt(volume, {"name"});
    if (const Json* source = Find(volume, {"persistentVolumeClaim"})) {
      claims.push_back(
          {name, StringAt(*source, {"claimName"}), BoolAt(*source, {"readOnly"}), false});
    } else if (Find(volume, {"ephemeral"}) != nullptr) {
      claims.push_back({name, NameOf(pod) + "-" + name, false, true});
    }
  }
  return claims;
}

Json EphemeralClaim(const Json& pod, const PodClaim& claim) {
  Json made = {{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}};
  for (const Json& volume : ArrayAt(pod, {"spec", "volumes"})) {
    const Json* model = Find(volume, {"ephemeral", "volumeClaimTemplate"});
    if (StringAt(volume, {"name"}) != claim.volume || model == nullptr) continue;
    made["metadata"] = model->value("metadata", Json::object());
    made["spec"] = model->value("spec", Json::object());
  }
  made["metadata"]["name"] = claim.claim;
  made["metadata"]["namespace"] = NamespaceOf(pod);
  const Json owner = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", pod.at("metadata")}};
  made["metadata"]["ownerReferences"] = Json::array({ControllerReferenceTo(owner)});
  return made;
}

bool IsFolderVolume(const Json& volume) {
  return AnnotationOf(volume, kProvisionedBy) == kFolderProvisioner;
}

bool IsBound(const Json& claim) { return StringAt(claim, {"status", "phase"}) == "Bound"; }

ClaimPlan PlanClaim(const ClaimView& view) {
  const Json& claim = *view.claim;
  if (IsDeleting(claim)) {
    ClaimPlan plan;
    plan.release_protection = !view.has_consumer && HasFinalizer(claim, kClaimProtection);
    return plan;
  }
  if (HasAnnotation(claim, "pv.kubernetes.io/bind-completed")) return PlanBoundClaim(view);
  const std::string named = StringAt(claim, {"spec", "volumeName"});
  if (!named.empty()) {
    ClaimPlan plan;
    const Object volume = Named(view.volumes, named);
    const bool is_free =
        volume != nullptr && !IsDeleting(*volume) &&
        (Find(*volume, {"spec", "claimRef"}) == nullptr || IsReservedFor(*volume, claim));
    if (is_free) plan.bind_to = volume;
    return plan;
  }
  if (const Object volume = Choose(view); volume != nullptr) {
    ClaimPlan plan;
    plan.bind_to = volume;
    return plan;
  }
  return PlanProvision(view);
}

std::string FolderVolumeName(const Json& claim) { return "pvc-" + UidOf(claim); }

Json ClaimReference(const Json& claim) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"namespace", NamespaceOf(claim)},
          {"name", NameOf(claim)},
          {"uid", UidOf(claim)},
          {"resourceVersion", StringAt(claim, {"metadata", "resourceVersion"})}};
}

Json MakeFolderVolume(const Json& claim, const Json& storage_class, const std::string& path) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolume"},
          {"metadata",
           {{"name", FolderVolumeName(claim)},
            {"annotations", {{kProvisionedBy, kFolderProvisioner}}}}},
          {"spec",
           {{"capacity", {{"storage", api::FormatAmount("memory", Asked(claim))}}},
            {"accessModes", ArrayAt(claim, {"spec", "accessModes"})},
            {"persistentVolumeReclaimPolicy", StringAt(storage_class, {"reclaimPolicy"}, "Delete")},
            {"storageClassName", NameOf(storage_class)},
            {"volumeMode", "Filesystem"},
            {"claimRef", ClaimReference(claim)},
            {"hostPath", {{"path", path}, {"type", "DirectoryOrCreate"}}}}}};
}

Json BoundStatus(const Json& claim, const Json& volume) {
  Json status = claim.value("status", Json::object());
  status["phase"] = "Bound";
  status["accessModes"] = ArrayAt(volume, {"spec", "accessModes"});
  if (const Json* capacity = Find(volume, {"spec", "capacity"})) status["capacity"] = *capacity;
  return status;
}

VolumePlan PlanVolume(const Json& volume, const Json* claim) {
  const Json* reference = Find(volume, {"spec", "claimRef"});
  const std::string uid = reference == nullptr ? "" : StringAt(*reference, {"uid"});
  const bool has_claim = !uid.empty() && claim != nullptr && UidOf(*claim) == uid;
  VolumePlan plan;
  plan.phase = uid.empty() ? "Available" : has_claim ? "Bound" : "Released";
  plan.release_protection = IsDeleting(volume) && !has_claim;
  plan.remove = plan.phase == "Released" && IsFolderVolume(volume) && !IsDeleting(volume) &&
                StringAt(volume, {"spec", "persistentVolumeReclaimPolicy"}) == "Delete";
  return plan;
}

}  // namespace berth::local::cluster
