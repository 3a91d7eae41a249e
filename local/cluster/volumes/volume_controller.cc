#include "local/cluster/volumes/volume_controller.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log/log.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"

namespace berth::local::cluster {
namespace {

// Pods that have not ended, by the claims that they mount.
constexpr char kByClaim[] = "claim";
constexpr char kBindCompleted[] = "pv.kubernetes.io/bind-completed";

ObjectKey ClaimKeyOf(const Json& volume) {
  const Json* reference = Find(volume, {"spec", "claimRef"});
  if (reference == nullptr) return {};
  return {StringAt(*reference, {"namespace"}), StringAt(*reference, {"name"})};
}

Object ClassOf(const ObjectCache& cache, const Json& claim) {
  return cache.Get(kStorageClasses, {"", StringAt(claim, {"spec", "storageClassName"})});
}

// A deleted claim is held by pods that a node knows; others only wait for it.
bool HasConsumer(const ObjectCache& cache, const Json& claim) {
  for (const Object& pod : cache.ByIndex(kPods, kByClaim, KeyOf(claim).ToString())) {
    if (!IsDeleting(claim) || !StringAt(*pod, {"spec", "nodeName"}).empty()) return true;
  }
  return false;
}

}  // namespace

VolumeController::VolumeController(Api& api, ObjectCache& cache, Executor& executor,
                                   Executor& event_writes, const Clock& clock,
                                   const PodFolders& folders)
    : cache_(cache),
      writer_(api, cache, "kube-controller-manager"),
      events_(api, clock, executor, event_writes, "persistentvolume-controller"),
      folders_(folders),
      claims_(
          executor, "persistentvolumeclaim",
          [this](const ObjectKey& key) { return LookAtClaim(key); }, LookOptions(clock)),
      volumes_(
          executor, "persistentvolume", [this](const ObjectKey& key) { return LookAtVolume(key); },
          LookOptions(clock)),
      ephemeral_(
          executor, "ephemeral-volume", [this](const ObjectKey& key) { return LookAtPod(key); },
          LookOptions(clock)) {
  cache_.AddIndex(kPods, kByClaim, [](const Json& pod) -> std::vector<std::string> {
    std::vector<std::string> keys;
    if (HasEnded(pod)) return keys;
    for (const PodClaim& claim : ClaimsOfPod(pod)) {
      keys.push_back(ObjectKey{NamespaceOf(pod), claim.claim}.ToString());
    }
    return keys;
  });
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  cache_.Listen(kPersistentVolumes, [this](const ObjectChange& change) { OnVolume(change); });
  cache_.Listen(kPersistentVolumeClaims, [this](const ObjectChange& change) {
    claims_.Add(KeyOf(change.any()));
    const std::string volume = StringAt(change.any(), {"spec", "volumeName"});
    if (!volume.empty()) volumes_.Add({"", volume});
  });
  cache_.Listen(kStorageClasses, [this](const ObjectChange&) { LookAtWaiting(); });
}

void VolumeController::Start() {
  if (cache_.Get(kStorageClasses, {"", kDefaultStorageClass}) == nullptr) {
    const auto made = writer_.Create(kStorageClasses, "", DefaultStorageClass());
    if (!made && made.error().reason != "AlreadyExists") {
      LogWarning("no default storage class", {{"error", made.error().message}});
    }
  }
  for (const Object& claim : cache_.All(kPersistentVolumeClaims)) claims_.Add(KeyOf(*claim));
  for (const Object& volume : cache_.All(kPersistentVolumes)) volumes_.Add(KeyOf(*volume));
  for (const Object& pod : cache_.All(kPods)) OnPod({kPods, nullptr, pod});
  claims_.Start();
  volumes_.Start();
  ephemeral_.Start();
}

void VolumeController::OnPod(const ObjectChange& change) {
  const Json& pod = change.any();
  for (const PodClaim& claim : ClaimsOfPod(pod)) {
    claims_.Add({NamespaceOf(pod), claim.claim});
    if (claim.is_ephemeral && change.previous == nullptr) ephemeral_.Add(KeyOf(pod));
  }
}

void VolumeController::OnVolume(const ObjectChange& change) {
  const Json& volume = change.any();
  volumes_.Add(KeyOf(volume));
  const ObjectKey claim = ClaimKeyOf(volume);
  if (!claim.name.empty()) {
    claims_.Add(claim);
  } else {
    LookAtWaiting();
  }
}

void VolumeController::LookAtWaiting() {
  for (const Object& claim : cache_.All(kPersistentVolumeClaims)) {
    if (!IsBound(*claim)) claims_.Add(KeyOf(*claim));
  }
}

Result<NextLook> VolumeController::LookAtClaim(const ObjectKey& key) {
  ClaimView view;
  view.claim = cache_.Get(kPersistentVolumeClaims, key);
  if (view.claim == nullptr) return NextLook{};
  view.storage_class = ClassOf(cache_, *view.claim);
  view.volumes = cache_.All(kPersistentVolumes);
  view.has_consumer = HasConsumer(cache_, *view.claim);
  BERTH_CHECK_OK(Perform(view, PlanClaim(view)));
  return NextLook{};
}

Status VolumeController::Perform(const ClaimView& view, const ClaimPlan& plan) {
  const Json& claim = *view.claim;
  if (plan.release_protection) {
    return Settled(writer_.Edit(kPersistentVolumeClaims, KeyOf(claim), UidOf(claim), "",
                                [](Json& one) { return RemoveFinalizer(one, kClaimProtection); }));
  }
  if (plan.bind_to != nullptr) BERTH_CHECK_OK(Bind(claim, *plan.bind_to));
  if (plan.make_volume) BERTH_CHECK_OK(MakeVolume(view));
  if (plan.grow_to) BERTH_CHECK_OK(Grow(claim, *plan.grow_to));
  if (plan.phase) {
    BERTH_CHECK_OK(Settled(
        writer_.EditStatus(kPersistentVolumeClaims, KeyOf(claim), UidOf(claim), [&](Json& one) {
          one["status"]["phase"] = *plan.phase;
          return true;
        })));
  }
  if (plan.event) {
    events_.Record(claim, plan.event->type, plan.event->reason, plan.event->message);
  }
  return OkStatus();
}

// The volume's side comes first: after an interruption the claim finds its volume again.
Status VolumeController::Bind(const Json& claim, const Json& volume) {
  const auto reserved =
      writer_.Edit(kPersistentVolumes, KeyOf(volume), UidOf(volume), "", [&](Json& one) {
        const Json* known = Find(one, {"spec", "claimRef", "uid"});
        if (known != nullptr && *known == UidOf(claim)) return false;
        one["spec"]["claimRef"] = ClaimReference(claim);
        return true;
      });
  if (!reserved) return ToError(reserved.error());
  const auto named =
      writer_.Edit(kPersistentVolumeClaims, KeyOf(claim), UidOf(claim), "", [&](Json& one) {
        one["spec"]["volumeName"] = NameOf(volume);
        one["metadata"]["annotations"][kBindCompleted] = "yes";
        return true;
      });
  BERTH_CHECK_OK(Settled(named));
  return Settled(
      writer_.EditStatus(kPersistentVolumeClaims, KeyOf(claim), UidOf(claim), [&](Json& one) {
        one["status"] = BoundStatus(one, volume);
        return true;
      }));
}

Status VolumeController::MakeVolume(const ClaimView& view) {
  const std::string name = FolderVolumeName(*view.claim);
  BERTH_CHECK_OK(folders_.MakeClaimFolder(name));
  const auto made = writer_.Create(
      kPersistentVolumes, "",
      MakeFolderVolume(*view.claim, *view.storage_class, folders_.ClaimFolder(name)));
  if (!made && made.error().reason != "AlreadyExists") return ToError(made.error());
  const Object volume = made ? *made : cache_.Get(kPersistentVolumes, {"", name});
  return volume == nullptr ? OkStatus() : Bind(*view.claim, *volume);
}

Status VolumeController::Grow(const Json& claim, const std::string& capacity) {
  const ObjectKey volume_key{"", StringAt(claim, {"spec", "volumeName"})};
  const Object volume = cache_.Get(kPersistentVolumes, volume_key);
  if (volume == nullptr) return OkStatus();
  const auto grown =
      writer_.Edit(kPersistentVolumes, volume_key, UidOf(*volume), "", [&](Json& one) {
        one["spec"]["capacity"]["storage"] = capacity;
        return true;
      });
  if (!grown) return ToError(grown.error());
  return Settled(
      writer_.EditStatus(kPersistentVolumeClaims, KeyOf(claim), UidOf(claim), [&](Json& one) {
        one["status"]["capacity"]["storage"] = capacity;
        return true;
      }));
}

Status VolumeController::SetVolumePhase(const Json& volume, const std::string& phase) {
  if (StringAt(volume, {"status", "phase"}) == phase) return OkStatus();
  return Settled(
      writer_.EditStatus(kPersistentVolumes, KeyOf(volume), UidOf(volume), [&](Json& one) {
        one["status"]["phase"] = phase;
        return true;
      }));
}

Result<NextLook> VolumeController::LookAtVolume(const ObjectKey& key) {
  const Object volume = cache_.Get(kPersistentVolumes, key);
  if (volume == nullptr) return NextLook{};
  const Object claim = cache_.Get(kPersistentVolumeClaims, ClaimKeyOf(*volume));
  VolumePlan plan = PlanVolume(*volume, claim.get());
  if (plan.remove) plan.remove = IsClaimGone(*volume);
  BERTH_CHECK_OK(SetVolumePhase(*volume, plan.phase));
  if (plan.remove) {
    BERTH_CHECK_OK(folders_.RemoveClaimFolder(NameOf(*volume)));
    BERTH_CHECK_OK(writer_.Delete(kPersistentVolumes, *volume));
  }
  if (plan.release_protection || plan.remove) {
    BERTH_CHECK_OK(Settled(writer_.Edit(kPersistentVolumes, key, UidOf(*volume), "", [](Json& one) {
      return IsDeleting(one) && RemoveFinalizer(one, kVolumeProtection);
    })));
  }
  return NextLook{};
}

// Asks the API: the cache may not know the newest claims.
bool VolumeController::IsClaimGone(const Json& volume) {
  const ObjectKey key = ClaimKeyOf(volume);
  const auto found = writer_.api().Get(kPersistentVolumeClaims, key.namespace_name, key.name);
  if (!found) return found.error().reason == "NotFound";
  return UidOf(**found) != StringAt(volume, {"spec", "claimRef", "uid"});
}

Result<NextLook> VolumeController::LookAtPod(const ObjectKey& key) {
  const Object pod = cache_.Get(kPods, key);
  if (pod == nullptr || IsDeleting(*pod) || HasEnded(*pod)) return NextLook{};
  for (const PodClaim& claim : ClaimsOfPod(*pod)) {
    if (!claim.is_ephemeral) continue;
    if (cache_.Get(kPersistentVolumeClaims, {key.namespace_name, claim.claim}) != nullptr) continue;
    const auto made =
        writer_.Create(kPersistentVolumeClaims, key.namespace_name, EphemeralClaim(*pod, claim));
    if (!made && made.error().reason != "AlreadyExists") return ToError(made.error());
  }
  return NextLook{};
}

Result<ClaimFolders> ClaimFoldersOf(const ObjectCache& cache, const PodFolders& folders,
                                    const Json& pod) {
  ClaimFolders found;
  for (const PodClaim& one : ClaimsOfPod(pod)) {
    const Object claim = cache.Get(kPersistentVolumeClaims, {NamespaceOf(pod), one.claim});
    if (claim == nullptr || !IsBound(*claim)) {
      return Error{ErrorCode::kUnavailable,
                   claim == nullptr
                       ? fmt::format("persistentvolumeclaim \"{}\" not found", one.claim)
                       : fmt::format("PersistentVolumeClaim \"{}\" is not bound", one.claim)};
    }
    const Json* owner = ControllerRef(*claim);
    if (one.is_ephemeral && (owner == nullptr || StringAt(*owner, {"uid"}) != UidOf(pod))) {
      return Error{
          ErrorCode::kUnavailable,
          fmt::format("PersistentVolumeClaim \"{}\" was not created for the pod", one.claim)};
    }
    const std::string name = StringAt(*claim, {"spec", "volumeName"});
    const Object volume = cache.Get(kPersistentVolumes, {"", name});
    if (volume == nullptr || !IsFolderVolume(*volume)) continue;
    found[one.volume] = {folders.ClaimFolder(name), one.read_only};
  }
  return found;
}

std::string ClaimsRefusal(const ObjectCache& cache, const Json& pod) {
  for (const PodClaim& one : ClaimsOfPod(pod)) {
    const ObjectKey key{NamespaceOf(pod), one.claim};
    const Object claim = cache.Get(kPersistentVolumeClaims, key);
    if (claim == nullptr && one.is_ephemeral) {
      return fmt::format(
          "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{}\"",
          one.claim);
    }
    if (claim == nullptr) return fmt::format("persistentvolumeclaim \"{}\" not found", one.claim);
    if (IsDeleting(*claim)) {
      return fmt::format("persistentvolumeclaim \"{}\" is being deleted", one.claim);
    }
    if (!IsBound(*claim)) return "pod has unbound immediate PersistentVolumeClaims";
    const Json& modes = ArrayAt(*claim, {"spec", "accessModes"});
    if (std::find(modes.begin(), modes.end(), Json("ReadWriteOncePod")) == modes.end()) continue;
    for (const Object& other : cache.ByIndex(kPods, kByClaim, key.ToString())) {
      if (UidOf(*other) == UidOf(pod) || StringAt(*other, {"spec", "nodeName"}).empty()) continue;
      return "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "
             "access mode";
    }
  }
  return "";
}

}  // namespace berth::local::cluster
