// view/screens/cluster_view.h — the data of all screens, read from the API at one moment.
//
// Plain data: cli/session reads it with the caller's rights, the screens render it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/karpenter.h"
#include "api/node_meters.h"
#include "api/pod.h"
#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/spend_memory.h"
#include "api/stock_memory.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::view {

// A nodepools.cloud.berth.dev object, where the cluster has the kind.
struct NodePoolView {
  std::string name;
  std::string machine_type;
  std::string accelerator_type;
  int accelerator_count = 0;
  bool queued_provisioning = false;
  bool spot = false;
  std::optional<int> max_nodes;
  std::optional<int> stock;
  int node_count = 0;  // nodes that have joined
  // Machines of the cloud, those in use included, as the object names them.
  std::optional<int> total_stock;            // nullopt: unlimited
  std::map<std::string, int> stock_by_zone;  // only the zones that have a stock of their own
};

// The stock memory of one provisioning class, from its ConfigMap.
struct StockView {
  std::string provisioning_class;
  api::ClassStock stock;
};

// What the nodes of one LocalQueue cost, measured, from its ConfigMap.
struct MetersView {
  std::string queue;  // namespace/name
  api::QueueMeters meters;
};

// What the requests of one LocalQueue are charged by day, from the same ConfigMap.
struct SpendView {
  std::string queue;  // namespace/name
  api::QueueSpend spend;
};

struct NodeView {
  std::string name;
  std::string pool;  // label cloud.google.com/gke-nodepool, or empty
  bool ready = false;
};

struct PodView {
  std::string namespace_name;
  std::string name;
  std::string job_name;  // label batch.kubernetes.io/job-name
  std::string workload;  // annotation kueue.x-k8s.io/workload, or that of ReadPodsOf
  std::string group;     // label or annotation kueue.x-k8s.io/pod-group-name
  std::map<std::string, std::string> job_labels;  // those of JobPodLabels() that the pod has
  std::string owner_kind;  // the kind of the owner that controls the pod; empty: none
  std::string owner_name;
  std::string node_name;
  std::string phase;
  std::optional<WallTime> created;
  std::optional<WallTime> scheduled;  // when it got its node
  std::optional<WallTime> started;    // when the last of its containers started, if all have
  std::string waiting_reason;         // "ErrImagePull", … of a container that cannot start
  std::string waiting_message;
  std::string unschedulable_message;  // why the scheduler finds no node
  std::optional<int> exit_code;       // the first exit code of a container that is not 0
};

// An event of a controller that could not make a pod: quota of the namespace, a limit range, a
// missing service account, pod security, a webhook, a policy.
struct RefusedPod {
  std::string namespace_name;
  std::string owner_kind;  // the object whose pod it would be
  std::string owner_name;
  std::string message;
  WallTime last{};
};

// The place that a queue keeps for a waiting workload.
struct KeptPlaceView {
  WallTime from{};
  Duration after{};  // the wait after which the queue keeps places
};

struct ClusterView {
  WallTime now{};
  std::string cluster_name;               // "local cluster", or the kubeconfig's context
  std::optional<WallTime> cluster_since;  // creation time of the namespace default
  std::vector<api::ClusterQueue> cluster_queues;
  std::vector<api::Cohort> cohorts;
  std::vector<api::LocalQueue> local_queues;
  std::vector<api::ResourceFlavor> flavors;
  std::vector<api::Namespace> namespaces;
  std::vector<api::PriorityClass> priority_classes;  // WorkloadPriorityClasses
  std::vector<api::AdmissionCheck> admission_checks;
  std::vector<api::ProvisioningRequestConfig> provisioning_configs;
  std::vector<api::ProvisioningPolicy> provisioning_policies;
  std::vector<api::Workload> workloads;
  std::vector<api::Job> jobs;
  std::vector<api::ProvisioningRequest> provisioning_requests;
  std::vector<NodePoolView> node_pools;
  std::vector<api::KarpenterNodePool> karpenter_pools;
  std::vector<StockView> stock;
  std::vector<MetersView> meters;
  std::vector<SpendView> spend;
  std::vector<NodeView> nodes;
  std::vector<PodView> pods;
  std::vector<RefusedPod> refused_pods;
  // Forecasts read these where some flavor names a topology: the Topologies, all nodes, and the
  // pods that use them outside of queues.
  std::vector<api::Topology> topologies;
  std::vector<api::Node> topology_nodes;
  std::vector<api::Pod> topology_pods;
  // The namespace of Workloads, LocalQueues, Jobs, Pods, ProvisioningRequests; empty: all.
  std::string namespace_name;
  std::vector<std::string> hidden;    // kinds that the caller may not list
  std::vector<std::string> narrowed;  // kinds that the caller may list in `namespace_name` only
  std::vector<std::string> missing;   // kinds that the cluster does not have
  // The turn of each workload that waits in a queue with an order of its own, from 0; other queues
  // try their workloads by priority and time.
  std::map<api::ObjectKey, std::int64_t> turns;
  // The places that queues keep for workloads that wait long (berth.dev/reserve-after).
  std::map<api::ObjectKey, KeptPlaceView> kept_places;
  std::vector<std::string>
      queues_without_turns;  // queues whose own order the scheduler does not report
  // Pending workloads before the Workload of `berth why` in its ClusterQueue, by the visibility
  // API. Read where the caller may not list the Workloads of all namespaces.
  std::optional<int> waiting_before;
};

// Whether the view has the objects of `kind` ("clusterqueues"); if not, an absence says nothing.
bool IsKnown(const ClusterView& view, const char* kind);
// One line for each kind that the user may not read; empty: the view is complete.
std::vector<std::string> NotSeen(const ClusterView& view);

const api::ClusterQueue* FindClusterQueue(const ClusterView& view, const std::string& name);
const api::LocalQueue* FindLocalQueue(const ClusterView& view, const api::ObjectKey& key);
const api::Job* FindJob(const ClusterView& view, const api::ObjectKey& key);
const NodePoolView* FindNodePool(const ClusterView& view, const std::string& name);
// The Workload whose controller is the job, or null.
const api::Workload* FindWorkloadOf(const ClusterView& view, const api::Job& job);
// `belongs` is true for the Workloads of one job in `namespace_name`. Returns the Workload that
// represents the job now: for an elastic job, the slice of its present size. Null: the job has
// none.
const api::Workload* FindWorkloadWhere(
    const ClusterView& view, const std::string& namespace_name,
    const std::function<bool(const api::Workload& workload)>& belongs);
// The newest ProvisioningRequest of the Workload, of any check or of `check`; null: none.
const api::ProvisioningRequest* FindProvisioningRequest(const ClusterView& view,
                                                        const api::Workload& workload);
const api::ProvisioningRequest* FindProvisioningRequest(const ClusterView& view,
                                                        const api::Workload& workload,
                                                        const api::AdmissionCheckState& check);

// The ClusterQueue of the Workload or of its LocalQueue; empty: the LocalQueue does not exist.
std::string ClusterQueueOf(const ClusterView& view, const api::Workload& workload);
// "default/h100-train": the job's name if there is a job, else the Workload's.
std::string DisplayName(const api::Workload& workload);
std::string OwnerKind(const api::Workload& workload);  // "Job"; "Workload" without an owner

// Whether the pod takes room on its node outside of every queue: forecasts count it until their
// end.
bool UsesNodeForEver(const api::Pod& pod);

bool IsFinished(const api::Workload& workload);
bool IsRunning(const api::Workload& workload);  // admitted, not finished, not being evicted
bool IsWaiting(const api::Workload& workload);  // active, neither running nor finished

}  // namespace berth::view
