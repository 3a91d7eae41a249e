#include <memory>
#include <string>
#include <utility>
#include <vector>

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

TemplateText TextOf(const Reader& pod_template) {
  if (!pod_template.present()) return {};
  return TemplateText(std::make_shared<const std::string>(pod_template.Text()));
}

// The templates of pod sets whose frame is that of `known`.
SharedList<TemplateText> TextsLike(const SharedList<TemplateText>& known, const Reader& in) {
  std::vector<TemplateText> templates;
  bool same = true;
  in.Each([&](const Reader& item) {
    const TemplateText& like = known[templates.size()];
    const Reader pod_template = item.Field("template");
    templates.push_back(pod_template.present() ? TemplateText(pod_template.RawText(), like)
                                               : TemplateText());
    same = same && templates.back().IsWhole();
  });
  if (same) return known;
  return templates;
}

void ReadPodSets(const Reader& in, WorkloadSpec& out) {
  SharedParts* parts = in.node() == nullptr ? nullptr : in.parts();
  std::string frame;
  if (parts != nullptr) {
    frame = FrameOf(*in.node());
    if (const auto known = parts->pod_sets.Find(frame)) {
      out.pod_sets = known->fields;
      out.templates = TextsLike(known->templates, in);
      return;
    }
  }
  std::vector<PodSet> pod_sets;
  std::vector<TemplateText> templates;
  in.Each([&](const Reader& item) {
    ReadPodSet(item, pod_sets.emplace_back());
    const Reader pod_template = item.Field("template");
    templates.push_back(TextOf(pod_template));
  });
  out.pod_sets = std::move(pod_sets);
  out.templates = std::move(templates);
  // Only what was decoded without an error.
  if (parts != nullptr && in.present()) parts->pod_sets.Keep(frame, {out.pod_sets, out.templates});
}

void ReadSpec(const Reader& in, WorkloadSpec& out) {
  ReadPodSets(in.Field("podSets"), out);
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

void ReadRequests(const Reader& in, SharedList<PodSetRequests>& out) {
  ReadShared(in, &SharedParts::requests, out, [](const Reader& item, PodSetRequests& requests) {
    item.Field("name").Get(requests.pod_set);
    item.Field("resources").Get(requests.amounts);
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
  ReadRequests(in.Field("resourceRequests"), out.resource_requests);
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
