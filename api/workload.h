// api/workload.h — Workload (kueue.x-k8s.io/v1beta2): the unit that is queued and admitted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/object_meta.h"
#include "api/pod.h"
#include "api/quantity.h"
#include "api/template_text.h"
#include "base/shared_list.h"

namespace berth::api {

struct TopologyRequest {
  struct SliceConstraint {
    std::string topology;
    std::int32_t size = 0;
    friend bool operator==(const SliceConstraint&, const SliceConstraint&) = default;
  };
  std::optional<std::string> required;  // a node label; required, preferred or unconstrained
  std::optional<std::string> preferred;
  bool unconstrained = false;
  std::optional<std::string> pod_index_label;
  std::optional<std::string> sub_group_index_label;
  std::optional<std::int32_t> sub_group_count;
  std::optional<std::string> pod_set_group_name;
  std::optional<std::string> slice_required_topology;
  std::optional<std::int32_t> slice_size;
  std::vector<SliceConstraint> slice_constraints;
  friend bool operator==(const TopologyRequest&, const TopologyRequest&) = default;
};

struct PodSet {
  std::string name = "main";
  std::int32_t count = 1;
  std::optional<std::int32_t> min_count;  // partial admission
  PodTemplateFields pod_template;         // its text: WorkloadSpec::templates
  std::optional<TopologyRequest> topology_request;
};

struct PriorityClassRef {
  std::string group;
  std::string kind;
  std::string name;
  friend bool operator==(const PriorityClassRef&, const PriorityClassRef&) = default;
};

// `count` pods go to the domain `values` (one value a level; the lowest level alone where that is
// kubernetes.io/hostname). The codec converts from and to the API's slices.
struct TopologyAssignment {
  struct Domain {
    std::vector<std::string> values;
    std::int32_t count = 0;
    friend auto operator<=>(const Domain&, const Domain&) = default;
  };
  std::vector<std::string> levels;
  std::vector<Domain> domains;
  friend bool operator==(const TopologyAssignment&, const TopologyAssignment&) = default;
};

struct PodSetAssignment {
  std::string name = "main";
  std::map<ResourceName, std::string> flavors;
  ResourceAmounts resource_usage;  // the sum of all pods of the set
  std::int32_t count = 0;
  std::optional<TopologyAssignment> topology_assignment;
  std::string delayed_topology_request;  // "", Pending, Ready
  friend bool operator==(const PodSetAssignment&, const PodSetAssignment&) = default;
};

struct Admission {
  std::string cluster_queue;
  std::vector<PodSetAssignment> pod_set_assignments;
  friend bool operator==(const Admission&, const Admission&) = default;
};

enum class CheckState : std::uint8_t { kPending, kReady, kRetry, kRejected };

struct PodSetUpdate {
  std::string name;
  StringMap labels;
  StringMap annotations;
  StringMap node_selector;
  std::vector<Toleration> tolerations;
  friend bool operator==(const PodSetUpdate&, const PodSetUpdate&) = default;
};

struct AdmissionCheckState {
  std::string name;
  CheckState state = CheckState::kPending;
  WallTime last_transition_time{};
  std::string message;
  std::optional<std::int32_t> requeue_after_seconds;
  std::optional<std::int32_t> retry_count;
  std::vector<PodSetUpdate> pod_set_updates;
  friend bool operator==(const AdmissionCheckState&, const AdmissionCheckState&) = default;
};

struct RequeueState {
  std::int32_t count = 0;
  std::optional<WallTime> requeue_at;
  friend bool operator==(const RequeueState&, const RequeueState&) = default;
};

struct ReclaimablePod {
  std::string pod_set;
  std::int32_t count = 0;
  friend bool operator==(const ReclaimablePod&, const ReclaimablePod&) = default;
};

struct EvictionCount {
  std::string reason;
  std::string underlying_cause;
  std::int32_t count = 0;
  friend bool operator==(const EvictionCount&, const EvictionCount&) = default;
};

// Pod sets and texts are shared by copies of a Workload that change its status, and by Workloads of
// like jobs (codec/shared_parts.h).
struct WorkloadSpec {
  SharedList<PodSet> pod_sets;
  // The template of each pod set as received (job_pod_set.h); empty: the pod sets are built by
  // Berth.
  SharedList<TemplateText> templates;
  std::string queue_name;
  std::optional<PriorityClassRef> priority_class_ref;
  std::optional<std::int32_t> priority;
  bool active = true;
  std::optional<std::int32_t> maximum_execution_time_seconds;
};

// The requests of all pods of a pod set.
struct PodSetRequests {
  std::string pod_set;
  ResourceAmounts amounts;
  friend auto operator<=>(const PodSetRequests&, const PodSetRequests&) = default;
};

struct WorkloadStatus {
  std::vector<Condition> conditions;
  std::optional<Admission> admission;
  std::optional<RequeueState> requeue_state;
  std::vector<ReclaimablePod> reclaimable_pods;
  std::vector<AdmissionCheckState> admission_checks;
  SharedList<PodSetRequests> resource_requests;  // written while the workload is not admitted
  std::int32_t accumulated_past_execution_time_seconds = 0;
  std::vector<EvictionCount> evictions;
  std::vector<std::string> unhealthy_nodes;
};

struct Workload {
  ObjectMeta meta;
  WorkloadSpec spec;
  WorkloadStatus status;
};

// Whether a pod template has spec.resourceClaims (dynamic resource allocation): quota does not
// count these devices.
inline bool ClaimsDevices(const Workload& workload) {
  for (const PodSet& pods : workload.spec.pod_sets) {
    if (pods.pod_template.spec.resource_claims) return true;
  }
  return false;
}

}  // namespace berth::api
