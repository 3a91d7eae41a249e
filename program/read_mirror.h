// program/read_mirror.h — keeps the read model of /api/v1 in step with the objects of the cluster.
//
//     ReadBatch ─ Take ─▶ objects, and the rows that they concern ─ Work ─▶ readapi::Model
//
// A row is made by the code of `berth … -o json` (screens/items.h), from a view that has the
// objects of this row alone: the LocalQueue of a Workload, its ProvisioningRequests. A changed
// object causes work for the rows that show it. A LocalQueue with another ClusterQueue causes work
// for its Workloads; a ClusterQueue causes work for the queues of its cohort tree, once a second at
// most.
//
// Threads: one Executor. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/client/object_store.h"
#include "program/machine_totals.h"
#include "program/queue_turns.h"
#include "readapi/model.h"
#include "view/screens/cluster_view.h"

namespace berth::program {

// The latest states of objects that have changed; null: deleted.
template <typename T>
using Changed = std::map<api::ObjectKey, std::shared_ptr<const T>>;

struct ReadBatch {
  Changed<api::Workload> workloads;
  Changed<api::LocalQueue> local_queues;
  Changed<api::ClusterQueue> cluster_queues;
  Changed<api::Cohort> cohorts;
  Changed<api::ProvisioningRequest> requests;
  Changed<api::Node> nodes;
  Changed<api::Pod> pods;
  bool has_all_pods = false;  // every pod has been in a batch, in this one or an earlier one
  // By ClusterQueue: the turns of its waiting workloads, where the queue has an order of its own
  // (queue_turns.h).
  std::map<std::string, QueueTurns::Turns> turns;

  bool empty() const {
    return workloads.empty() && local_queues.empty() && cluster_queues.empty() && cohorts.empty() &&
           requests.empty() && nodes.empty() && pods.empty() && turns.empty();
  }
};

enum class MirrorPart : std::uint8_t {
  kQueues,    // what queues are about
  kMachines,  // nodes and pods too
};

// The present objects.
struct MirrorObjects {
  std::vector<std::shared_ptr<const api::Workload>> workloads;
  std::vector<std::shared_ptr<const api::LocalQueue>> local_queues;
  std::vector<std::shared_ptr<const api::ClusterQueue>> cluster_queues;
  std::vector<std::shared_ptr<const api::Cohort>> cohorts;
  std::vector<std::shared_ptr<const api::ProvisioningRequest>> requests;
  QueueTurns::Turns turns;
  std::map<std::string, MachineTotal> machines;  // by resource
  // Only with MirrorPart::kMachines.
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  bool has_pods = false;  // `pods` has the pods of all namespaces
};

class ReadMirror {
 public:
  // `model` must outlive the mirror.
  ReadMirror(const Clock& clock, readapi::Model& model);

  void Take(const ReadBatch& batch);
  // Brings at most `most` rows up to date. Returns when to call again: at once (zero), after a
  // while, or not before the next Take (nullopt).
  std::optional<Duration> Work(std::size_t most);

  // The story of `berth why workload/NAME -o json` from the objects of this Workload alone, for
  // callers for whom the API server has no answer (caller_story.h). Nullopt: there is no such
  // Workload.
  std::optional<std::string> Story(const std::string& namespace_name,
                                   const std::string& name) const;

  // The names of the ClusterQueues of the Cohort, and of those below, in their order.
  std::vector<std::string> QueuesBelow(const std::string& cohort) const;

  // Only these Workloads (NAMESPACE/NAME), those that exist.
  MirrorObjects WorkloadsOf(const std::vector<std::string>& ids) const;
  // All objects, of all namespaces: callers show no more than their readers may see.
  MirrorObjects Objects(MirrorPart part = MirrorPart::kQueues) const;

 private:
  void TakeLocalQueues(const Changed<api::LocalQueue>& changed);
  void TakeClusterQueues(const ReadBatch& batch);
  void TakeTurns(const std::map<std::string, QueueTurns::Turns>& changed);
  void TakeRequests(const Changed<api::ProvisioningRequest>& changed);
  std::optional<std::int64_t> TurnOf(const std::string& queue, const api::ObjectKey& key) const;
  void MarkWorkloadsOf(const api::ObjectKey& local_queue);
  void MarkTree(const std::string& root);
  void MarkCohort(const std::string& cohort);
  void MarkOwners(const api::ProvisioningRequest& request);
  void ProjectWorkload(const api::ObjectKey& key);
  void ProjectLocalQueue(const api::ObjectKey& key);
  void ProjectRequest(const api::ObjectKey& key);
  void ProjectTree(const std::string& queue);
  void ProjectCohorts();
  bool IsCohort(const std::string& name) const;
  readapi::Audience ReadersOfTree(const std::string& cohort) const;
  view::ClusterView ViewOf(const api::Workload& workload) const;
  std::string RootOf(const std::string& cohort) const;
  // `root` and the cohorts of its tree, which need not exist as objects.
  std::vector<std::string> CohortsBelow(const std::string& root) const;
  // The queues of the tree of `root`, with its cohorts.
  view::ClusterView TreeOf(const std::string& root) const;
  readapi::Audience AudienceOf(const std::string& namespace_name);
  readapi::Audience ReadersOf(const std::string& cluster_queue) const;

  const Clock& clock_;
  readapi::Model& model_;
  kube::ObjectStore<api::Workload> workloads_;
  kube::ObjectStore<api::LocalQueue> local_queues_;
  kube::ObjectStore<api::ClusterQueue> cluster_queues_;
  kube::ObjectStore<api::Cohort> cohorts_;
  kube::ObjectStore<api::ProvisioningRequest> requests_;
  kube::ObjectStore<api::Node> nodes_;
  kube::ObjectStore<api::Pod> pods_;
  bool has_pods_ = false;
  MachineTotals machines_;
  std::map<std::string, QueueTurns::Turns> turns_;  // by ClusterQueue
  std::set<api::ObjectKey> dirty_workloads_;
  std::set<api::ObjectKey> dirty_local_queues_;
  std::set<api::ObjectKey> dirty_requests_;
  std::set<std::string> dirty_queues_;
  std::set<std::string> dirty_cohorts_;  // the rows of their trees
  std::optional<SteadyTime> queues_done_at_;
  std::map<std::string, readapi::Audience> audience_by_namespace_;
};

}  // namespace berth::program
