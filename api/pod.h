// api/pod.h — pods, their templates and nodes, with the fields that decide where pods may run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/object_meta.h"
#include "api/quantity.h"

namespace berth::api {

struct Toleration {
  std::string key;  // empty with Exists: tolerates every taint
  std::string op;   // "Equal" (also empty), "Exists", "Gt", "Lt"
  std::string value;
  std::string effect;  // empty: every effect
  std::optional<std::int64_t> toleration_seconds;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
  friend bool operator==(const Taint&, const Taint&) = default;
};

bool Tolerates(const Toleration& toleration, const Taint& taint);

struct NodeSelectorRequirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
  friend bool operator==(const NodeSelectorRequirement&, const NodeSelectorRequirement&) = default;
};

bool Matches(const NodeSelectorRequirement& requirement, const StringMap& labels);

struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> match_expressions;
  std::vector<NodeSelectorRequirement> match_fields;
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

struct PreferredNodes {
  std::int32_t weight = 0;
  NodeSelectorTerm preference;
  friend bool operator==(const PreferredNodes&, const PreferredNodes&) = default;
};

struct Container {
  std::string name;
  std::string image;
  std::string restart_policy;  // "Always" on an init container: a sidecar
  ResourceAmounts requests;
  ResourceAmounts limits;
  friend bool operator==(const Container&, const Container&) = default;
};

// An item of a pod's spec.resourceClaims (dynamic resource allocation).
struct PodClaim {
  std::string template_name;  // resourceClaimTemplateName
  std::string claim_name;     // resourceClaimName: a claim that exists, shared by pods
  friend bool operator==(const PodClaim&, const PodClaim&) = default;
};

struct PodSpec {
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  ResourceAmounts overhead;
  ResourceAmounts pod_requests;  // spec.resources of the pod; empty: the sum of the containers
  ResourceAmounts pod_limits;
  StringMap node_selector;
  std::vector<Toleration> tolerations;
  // requiredDuringSchedulingIgnoredDuringExecution: any term may match; nullopt: no affinity.
  std::optional<std::vector<NodeSelectorTerm>> required_node_affinity;
  std::vector<PreferredNodes> preferred_node_affinity;  // preferredDuringScheduling…
  std::vector<std::string> scheduling_gates;
  std::vector<PodClaim> claims;  // spec.resourceClaims
  bool resource_claims = false;  // there are claims, whose devices no quota counts
  std::string priority_class_name;
  std::optional<std::int32_t> priority;
  std::string restart_policy;
  std::string runtime_class_name;
  std::string node_name;
  std::string scheduler_name;
  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};

struct PodTemplate;

// The fields of a pod template that decisions read. A whole template is never assigned to them:
// its text would be lost.
struct PodTemplateFields {
  StringMap labels;
  StringMap annotations;
  PodSpec spec;

  PodTemplateFields& operator=(const PodTemplate&) = delete;
};

// `json` holds the whole template. Code that writes the template back edits the JSON, so that
// fields unknown to Berth survive.
struct PodTemplate : PodTemplateFields {
  std::shared_ptr<const std::string> json;  // PodTemplateSpec as received; null when built by Berth
};

// The requests of one pod: the larger of containers and init containers (sidecars counted with the
// containers), pod-level resources where given, limits where requests are missing, plus overhead.
// Source: k8s.io/component-helpers resource.PodRequests; Kueue pkg/resources.
ResourceAmounts PodRequests(const PodSpec& spec);

struct Pod {
  ObjectMeta meta;
  PodSpec spec;
  std::string phase;  // Pending, Running, Succeeded, Failed
  std::vector<Condition> conditions;
};

struct Node {
  ObjectMeta meta;
  bool unschedulable = false;
  std::vector<Taint> taints;
  ResourceAmounts allocatable;
  std::vector<Condition> conditions;
};

struct Namespace {
  ObjectMeta meta;
  bool terminating = false;
};

// scheduling.k8s.io/v1 PriorityClass and kueue.x-k8s.io WorkloadPriorityClass.
struct PriorityClass {
  ObjectMeta meta;
  std::int32_t value = 0;
  bool global_default = false;  // PriorityClass only
};

}  // namespace berth::api
