#include "tests/faults/dask_play.h"

#include <algorithm>
#include <set>
#include <utility>

#include "local/cluster/objects/fields.h"
#include "tests/faults/play_times.h"

namespace berth::sim {
namespace {

using local::Json;
using local::cluster::IsDeleting;
using local::cluster::LabelOf;
using local::cluster::StringAt;
using local::cluster::UidOf;

constexpr char kQueueGate[] = "kueue.x-k8s.io/admission";
constexpr char kWorkloadAnnotation[] = "integrations.berth.dev/workload";
constexpr char kParentAnnotation[] = "kueue.x-k8s.io/pod-suspending-parent";

bool HoldsQuota(const WorkloadFacts& workload) { return workload.reserved && !workload.finished; }

}  // namespace

void DaskPlay::Begin() {
  Status done = operator_.Begin();
  if (done) done = ReviewPods(world_, "story-dask-pods", kDaskClusterLabel);
  if (!done) invariants_.Report("bad-story", done.error().message);
}

DaskPlay::Pod DaskPlay::Read(const Json& object) {
  Pod pod;
  pod.uid = UidOf(object);
  pod.cluster = LabelOf(object, kDaskClusterLabel);
  pod.pod_set = LabelOf(object, kDaskComponentLabel);
  const std::string group = LabelOf(object, kDaskGroupLabel);
  if (pod.pod_set == "worker" && group != pod.cluster + "-default") pod.pod_set = group;
  pod.workload = local::cluster::AnnotationOf(object, kWorkloadAnnotation);
  for (const Json& gate : local::cluster::ArrayAt(object, {"spec", "schedulingGates"})) {
    pod.gated = pod.gated || StringAt(gate, {"name"}) == kQueueGate;
  }
  const bool lives = !IsDeleting(object) && !local::cluster::HasEnded(object);
  const bool held = local::cluster::HasAnnotation(object, kParentAnnotation);
  pod.missed = lives && !held;
  pod.at_work = lives && held && !pod.gated;
  pod.waits = lives && held && pod.gated;
  pod.running = pod.at_work && StringAt(object, {"status", "phase"}) == "Running";
  return pod;
}

const WorkloadFacts* DaskPlay::WorkloadOf(const Json& cluster) const {
  return invariants_.truth().WorkloadOfJob(UidOf(cluster));
}

const Json* DaskPlay::ClusterOf(const std::string& uid) const {
  for (const auto& [key, cluster] : operator_.clusters()) {
    if (UidOf(cluster) == uid) return &cluster;
  }
  return nullptr;
}

bool DaskPlay::Owns(const WorkloadFacts& workload) const {
  return ClusterOf(workload.job_uid) != nullptr;
}

std::int64_t DaskPlay::QuotaOf(const Json& cluster, const std::string& pod_set) const {
  std::int64_t count = 0;
  for (const auto& [key, workload] : invariants_.truth().workloads()) {
    if (workload.job_uid != UidOf(cluster) || !HoldsQuota(workload)) continue;
    for (const PodSetFacts& set : workload.pod_sets) {
      if (set.name == pod_set) count += set.granted;
    }
  }
  return count;
}

std::int64_t DaskPlay::CountPods(const Key& cluster, const std::string& pod_set,
                                 bool Pod::*which) const {
  return std::count_if(pods_.begin(), pods_.end(), [&](const auto& each) {
    const Pod& pod = each.second;
    return each.first.first == cluster.first && pod.cluster == cluster.second &&
           pod.pod_set == pod_set && pod.*which;
  });
}

void DaskPlay::See(const local::StoreEvent& event, bool by_story) {
  operator_.See(event);
  const local::ObjectKey& where = event.object->key();
  const Key key{where.namespace_name, where.name};
  if (where.resource == "workloads.kueue.x-k8s.io") return SeeWorkload(key, by_story);
  if (where.resource != "pods") return;
  const bool gone = event.type == local::WatchEvent::Type::kDeleted;
  const local::Object object = gone ? nullptr : event.object->json();
  SeePod(key, object.get());
}

void DaskPlay::SeePod(const Key& key, const Json* object) {
  const auto before = pods_.find(key);
  if (object == nullptr) {
    if (before != pods_.end()) pods_.erase(before);
    return;
  }
  const Pod now = Read(*object);
  if (now.cluster.empty()) return;
  const bool starts = now.at_work && (before == pods_.end() || before->second.uid != now.uid ||
                                      before->second.gated);
  pods_[key] = now;
  if (starts) CheckStart(key, now);
}

// Whether another client has just deleted a Workload: the event is under way.
bool DaskPlay::IsLate(const std::string& cluster_uid) const {
  const auto found = deleted_.find(cluster_uid);
  return found != deleted_.end() && found->second + kNewsTakes >= world_.clock().SteadyNow();
}

void DaskPlay::CheckStart(const Key& key, const Pod& pod) {
  const Key name{key.first, pod.cluster};
  const auto cluster = operator_.clusters().find(name);
  if (cluster == operator_.clusters().end() || IsLate(UidOf(cluster->second))) return;
  const auto& workloads = invariants_.truth().workloads();
  const auto counts = workloads.find({key.first, pod.workload});
  const WorkloadFacts* main = WorkloadOf(cluster->second);
  const auto admitted = [](const WorkloadFacts& each) { return each.admitted && !each.finished; };
  if (main == nullptr || !admitted(*main) || counts == workloads.end() ||
      !admitted(counts->second) || counts->second.job_uid != UidOf(cluster->second)) {
    return invariants_.Report("dask-pod-without-admission",
                              Show(key) + " starts, its Workload '" + pod.workload +
                                  "' or that of the cluster is not admitted");
  }
  const std::int64_t pods = CountPods(name, pod.pod_set, &Pod::at_work);
  const std::int64_t quota = QuotaOf(cluster->second, pod.pod_set);
  if (pods <= quota) return;
  invariants_.Report("too-many-dask-pods", Show(key) + " is number " + std::to_string(pods) +
                                               " of " + pod.pod_set + ", there is quota for " +
                                               std::to_string(quota));
}

void DaskPlay::SeeWorkload(const Key& key, bool by_story) {
  const auto& workloads = invariants_.truth().workloads();
  const auto now = workloads.find(key);
  const auto found = workloads_.find(key);
  const std::optional<WorkloadFacts> before =
      found == workloads_.end() ? std::nullopt : std::optional(found->second);
  if (now == workloads.end()) {
    workloads_.erase(key);
  } else {
    workloads_[key] = now->second;
  }
  if (now == workloads.end() || now->second.deleting) {
    deleted_[now == workloads.end() ? (before ? before->job_uid : "") : now->second.job_uid] =
        world_.clock().SteadyNow();
  }
  const bool released =
      before && HoldsQuota(*before) && (now == workloads.end() || !HoldsQuota(now->second));
  const Json* cluster = before ? ClusterOf(before->job_uid) : nullptr;
  if (!released || by_story || cluster == nullptr || IsDeleting(*cluster)) return;
  const Key name{key.first, local::cluster::NameOf(*cluster)};
  for (const PodSetFacts& set : before->pod_sets) {
    const std::int64_t pods = CountPods(name, set.name, &Pod::running);
    const std::int64_t quota = QuotaOf(*cluster, set.name);
    if (pods <= quota) continue;
    return invariants_.Report("dask-released", "quota of " + Show(key) + " is given back, " +
                                                   std::to_string(pods) + " pods of " + set.name +
                                                   " run, there is quota for " +
                                                   std::to_string(quota));
  }
}

void DaskPlay::Find(Findings& findings) const {
  for (const auto& [key, cluster] : operator_.clusters()) {
    if (IsDeleting(cluster)) continue;
    const WorkloadFacts* main = WorkloadOf(cluster);
    const bool admitted = main != nullptr && main->admitted;
    std::set<std::string> pod_sets;
    for (const auto& [name, pod] : pods_) {
      if (name.first == key.first && pod.cluster == key.second) pod_sets.insert(pod.pod_set);
    }
    for (const std::string& pod_set : pod_sets) {
      const std::int64_t pods = CountPods(key, pod_set, &Pod::at_work);
      const std::int64_t quota = QuotaOf(cluster, pod_set);
      const std::string text =
          std::to_string(pods) + " of " + pod_set + ", there is quota for " + std::to_string(quota);
      if (!admitted && pods > 0) findings[{"dask-runs-unadmitted", Show(key)}] = text;
      if (pods > quota) findings[{"dask-over-quota", Show(key)}] = text;
      const bool waits = CountPods(key, pod_set, &Pod::waits) > 0;
      if (admitted && waits && pods < quota) findings[{"dask-pod-held", Show(key)}] = text;
      const std::int64_t missed = CountPods(key, pod_set, &Pod::missed);
      if (missed > 0) {
        findings[{"dask-pod-missed", Show(key)}] =
            std::to_string(missed) + " of " + pod_set + " are not held";
      }
    }
  }
}

// Clusters that run are deleted when they are idle.
bool DaskPlay::IsSettled(const Json& cluster, const CouldRun& could_run) const {
  if (IsDeleting(cluster)) return false;
  const WorkloadFacts* workload = WorkloadOf(cluster);
  return workload != nullptr && !workload->reserved && (!workload->active || !could_run(*workload));
}

bool DaskPlay::IsOver(const CouldRun& could_run) const {
  const auto& clusters = operator_.clusters();
  return std::all_of(clusters.begin(), clusters.end(),
                     [&](const auto& each) { return IsSettled(each.second, could_run); });
}

void DaskPlay::CheckRest(const CouldRun& could_run) {
  for (const auto& [key, cluster] : operator_.clusters()) {
    if (!IsSettled(cluster, could_run)) {
      invariants_.Report("never-finishes", "DaskCluster " + Show(key));
    }
  }
}

bool DaskPlay::Keeps(const Key& pod) const {
  const auto found = pods_.find(pod);
  return found != pods_.end() && found->second.waits &&
         operator_.clusters().contains({pod.first, found->second.cluster});
}

// A growth that never fits leaves the cluster as it is.
void DaskPlay::Drop(const WorkloadFacts& workload, std::vector<std::string>& lines) {
  if (!workload.growth.empty()) return;
  lines.push_back("delete daskcluster " + Show(Key{workload.key.first, workload.job}));
}

std::vector<std::string> DaskPlay::End() {
  operator_.End();
  std::vector<std::string> lines;
  for (const auto& [key, cluster] : operator_.clusters()) {
    lines.push_back("delete daskcluster " + Show(key));
  }
  return lines;
}

void DaskPlay::ExpectNothingLeft() {
  for (const auto& [key, cluster] : operator_.clusters()) {
    invariants_.Report("left-over", "DaskCluster " + Show(key));
  }
  for (const auto& [key, pod] : pods_) invariants_.Report("left-over", "pod " + Show(key));
}

}  // namespace berth::sim
