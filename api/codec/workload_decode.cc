#include "api/codec/codec.h"
#include "api/codec/parts.h"
#include "api/codec/shared_parts.h"
#include "api/workload_limits.h"

namespace berth::api {
namespace {

void ReadTopologyRequest(const Reader& in, TopologyRequest& out) {
  in.Field("required").Get(out.required);
  in.Field("preferred").Get(out.preferred);
  in.Field("unconstrained").Get(out.unconstrained);
  in.Field("podIndexLabel").Get(out.pod_index_label);
  in.Field("subGroupIndexLabel").Get(out.sub_group_index_label);
  in.Field("subGroupCount").Get(out.sub_group_count);
  in.Field("podSetGroupName").Get(out.pod_set_group_name);
  in.Field("podSetSliceRequiredTopology").Get(out.slice_required_topology);
  in.Field("podSetSliceSize").Get(out.slice_size);
  in.Field("podsetSliceRequiredTopologyConstraints")
      .List(out.slice_constraints, [](const Reader& item, TopologyRequest::SliceConstraint& slice) {
        item.Field("topology").Get(slice.topology);
        item.Field("size").Get(slice.size);
      });
}

void ReadPodSet(const Reader& in, PodSet& out) {
  in.Field("name").Get(out.name);
  in.Field("count").Get(out.count);
  in.Field("minCount").Get(out.min_count);
  Read(in.Field("template"), out.pod_template);
  const Reader topology = in.Field("topologyRequest");
  if (topology.present()) ReadTopologyRequest(topology, out.topology_request.emplace());
}

void ReadPodSets(const Reader& in, SharedList<PodSet>& out) {
  SharedParts* parts = in.parts();
  const std::string_view text = in.RawText();
  if (parts != nullptr) {
    if (auto known = parts->Find(text)) {
      out = *std::move(known);
      return;
    }
  }
  std::vector<PodSet> pod_sets;
  in.List(pod_sets, ReadPodSet);
  out = std::move(pod_sets);
  if (parts != nullptr && in.present()) parts->Keep(text, out);  // decoded without an error
}

void ReadSpec(const Reader& in, WorkloadSpec& out) {
  ReadPodSets(in.Field("podSets"), out.pod_sets);
  in.Field("queueName").Get(out.queue_name);
  const Reader reference = in.Field("priorityClassRef");
  if (reference.present()) {
    PriorityClassRef& ref = out.priority_class_ref.emplace();
    reference.Field("group").Get(ref.group);
    reference.Field("kind").Get(ref.kind);
    reference.Field("name").Get(ref.name);
  }
  in.Field("priority").Get(out.priority);
  in.Field("active").Get(out.active);
  in.Field("maximumExecutionTimeSeconds").Get(out.maximum_execution_time_seconds);
}

void ReadAssignment(const Reader& in, PodSetAssignment& out) {
  in.Field("name").Get(out.name);
  in.Field("flavors").Get(out.flavors);
  in.Field("resourceUsage").Get(out.resource_usage);
  in.Field("count").Get(out.count);
  const Reader topology = in.Field("topologyAssignment");
  if (topology.present()) Read(topology, out.topology_assignment.emplace());
  in.Field("delayedTopologyRequest").Get(out.delayed_topology_request);
}

void ReadCheckState(const Reader& in, AdmissionCheckState& out) {
  in.Field("name").Get(out.name);
  in.Field("state").Get(out.state, kCheckStateWords);
  in.Field("lastTransitionTime").Get(out.last_transition_time);
  in.Field("message").Get(out.message);
  in.Field("requeueAfterSeconds").Get(out.requeue_after_seconds);
  in.Field("retryCount").Get(out.retry_count);
  in.Field("podSetUpdates").List(out.pod_set_updates, [](const Reader& item, PodSetUpdate& update) {
    item.Field("name").Get(update.name);
    item.Field("labels").Get(update.labels);
    item.Field("annotations").Get(update.annotations);
    item.Field("nodeSelector").Get(update.node_selector);
    item.Field("tolerations")
        .List(update.tolerations,
              [](const Reader& toleration, Toleration& added) { Read(toleration, added); });
  });
}

void ReadStatus(const Reader& in, WorkloadStatus& out) {
  ReadConditions(in.Field("conditions"), out.conditions);
  const Reader admission = in.Field("admission");
  if (admission.present()) {
    Admission& read = out.admission.emplace();
    admission.Field("clusterQueue").Get(read.cluster_queue);
    const Reader assignments = admission.Field("podSetAssignments");
    assignments.List(read.pod_set_assignments, [&](const Reader& item, PodSetAssignment& each) {
      if (read.pod_set_assignments.size() > kMaxPodSets) {
        return assignments.Fail("may have at most 18 items");
      }
      ReadAssignment(item, each);
    });
  }
  const Reader requeue = in.Field("requeueState");
  if (requeue.present()) {
    RequeueState& state = out.requeue_state.emplace();
    requeue.Field("count").Get(state.count);
    requeue.Field("requeueAt").Get(state.requeue_at);
  }
  in.Field("reclaimablePods").List(out.reclaimable_pods, [](const Reader& item, ReclaimablePod& p) {
    item.Field("name").Get(p.pod_set);
    item.Field("count").Get(p.count);
  });
  in.Field("admissionChecks").List(out.admission_checks, ReadCheckState);
  in.Field("resourceRequests").Each([&](const Reader& item) {
    std::string name;
    item.Field("name").Get(name);
    item.Field("resources").Get(out.resource_requests[name]);
  });
  in.Field("accumulatedPastExecutionTimeSeconds").Get(out.accumulated_past_execution_time_seconds);
  const Reader stats = in.Field("schedulingStats");
  stats.Field("evictions").List(out.evictions, [](const Reader& item, EvictionCount& count) {
    item.Field("reason").Get(count.reason);
    item.Field("underlyingCause").Get(count.underlying_cause);
    item.Field("count").Get(count.count);
  });
  in.Field("unhealthyNodes").List(out.unhealthy_nodes, [](const Reader& item, std::string& name) {
    item.Field("name").Get(name);
  });
}

}  // namespace

template <>
Result<Workload> Decode<Workload>(const JsonSource& object) {
  return ReadAs<Workload>(object, [](const Reader& in, Workload& out) {
    Read(in.Field("metadata"), out.meta);
    ReadSpec(in.Field("spec"), out.spec);
    ReadStatus(in.Field("status"), out.status);
  });
}

}  // namespace berth::api
