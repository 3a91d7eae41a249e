// api/codec/kinds.h — the wire name of each struct: group, version, kind, plural.
//
// Threads: constants.
#pragma once

#include <string>
#include <string_view>

#include "api/job.h"
#include "api/object_meta.h"
#include "api/pod.h"
#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"

namespace berth::api {

struct ResourceKind {
  std::string_view group;  // "" for the core group
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  bool namespaced = true;

  std::string api_version() const {
    return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
  }
};

// kueue.x-k8s.io's WorkloadPriorityClass decodes into the same struct as PriorityClass; this type
// only names the kind.
struct WorkloadPriorityClass : PriorityClass {};

// The core/v1 object PodTemplate (api::PodTemplate is the template inside the object).
struct PodTemplateObject {
  ObjectMeta meta;
  PodTemplate pod_template;
};

template <typename T>
const ResourceKind& KindOf();

template <>
const ResourceKind& KindOf<AdmissionCheck>();
template <>
const ResourceKind& KindOf<ClusterQueue>();
template <>
const ResourceKind& KindOf<Cohort>();
template <>
const ResourceKind& KindOf<Job>();
template <>
const ResourceKind& KindOf<LocalQueue>();
template <>
const ResourceKind& KindOf<Namespace>();
template <>
const ResourceKind& KindOf<Node>();
template <>
const ResourceKind& KindOf<Pod>();
template <>
const ResourceKind& KindOf<PodTemplateObject>();
template <>
const ResourceKind& KindOf<PriorityClass>();
template <>
const ResourceKind& KindOf<ProvisioningRequest>();
template <>
const ResourceKind& KindOf<ProvisioningRequestConfig>();
template <>
const ResourceKind& KindOf<ResourceFlavor>();
template <>
const ResourceKind& KindOf<Topology>();
template <>
const ResourceKind& KindOf<Workload>();
template <>
const ResourceKind& KindOf<WorkloadPriorityClass>();

}  // namespace berth::api
