// tests/support/core_fixture.h — tables about decisions: objects in short form, one cycle at a
// time, decisions by the workload's name.
//
//     world.Apply(MakeQueue("a", "cohort", {{"f", {{"gpu", 4}}}}));     and its LocalQueue "a"
//     world.Apply(MakeJob("w", "a", 2, {{"gpu", 1}}));                  two pods of one GPU
//     EXPECT_EQ(Cycle(world), "w Admitted");
//
// Threads: one. Errors: none; an unknown name throws.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admission/messages.h"
#include "simulation/control_plane.h"

namespace berth::support {

using simulation::ControlPlane;

struct QuotaOf {
  std::string resource;
  api::Amount nominal = 0;
  std::optional<api::Amount> borrowing = {};
  std::optional<api::Amount> lending = {};
};
struct FlavorOf {
  std::string name;
  std::vector<QuotaOf> quotas;
};

// One resource group that covers the resources of its first flavor.
inline api::ResourceGroup MakeGroup(const std::vector<FlavorOf>& flavors) {
  api::ResourceGroup group;
  for (const QuotaOf& quota : flavors.at(0).quotas) {
    group.covered_resources.push_back(quota.resource);
  }
  for (const FlavorOf& flavor : flavors) {
    api::FlavorQuotas& made = group.flavors.emplace_back();
    made.flavor = flavor.name;
    for (const QuotaOf& quota : flavor.quotas) {
      made.resources.push_back({quota.resource, quota.nominal, quota.borrowing, quota.lending});
    }
  }
  return group;
}

// A ClusterQueue open to all namespaces.
inline api::ClusterQueue MakeQueue(const std::string& name, const std::string& cohort,
                                   const std::vector<FlavorOf>& flavors) {
  api::ClusterQueue queue;
  queue.meta.name = name;
  queue.spec.cohort_name = cohort;
  queue.spec.namespace_selector.emplace();
  queue.spec.resource_groups = {MakeGroup(flavors)};
  return queue;
}

// A ClusterQueue of the cohort "org", with GPUs in the flavor "f".
inline api::ClusterQueue MakeOrgQueue(
    const std::string& name, api::Amount nominal,
    api::PreemptionPolicy reclaim = api::PreemptionPolicy::kNever) {
  api::ClusterQueue queue = MakeQueue(name, "org", {{"f", {{"gpu", nominal}}}});
  queue.spec.preemption.reclaim_within_cohort = reclaim;
  return queue;
}

inline api::Cohort MakeCohort(const std::string& name, const std::string& parent,
                              const std::vector<FlavorOf>& flavors = {}) {
  api::Cohort cohort;
  cohort.meta.name = name;
  cohort.spec.parent_name = parent;
  if (!flavors.empty()) cohort.spec.resource_groups = {MakeGroup(flavors)};
  return cohort;
}

inline api::LocalQueue MakeLocalQueue(const std::string& name, const std::string& cluster_queue,
                                      api::StopPolicy stop = api::StopPolicy::kNone) {
  api::LocalQueue queue;
  queue.meta.namespace_name = "default";
  queue.meta.name = name;
  queue.cluster_queue = cluster_queue;
  queue.stop_policy = stop;
  return queue;
}

inline api::ResourceFlavor MakeFlavor(const std::string& name, api::StringMap labels = {},
                                      std::vector<api::Taint> taints = {}) {
  api::ResourceFlavor flavor;
  flavor.meta.name = name;
  flavor.node_labels = std::move(labels);
  flavor.node_taints = std::move(taints);
  return flavor;
}

inline api::PodSet MakePodSet(const std::string& name, std::int32_t count,
                              const api::ResourceAmounts& per_pod) {
  api::PodSet pod_set;
  pod_set.name = name;
  pod_set.count = count;
  pod_set.pod_template.spec.containers.emplace_back().requests = per_pod;
  return pod_set;
}

// A Workload in LocalQueue `queue` of namespace default.
inline api::Workload MakeJob(const std::string& name, const std::string& queue, std::int32_t count,
                             const api::ResourceAmounts& per_pod, std::int32_t priority = 0) {
  api::Workload workload;
  workload.meta.namespace_name = "default";
  workload.meta.name = name;
  workload.spec.queue_name = queue;
  workload.spec.priority = priority;
  workload.spec.pod_sets.push_back(MakePodSet("main", count, per_pod));
  return workload;
}

inline api::ObjectKey KeyOf(const std::string& workload) { return {"default", workload}; }

// A world with namespace default, these flavors without labels, and these queues, each with a
// LocalQueue of its own name.
class TableWorld : public ControlPlane {
 public:
  explicit TableWorld(const std::vector<std::string>& flavors,
                      const std::vector<api::ClusterQueue>& queues,
                      const admission::SchedulerConfig& config = {})
      : ControlPlane({.scheduler = config}) {
    api::Namespace everybody;
    everybody.meta.name = "default";
    ControlPlane::Apply(everybody);
    for (const std::string& flavor : flavors) ControlPlane::Apply(MakeFlavor(flavor));
    for (const api::ClusterQueue& queue : queues) {
      ControlPlane::Apply(queue);
      ControlPlane::Apply(MakeLocalQueue(queue.meta.name, queue.meta.name));
    }
  }

  // Decides and performs; the decisions are valid until the next cycle. Returns "w Admitted, v
  // NoFit", in processing order.
  std::string Cycle(Heads heads = Heads::kAll) {
    Advance(std::chrono::milliseconds(1));
    last_ = Decide(heads);
    std::string text;
    for (const admission::Decision& decision : last_.decisions) {
      text += (text.empty() ? "" : ", ") + decision.object->meta.name + " " +
              ToString(decision.outcome);
    }
    Perform(last_);
    return text;
  }
  const admission::CycleResult& last() const { return last_; }
  const admission::Decision& Of(const std::string& workload) const {
    return *std::find_if(last_.decisions.begin(), last_.decisions.end(), [&](const auto& decision) {
      return decision.object->meta.name == workload;
    });
  }
  std::string MessageOf(const std::string& workload) const {
    const admission::Decision& decision = Of(workload);
    return admission::PendingMessage(decision, scheduler().state().vocabulary(),
                                     scheduler().state().queue(decision.cluster_queue).name);
  }
  // The flavor of `resource` in the first pod set; empty: none.
  std::string FlavorFor(const std::string& workload, const std::string& resource) const {
    const admission::Vocabulary& names = scheduler().state().vocabulary();
    for (const admission::FlavorChoice& choice : Of(workload).assignment.pod_sets[0].flavors) {
      if (names.resources[choice.resource] == resource) return names.flavors[choice.flavor];
    }
    return "";
  }
  // "v(InClusterQueue) u(InCohortReclamation)", by name.
  std::string VictimsOf(const std::string& workload) const {
    std::vector<std::string> victims;
    for (const admission::Victim& victim : Of(workload).victims) {
      victims.push_back(victim.object->meta.name + "(" + ToString(victim.reason) + ")");
    }
    std::sort(victims.begin(), victims.end());
    std::string text;
    for (const std::string& victim : victims) text += (text.empty() ? "" : " ") + victim;
    return text;
  }
  // The workloads admitted by cycles until none is: "a, b".
  std::string AdmitAll() {
    std::string admitted;
    while (HasHeads()) {
      Cycle();
      bool any = false;
      for (const admission::Decision& decision : last_.decisions) {
        if (decision.outcome != admission::Outcome::kAdmitted) continue;
        any = true;
        admitted += (admitted.empty() ? "" : ", ") + decision.object->meta.name;
      }
      if (!any) break;
    }
    return admitted;
  }
  // Stops all victims.
  void ReleaseEvicted() {
    for (const api::ObjectKey& key : Evicted()) Release(key);
  }
  std::int64_t WakeUp() {
    Advance(std::chrono::seconds(1));
    return RunWakeUps().count;
  }
  admission::NodeId NodeOf(const std::string& queue) const {
    return scheduler().state().queue(*scheduler().state().cluster_queues().Find(queue)).node;
  }

 private:
  admission::CycleResult last_;
};

}  // namespace berth::support
