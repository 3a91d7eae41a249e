// tests/faults/truth.h — the facts of the API's objects, updated with every write: the
// input of the invariants.
//
//     Truth truth;  truth.See(event);  … truth.workloads() …
//
// Decoded from plain JSON without code of the controllers, so that their errors are not repeated
// here. Only the packed form of topology assignments is decoded by api/codec.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/store/watch_cache.h"
#include "tests/faults/limit_ranges.h"
#include "tests/support/quota_formulae.h"

namespace berth::sim {

using Key = std::pair<std::string, std::string>;  // namespace, name
// (flavor, resource) → amount in the resource's smallest unit.
using FlavorAmounts = support::Amounts;
using support::Quotas;

std::string Show(const Key& key);  // "ns/name", or "name"

struct PodSetFacts {
  std::string name;
  std::int64_t count = 0;
  std::int64_t granted = 0;    // the count of the admission, without reclaimable pods
  std::int64_t min_count = 0;  // equals the count where all pods are needed
  std::map<std::string, std::int64_t> requests;  // what one pod requests
  std::map<std::string, std::string> node_selector;
  bool asks_topology = false;
  std::string required_level;  // a node label
};

// Pods of one pod set on each node that its admission names.
using NodeCounts = std::map<std::string, std::int64_t>;

struct WorkloadFacts {
  Key key;
  std::string uid;
  std::string job_uid;  // empty: no job owns it
  std::string job;
  std::string growth;     // its number where the Workload is what a held job grows by
  bool is_slice = false;  // a slice of an elastic job
  std::string replaces;   // "ns/name" of the slice that it replaces
  std::string queue;
  bool active = true;
  bool deleting = false;
  bool reserved = false;
  bool admitted = false;
  bool evicted = false;
  bool finished = false;
  bool pods_ready = false;
  bool held_back = false;      // Requeued=False, or to be requeued later
  std::string pending_reason;  // the reason of QuotaReserved=False; empty: no such condition
  bool explained = false;      // has the annotation of the explanation
  std::vector<PodSetFacts> pod_sets;
  std::string cluster_queue;  // the queue of the admission
  // Requests of the spec × counts of the admission, in the admission's flavors: `usage` without the
  // reclaimable pods, `granted` with them. `stated`: the amounts in the admission.
  FlavorAmounts usage;
  FlavorAmounts granted;
  FlavorAmounts stated;
  std::int64_t granted_pods = 0;
  NodeCounts nodes;                              // counts of its topology assignments
  std::map<std::string, std::int64_t> node_cpu;  // the amount assigned on that node
  std::vector<std::string> flavors;
  std::set<std::string> avoided;              // flavors that its ProvisioningPolicies pass over
  std::map<std::string, std::string> checks;  // name → state
  std::set<std::string> required_checks;
  std::int64_t priority = 0;
  std::string created;     // RFC 3339: compares as text
  bool preempted = false;  // its condition, with the reason and the preemptor's UID
  std::string preempted_why;
  std::string preempted_for;
};

struct JobFacts {
  Key key;
  std::string uid;
  std::string queue;
  std::string prebuilt;  // the prebuilt Workload in its label; empty: none
  bool suspended = false;
  bool stopping = false;
  bool deleting = false;
  bool finished = false;
  std::int64_t active = 0;
  std::int64_t parallelism = 1;
  bool is_elastic = false;
  std::int64_t most_pods = 1;  // at a time: the parallelism, or fewer completions that are left
  local::Json shape;           // the fields that a start changes and a stop restores
  std::map<std::string, std::string> node_selector;
};

// spec.preemption of a ClusterQueue.
struct PreemptionFacts {
  std::string within = "Never";
  std::string reclaim = "Never";
  std::string borrow_within = "Never";
  std::optional<std::int64_t> borrow_threshold;
  friend bool operator==(const PreemptionFacts&, const PreemptionFacts&) = default;
};

// A ClusterQueue, or a Cohort.
struct QueueFacts {
  std::string name;
  std::string parent;
  Quotas quotas;
  std::vector<std::vector<std::string>> groups;  // flavors, in order
  bool stopped = false;
  bool strict = false;
  bool by_usage = false;   // admissionMode UsageBasedAdmissionFairSharing
  bool own_order = false;  // berth.dev/order or berth.dev/deadlines: priorities alone are above it
  double weight = 1.0;     // the weight of its fair share
  PreemptionFacts preemption;
  bool deleting = false;
  bool is_active = false;  // its condition
  local::Json status;
  std::set<std::string> checks;
  std::map<std::string, std::string> namespaces;  // labels that a namespace must have
};

struct LocalQueueFacts {
  Key key;
  std::string cluster_queue;
  bool stopped = false;
  bool deleting = false;
  local::Json status;
};

struct RequestFacts {
  Key key;
  std::string uid;
  std::string owner_uid;
  std::string race;  // the attempt that began its race; empty: it races with none
  std::string part;  // request_part.h
  bool divided = false;
  bool deleting = false;
  bool over = false;  // Failed, BookingExpired or CapacityRevoked
};

struct PodFacts {
  Key key;
  std::string job_uid;
  bool held = false;  // by the gate of elastic jobs
  bool deleting = false;
  bool over = false;
  bool running = false;
};

struct NodeFacts {
  std::map<std::string, std::string> labels;
  std::int64_t cpu = 0;
};

class Truth {
 public:
  void See(const local::StoreEvent& event);

  const std::map<Key, WorkloadFacts>& workloads() const { return workloads_; }
  const std::map<Key, JobFacts>& jobs() const { return jobs_; }
  const std::map<std::string, QueueFacts>& cluster_queues() const { return cluster_queues_; }
  const std::map<std::string, QueueFacts>& cohorts() const { return cohorts_; }
  const std::map<Key, LocalQueueFacts>& local_queues() const { return local_queues_; }
  const std::map<Key, RequestFacts>& requests() const { return requests_; }
  const std::map<Key, std::string>& templates() const { return templates_; }  // → owner's UID
  const std::map<Key, PodFacts>& pods() const { return pods_; }
  // Node labels of a flavor; empty for one without.
  const std::map<std::string, std::map<std::string, std::string>>& flavors() const {
    return flavors_;
  }

  const std::set<std::string>& topology_flavors() const { return topology_flavors_; }
  const std::map<std::string, NodeFacts>& nodes() const { return nodes_; }
  const std::map<std::string, std::map<std::string, std::string>>& namespaces() const {
    return namespaces_;  // → labels
  }
  // Whether a LimitRange adds requests to containers of `workload`.
  bool IsAskedForMore(const WorkloadFacts& workload) const;
  // `amounts` without what only a LimitRange of the namespace has added, now or at an earlier time.
  FlavorAmounts WithoutDefaults(const WorkloadFacts& workload, FlavorAmounts amounts) const;
  // Whether the queue's selector matches the namespace.
  bool Selects(const QueueFacts& queue, const std::string& namespace_name) const;

  // The ClusterQueue that the workload waits in, if it is open and matches the namespace.
  const QueueFacts* OpenQueueOf(const WorkloadFacts& workload) const;

  // That of the job itself, not of its growth; not one that is being deleted. If there are several
  // slices, the one that has quota.
  const WorkloadFacts* WorkloadOfJob(const std::string& job_uid) const;
  const WorkloadFacts* Workload(const std::string& uid) const;
  // The slice that the Workload replaces, while that one has quota; null: none.
  const WorkloadFacts* ReplacedBy(const WorkloadFacts& workload) const;
  const JobFacts* Job(const std::string& uid) const;
  bool IsNamed(const Key& workload) const;            // by a job, as its prebuilt Workload
  bool IsReplaced(const WorkloadFacts& slice) const;  // by one that has quota
  // The usage of reserving and admitted workloads, by ClusterQueue, without slices that another one
  // with quota replaces.
  std::map<std::string, FlavorAmounts> Usage() const;

 private:
  void SeeKueue(const std::string& resource, const Key& key, const local::Json* object);

  std::map<Key, WorkloadFacts> workloads_;
  std::map<Key, JobFacts> jobs_;
  std::map<std::string, QueueFacts> cluster_queues_;
  std::map<std::string, QueueFacts> cohorts_;
  std::map<Key, LocalQueueFacts> local_queues_;
  std::map<Key, RequestFacts> requests_;
  std::map<Key, std::string> templates_;
  std::map<Key, PodFacts> pods_;
  std::map<std::string, std::map<std::string, std::string>> flavors_;
  std::set<std::string> topology_flavors_;
  LimitRanges limit_ranges_;
  std::map<std::string, NodeFacts> nodes_;
  std::map<std::string, std::map<std::string, std::string>> namespaces_;
};

}  // namespace berth::sim
