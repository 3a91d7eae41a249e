#include "tests/faults/dask_operator.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "local/cluster/objects/fields.h"
#include "tests/faults/play_times.h"
#include "tests/faults/player.h"

namespace berth::sim {
namespace {

using local::Json;
using local::cluster::Find;
using local::cluster::IntAt;
using local::cluster::IsDeleting;
using local::cluster::LabelOf;
using local::cluster::NameOf;
using local::cluster::NamespaceOf;
using local::cluster::StringAt;
using local::cluster::UidOf;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kHandlerAgain = seconds(60);  // kopf's delay after an error
// Pods that wait are no failure of their Deployment.
constexpr std::int32_t kNoDeadline = INT32_MAX;

local::ResourceId Dask(const char* plural) { return {kDaskGroup, kDaskVersion, plural}; }
local::ResourceId Apps(const char* plural) { return {"apps", "v1", plural}; }

std::int64_t ReplicasOf(const Json& object) {
  return IntAt(object, {"spec", "worker", "replicas"}, 1);
}

bool Runs(const Json& pod) {
  return !IsDeleting(pod) && StringAt(pod, {"status", "phase"}) == "Running";
}

Json OwnedBy(const Json& owner) {
  return Json::array({{{"apiVersion", StringAt(owner, {"apiVersion"})},
                       {"kind", StringAt(owner, {"kind"})},
                       {"name", NameOf(owner)},
                       {"uid", UidOf(owner)},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}});
}

Json PartAt(const Json& object, const char* part) {
  const Json* found = Find(object, {"metadata", part});
  return found == nullptr ? Json::object() : *found;
}

}  // namespace

Status DaskOperator::Begin() {
  BERTH_CHECK_OK(DefineKind(world_, kDaskGroup, kDaskVersion, "DaskCluster"));
  return DefineKind(world_, kDaskGroup, kDaskVersion, "DaskWorkerGroup");
}

void DaskOperator::Later(Duration after, std::function<void()> task) {
  world_.executor().PostAfter(after + milliseconds(random_.Below(700)),
                              [this, task = std::move(task)] {
                                if (!ended_) task();
                              });
}

void DaskOperator::See(const local::StoreEvent& event) {
  const local::ObjectKey& where = event.object->key();
  Objects* objects = where.resource == "daskclusters.kubernetes.dask.org"       ? &clusters_
                     : where.resource == "daskworkergroups.kubernetes.dask.org" ? &groups_
                     : where.resource == "deployments.apps"                     ? &deployments_
                     : where.resource == "pods"                                 ? &pods_
                                                                                : nullptr;
  if (objects == nullptr) return;
  const Key key{where.namespace_name, where.name};
  const auto found = objects->find(key);
  const std::optional<Json> before =
      found == objects->end() ? std::nullopt : std::optional<Json>(std::move(found->second));
  const bool gone = event.type == local::WatchEvent::Type::kDeleted;
  const local::Object object = gone ? nullptr : event.object->json();
  if (gone) {
    objects->erase(key);
  } else if (objects != &pods_ || !LabelOf(*object, kDaskClusterLabel).empty()) {
    (*objects)[key] = *object;
  } else {
    return;
  }
  const Json* old = before ? &*before : nullptr;
  if (objects == &clusters_) SeeCluster(key, old, object.get());
  if (objects == &groups_) SeeGroup(key, old, object.get());
  if (objects == &pods_) SeePod(key, old, object.get());
}

void DaskOperator::SeeCluster(const Key& key, const Json* before, const Json* now) {
  if (now == nullptr || IsDeleting(*now)) return;
  if (made_.insert(UidOf(*now)).second)
    return Later(milliseconds(100), [this, key] { MakeParts(key); });
  if (before == nullptr || ReplicasOf(*before) == ReplicasOf(*now)) return;
  Later(milliseconds(100), [this, key] {
    const auto cluster = clusters_.find(key);
    if (cluster == clusters_.end()) return;
    static_cast<void>(world_.api().Patch(
        Dask("daskworkergroups"), key.first, key.second + "-default", local::PatchType::kMerge,
        {{"spec", {{"worker", {{"replicas", ReplicasOf(cluster->second)}}}}}},
        {.field_manager = "dask"}));
  });
}

void DaskOperator::SeeGroup(const Key& key, const Json* before, const Json* now) {
  if (now == nullptr || IsDeleting(*now)) return;
  const bool is_new = made_.insert(UidOf(*now)).second;
  if (!is_new && (before == nullptr || ReplicasOf(*before) == ReplicasOf(*now))) return;
  Later(milliseconds(100), [this, key] { Scale(key); });
}

void DaskOperator::SeePod(const Key& key, const Json* before, const Json* now) {
  const bool started = now != nullptr && Runs(*now) && (before == nullptr || !Runs(*before));
  if (!started || LabelOf(*now, kDaskComponentLabel) != "scheduler") return;
  const Key cluster{key.first, LabelOf(*now, kDaskClusterLabel)};
  const auto found = clusters_.find(cluster);
  const std::int64_t idle =
      found == clusters_.end() ? 0 : IntAt(found->second, {"spec", "idleTimeout"});
  if (idle <= 0) return;
  Later(seconds(idle), [this, cluster, uid = UidOf(*now)] { DeleteIdle(cluster, uid); });
}

void DaskOperator::DeleteIdle(const Key& cluster, const std::string& scheduler_uid) {
  const bool same = std::any_of(pods_.begin(), pods_.end(), [&](const auto& each) {
    return UidOf(each.second) == scheduler_uid && Runs(each.second);
  });
  if (!same) return;
  static_cast<void>(world_.api().Delete(Dask("daskclusters"), cluster.first, cluster.second,
                                        {.propagation_policy = "Background"}));
}

// Everything at once, each only if it does not exist.
void DaskOperator::MakeParts(const Key& key) {
  const auto found = clusters_.find(key);
  if (found == clusters_.end() || IsDeleting(found->second)) return;
  const Json cluster = found->second;
  const Json labels = {{kDaskClusterLabel, key.second}, {kDaskComponentLabel, "scheduler"}};
  const bool made = MakeDeployment(cluster, cluster, key.second + "-scheduler",
                                   cluster["spec"]["scheduler"], labels);
  Json group = {{"apiVersion", std::string(kDaskGroup) + "/" + kDaskVersion},
                {"kind", "DaskWorkerGroup"},
                {"metadata",
                 {{"name", key.second + "-default"},
                  {"namespace", key.first},
                  {"labels", PartAt(cluster, "labels")},
                  {"annotations", PartAt(cluster, "annotations")},
                  {"ownerReferences", OwnedBy(cluster)}}},
                {"spec", {{"cluster", key.second}, {"worker", cluster["spec"]["worker"]}}}};
  const bool grouped = Create(Dask("daskworkergroups"), group);
  if (!made || !grouped) Later(kRetry, [this, key] { MakeParts(key); });
}

bool DaskOperator::MakeDeployment(const Json& cluster, const Json& owner, const std::string& name,
                                  const Json& part, const Json& labels) {
  Json all = PartAt(cluster, "labels");
  all.update(PartAt(owner, "labels"));
  all.update(labels);
  const Json annotations = PartAt(owner, "annotations");
  return Create(Apps("deployments"),
                {{"apiVersion", "apps/v1"},
                 {"kind", "Deployment"},
                 {"metadata",
                  {{"name", name},
                   {"namespace", NamespaceOf(cluster)},
                   {"labels", all},
                   {"annotations", annotations},
                   {"ownerReferences", OwnedBy(owner)}}},
                 {"spec",
                  {{"replicas", 1},
                   {"progressDeadlineSeconds", kNoDeadline},
                   {"selector", {{"matchLabels", all}}},
                   {"template",
                    {{"metadata", {{"labels", all}, {"annotations", annotations}}},
                     {"spec", part["spec"]}}}}}});
}

void DaskOperator::Scale(const Key& key) {
  const auto found = groups_.find(key);
  if (found == groups_.end() || IsDeleting(found->second)) return;
  const Json group = found->second;
  const auto cluster = clusters_.find({key.first, StringAt(group, {"spec", "cluster"})});
  if (cluster == clusters_.end()) return;
  const Json owner = cluster->second;
  if (local::cluster::ControllerRef(group) == nullptr) {
    static_cast<void>(world_.api().Patch(
        Dask("daskworkergroups"), key.first, key.second, local::PatchType::kMerge,
        {{"metadata", {{"ownerReferences", OwnedBy(owner)}}}}, {.field_manager = "dask"}));
  }
  const auto has = std::count_if(deployments_.begin(), deployments_.end(), [&](const auto& each) {
    return each.first.first == key.first && !IsDeleting(each.second) &&
           LabelOf(each.second, kDaskGroupLabel) == key.second;
  });
  const std::int64_t needed = ReplicasOf(group) - has;
  if (needed < 0) return Retire(key, static_cast<std::size_t>(-needed));
  const Json labels = {{kDaskClusterLabel, NameOf(owner)},
                       {kDaskComponentLabel, "worker"},
                       {kDaskGroupLabel, key.second}};
  bool made = true;
  for (std::int64_t i = 0; i < needed; ++i) {
    made = MakeDeployment(owner, group, key.second + "-worker-" + random_.NameSuffix(5),
                          group["spec"]["worker"], labels) &&
           made;
  }
  if (!made) Later(kRetry, [this, key] { Scale(key); });
}

// The scheduler chooses among the workers that run, of any group.
void DaskOperator::Retire(const Key& group, std::size_t count) {
  const std::string cluster = StringAt(groups_.at(group), {"spec", "cluster"});
  bool answers = false;
  std::vector<std::string> workers;
  for (const auto& [key, pod] : pods_) {
    if (key.first != group.first || LabelOf(pod, kDaskClusterLabel) != cluster || !Runs(pod))
      continue;
    const std::string component = LabelOf(pod, kDaskComponentLabel);
    answers = answers || component == "scheduler";
    const Json* owner = local::cluster::ControllerRef(pod);
    if (component != "worker" || owner == nullptr) continue;
    const std::string set = StringAt(*owner, {"name"});
    workers.push_back(set.substr(0, set.rfind('-')));
  }
  if (!answers) return Later(kHandlerAgain, [this, group] { Scale(group); });
  if (workers.size() > count) workers.resize(count);
  for (const std::string& name : workers) {
    Later(milliseconds(500), [this, space = group.first, name] {
      static_cast<void>(world_.api().Delete(Apps("deployments"), space, name,
                                            {.propagation_policy = "Background"}));
    });
  }
}

// False: it is not there.
bool DaskOperator::Create(const local::ResourceId& resource, const Json& object) {
  const auto made =
      world_.api().Create(resource, NamespaceOf(object), object, {.field_manager = "dask"});
  return made || made.error().reason == "AlreadyExists";
}

}  // namespace berth::sim
