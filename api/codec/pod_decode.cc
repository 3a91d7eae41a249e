#include "api/codec/codec.h"
#include "api/codec/parts.h"

namespace berth::api {
namespace {

void ReadContainer(const Reader& in, Container& out) {
  in.Field("name").Get(out.name);
  in.Field("image").Get(out.image);
  in.Field("restartPolicy").Get(out.restart_policy);
  const Reader resources = in.Field("resources");
  resources.Field("requests").Get(out.requests);
  resources.Field("limits").Get(out.limits);
}

void ReadNodeRequirement(const Reader& in, NodeSelectorRequirement& out) {
  in.Field("key").Get(out.key);
  in.Field("operator").Get(out.op);
  in.Field("values").Get(out.values);
}

void ReadNodeTerm(const Reader& in, NodeSelectorTerm& out) {
  in.Field("matchExpressions").List(out.match_expressions, ReadNodeRequirement);
  in.Field("matchFields").List(out.match_fields, ReadNodeRequirement);
}

void ReadAffinity(const Reader& in, PodSpec& out) {
  const Reader node_affinity = in.Field("nodeAffinity");
  node_affinity.Field("preferredDuringSchedulingIgnoredDuringExecution")
      .List(out.preferred_node_affinity, [](const Reader& item, PreferredNodes& nodes) {
        item.Field("weight").Get(nodes.weight);
        const Reader preference = item.Field("preference");
        ReadNodeTerm(preference, nodes.preference);
      });
  const Reader required = node_affinity.Field("requiredDuringSchedulingIgnoredDuringExecution");
  if (!required.present()) return;
  required.Field("nodeSelectorTerms").List(out.required_node_affinity.emplace(), ReadNodeTerm);
}

void ReadJob(const Reader& in, Job& out) {
  Read(in.Field("metadata"), out.meta);
  const Reader spec = in.Field("spec");
  spec.Field("suspend").Get(out.suspend);
  spec.Field("parallelism").Get(out.parallelism);
  spec.Field("completions").Get(out.completions);
  spec.Field("completionMode").Get(out.completion_mode);
  spec.Field("managedBy").Get(out.managed_by);
  spec.Field("activeDeadlineSeconds").Get(out.active_deadline_seconds);
  const Reader pod_template = spec.Field("template");
  Read(pod_template, out.pod_template);
  const Reader pods = pod_template.Field("spec");
  pods.Field("terminationGracePeriodSeconds").Get(out.grace_seconds);
  const Reader status = in.Field("status");
  status.Field("active").Get(out.active);
  status.Field("terminating").Get(out.terminating);
  status.Field("ready").Get(out.ready);
  status.Field("succeeded").Get(out.succeeded);
  status.Field("failed").Get(out.failed);
  const Reader uncounted = status.Field("uncountedTerminatedPods");
  uncounted.Field("succeeded").Each([&](const Reader&) { ++out.uncounted_succeeded; });
  uncounted.Field("failed").Each([&](const Reader&) { ++out.uncounted_failed; });
  status.Field("completedIndexes").Get(out.completed_indexes);
  status.Field("failedIndexes").Get(out.failed_indexes);
  status.Field("startTime").Get(out.start_time);
  ReadConditions(status.Field("conditions"), out.conditions);
}

}  // namespace

void Read(const Reader& in, Toleration& out) {
  in.Field("key").Get(out.key);
  in.Field("operator").Get(out.op);
  in.Field("value").Get(out.value);
  in.Field("effect").Get(out.effect);
  in.Field("tolerationSeconds").Get(out.toleration_seconds);
}

void Read(const Reader& in, Taint& out) {
  in.Field("key").Get(out.key);
  in.Field("value").Get(out.value);
  in.Field("effect").Get(out.effect);
}

void Read(const Reader& in, PodSpec& out) {
  in.Field("containers").List(out.containers, ReadContainer);
  in.Field("initContainers").List(out.init_containers, ReadContainer);
  in.Field("overhead").Get(out.overhead);
  const Reader resources = in.Field("resources");
  resources.Field("requests").Get(out.pod_requests);
  resources.Field("limits").Get(out.pod_limits);
  in.Field("nodeSelector").Get(out.node_selector);
  in.Field("tolerations").List(out.tolerations, [](const Reader& item, Toleration& toleration) {
    Read(item, toleration);
  });
  ReadAffinity(in.Field("affinity"), out);
  in.Field("schedulingGates").List(out.scheduling_gates, [](const Reader& item, std::string& gate) {
    item.Field("name").Get(gate);
  });
  const Reader claims = in.Field("resourceClaims");
  claims.List(out.claims, [](const Reader& item, PodClaim& claim) {
    item.Field("resourceClaimTemplateName").Get(claim.template_name);
    item.Field("resourceClaimName").Get(claim.claim_name);
  });
  out.resource_claims = !out.claims.empty();
  in.Field("priorityClassName").Get(out.priority_class_name);
  in.Field("priority").Get(out.priority);
  in.Field("restartPolicy").Get(out.restart_policy);
  in.Field("runtimeClassName").Get(out.runtime_class_name);
  in.Field("nodeName").Get(out.node_name);
  in.Field("schedulerName").Get(out.scheduler_name);
}

void Read(const Reader& in, PodTemplateFields& out) {
  const Reader metadata = in.Field("metadata");
  metadata.Field("labels").Get(out.labels);
  metadata.Field("annotations").Get(out.annotations);
  Read(in.Field("spec"), out.spec);
}

void Read(const Reader& in, PodTemplate& out) {
  if (!in.present()) return;
  Read(in, static_cast<PodTemplateFields&>(out));
  out.json = std::make_shared<const std::string>(in.Text());
}

template <>
Result<PodTemplate> Decode<PodTemplate>(const JsonSource& object) {
  return ReadAs<PodTemplate>(object, [](const Reader& in, PodTemplate& out) { Read(in, out); });
}

template <>
Result<PodTemplateObject> Decode<PodTemplateObject>(const JsonSource& object) {
  return ReadAs<PodTemplateObject>(object, [](const Reader& in, PodTemplateObject& out) {
    Read(in.Field("metadata"), out.meta);
    Read(in.Field("template"), out.pod_template);
  });
}

template <>
Result<Job> Decode<Job>(const JsonSource& object) {
  return ReadAs<Job>(object, ReadJob);
}

template <>
Result<Pod> Decode<Pod>(const JsonSource& object) {
  return ReadAs<Pod>(object, [](const Reader& in, Pod& out) {
    Read(in.Field("metadata"), out.meta);
    Read(in.Field("spec"), out.spec);
    const Reader status = in.Field("status");
    status.Field("phase").Get(out.phase);
    ReadConditions(status.Field("conditions"), out.conditions);
  });
}

template <>
Result<Node> Decode<Node>(const JsonSource& object) {
  return ReadAs<Node>(object, [](const Reader& in, Node& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("unschedulable").Get(out.unschedulable);
    spec.Field("taints").List(out.taints,
                              [](const Reader& item, Taint& taint) { Read(item, taint); });
    const Reader status = in.Field("status");
    status.Field("allocatable").Get(out.allocatable);
    ReadConditions(status.Field("conditions"), out.conditions);
  });
}

}  // namespace berth::api
