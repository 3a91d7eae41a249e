#include "api/codec/codec.h"
#include "api/codec/parts.h"
#include "api/job_pod_set.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

template <typename T>
void SetIfPresent(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

Json EncodeTopologyRequest(const TopologyRequest& request) {
  Json json = Json::object();
  SetIfPresent(json, "required", request.required);
  SetIfPresent(json, "preferred", request.preferred);
  if (request.unconstrained) json["unconstrained"] = true;
  SetIfPresent(json, "podIndexLabel", request.pod_index_label);
  SetIfPresent(json, "subGroupIndexLabel", request.sub_group_index_label);
  SetIfPresent(json, "subGroupCount", request.sub_group_count);
  SetIfPresent(json, "podSetGroupName", request.pod_set_group_name);
  SetIfPresent(json, "podSetSliceRequiredTopology", request.slice_required_topology);
  SetIfPresent(json, "podSetSliceSize", request.slice_size);
  for (const auto& slice : request.slice_constraints) {
    json["podsetSliceRequiredTopologyConstraints"].push_back(
        {{"topology", slice.topology}, {"size", slice.size}});
  }
  return json;
}

Json EncodePodSet(const PodSet& pod_set, const PodTemplate& pod_template) {
  Json json = {
      {"name", pod_set.name}, {"count", pod_set.count}, {"template", Encode(pod_template)}};
  SetIfPresent(json, "minCount", pod_set.min_count);
  if (pod_set.topology_request) {
    json["topologyRequest"] = EncodeTopologyRequest(*pod_set.topology_request);
  }
  return json;
}

Json EncodeSpec(const WorkloadSpec& spec) {
  Json json = {{"active", spec.active}, {"podSets", Json::array()}};
  for (std::size_t i = 0; i < spec.pod_sets.size(); ++i) {
    json["podSets"].push_back(EncodePodSet(spec.pod_sets[i], TemplateOf(spec, i)));
  }
  SetUnlessEmpty(json, "queueName", spec.queue_name);
  if (spec.priority_class_ref) {
    json["priorityClassRef"] = {{"group", spec.priority_class_ref->group},
                                {"kind", spec.priority_class_ref->kind},
                                {"name", spec.priority_class_ref->name}};
  }
  SetIfPresent(json, "priority", spec.priority);
  SetIfPresent(json, "maximumExecutionTimeSeconds", spec.maximum_execution_time_seconds);
  return json;
}

Json EncodePodSetUpdate(const PodSetUpdate& update) {
  Json json = {{"name", update.name}};
  SetUnlessEmpty(json, "labels", update.labels);
  SetUnlessEmpty(json, "annotations", update.annotations);
  SetUnlessEmpty(json, "nodeSelector", update.node_selector);
  for (const Toleration& toleration : update.tolerations) {
    json["tolerations"].push_back(Encode(toleration));
  }
  return json;
}

}  // namespace

Json Encode(const Workload& workload) {
  const ResourceKind& kind = KindOf<Workload>();
  return {{"apiVersion", kind.api_version()},
          {"kind", kind.kind},
          {"metadata", Encode(workload.meta)},
          {"spec", EncodeSpec(workload.spec)}};
}

Json Encode(const Admission& admission) {
  Json json = {{"clusterQueue", admission.cluster_queue}, {"podSetAssignments", Json::array()}};
  for (const PodSetAssignment& assignment : admission.pod_set_assignments) {
    Json item = {{"name", assignment.name}, {"count", assignment.count}};
    SetUnlessEmpty(item, "flavors", assignment.flavors);
    SetUnlessEmpty(item, "resourceUsage", QuantityMap(assignment.resource_usage));
    if (assignment.topology_assignment) {
      item["topologyAssignment"] = Encode(*assignment.topology_assignment);
    }
    SetUnlessEmpty(item, "delayedTopologyRequest", assignment.delayed_topology_request);
    json["podSetAssignments"].push_back(std::move(item));
  }
  return json;
}

Json Encode(const RequeueState& state) {
  Json json = {{"count", state.count}};
  if (state.requeue_at) json["requeueAt"] = FormatTime(*state.requeue_at);
  return json;
}

Json Encode(const AdmissionCheckState& state) {
  Json json = {{"name", state.name},
               {"state", WordOf(state.state, kCheckStateWords)},
               {"lastTransitionTime", FormatTime(state.last_transition_time)},
               {"message", state.message}};
  SetIfPresent(json, "requeueAfterSeconds", state.requeue_after_seconds);
  SetIfPresent(json, "retryCount", state.retry_count);
  for (const PodSetUpdate& update : state.pod_set_updates) {
    json["podSetUpdates"].push_back(EncodePodSetUpdate(update));
  }
  return json;
}

Json Encode(const std::vector<AdmissionCheckState>& states) {
  Json json = Json::array();
  for (const AdmissionCheckState& state : states) json.push_back(Encode(state));
  return json;
}

Json Encode(const std::vector<ReclaimablePod>& pods) {
  Json json = Json::array();
  for (const ReclaimablePod& pod : pods) {
    json.push_back({{"name", pod.pod_set}, {"count", pod.count}});
  }
  return json;
}

Json Encode(const std::vector<EvictionCount>& evictions) {
  Json json = Json::array();
  for (const EvictionCount& eviction : evictions) {
    json.push_back({{"reason", eviction.reason},
                    {"underlyingCause", eviction.underlying_cause},
                    {"count", eviction.count}});
  }
  return json;
}

Json Encode(const WorkloadStatus& status) {
  Json json = Json::object();
  SetUnlessEmpty(json, "conditions", Encode(status.conditions));
  if (status.admission) json["admission"] = Encode(*status.admission);
  if (status.requeue_state) json["requeueState"] = Encode(*status.requeue_state);
  SetUnlessEmpty(json, "reclaimablePods", Encode(status.reclaimable_pods));
  SetUnlessEmpty(json, "admissionChecks", Encode(status.admission_checks));
  for (const auto& [name, amounts] : status.resource_requests) {
    json["resourceRequests"].push_back({{"name", name}, {"resources", QuantityMap(amounts)}});
  }
  if (status.accumulated_past_execution_time_seconds != 0) {
    json["accumulatedPastExecutionTimeSeconds"] = status.accumulated_past_execution_time_seconds;
  }
  if (!status.evictions.empty()) {
    json["schedulingStats"] = {{"evictions", Encode(status.evictions)}};
  }
  for (const std::string& node : status.unhealthy_nodes) {
    json["unhealthyNodes"].push_back({{"name", node}});
  }
  return json;
}

}  // namespace berth::api
