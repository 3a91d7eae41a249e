// api/codec/codec.h — Kubernetes JSON to the structs of api/, and back.
//
//     BERTH_TRY(const ClusterQueue queue, Decode<ClusterQueue>(json));
//
// Decoding: a field that is missing or null gets the CRD's default; a field that is unknown to the
// struct is skipped; a wrong type, an unknown word of an enumeration or a bad quantity is kInvalid
// with the path: "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: …". Kueue's kinds
// are read and written in v1beta2. Quantities may be JSON strings or numbers. apiVersion and kind
// are not checked.
//
// Encoding: writes the fields that Berth writes; times are cut as the API stores them; empty lists
// and maps are left out.
//
// Threads: pure functions. Nothing throws.
// Source: Kueue apis/kueue/v1beta2, k8s.io/api batch/v1, core/v1, autoscaling.x-k8s.io/v1.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/codec/kinds.h"
#include "api/job.h"
#include "api/object_meta.h"
#include "api/pod.h"
#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/result.h"

namespace berth::api {

using Json = nlohmann::json;
struct JsonNode;
struct SharedParts;

// The input of Decode: refers to a tree, or to a node of a JsonText (json_text.h).
class JsonSource {
 public:
  JsonSource(const Json& tree) : tree_(&tree) {}      // NOLINT: converts
  JsonSource(const JsonNode& node) : node_(&node) {}  // NOLINT: converts
  const Json* tree() const { return tree_; }          // null: the input is node()
  const JsonNode* node() const { return node_; }
  // For many objects that are kept: equal parts are decoded once and shared in memory.
  JsonSource(const JsonNode& node, SharedParts& parts) : node_(&node), parts_(&parts) {}
  SharedParts* parts() const { return parts_; }

 private:
  const Json* tree_ = nullptr;
  const JsonNode* node_ = nullptr;
  SharedParts* parts_ = nullptr;
};

// Has the specialisations below; any other T does not link.
template <typename T>
Result<T> Decode(const JsonSource& object);

template <>
Result<AdmissionCheck> Decode<AdmissionCheck>(const JsonSource& object);
template <>
Result<ClusterQueue> Decode<ClusterQueue>(const JsonSource& object);
template <>
Result<Cohort> Decode<Cohort>(const JsonSource& object);
template <>
Result<Job> Decode<Job>(const JsonSource& object);
template <>
Result<LocalQueue> Decode<LocalQueue>(const JsonSource& object);
template <>
Result<Namespace> Decode<Namespace>(const JsonSource& object);
template <>
Result<Node> Decode<Node>(const JsonSource& object);
template <>
Result<ObjectMeta> Decode<ObjectMeta>(const JsonSource& object);  // reads the whole object
template <>
Result<Pod> Decode<Pod>(const JsonSource& object);
template <>
Result<PodTemplate> Decode<PodTemplate>(const JsonSource& object);  // a PodTemplateSpec
template <>
Result<PodTemplateObject> Decode<PodTemplateObject>(const JsonSource& object);
template <>
Result<PriorityClass> Decode<PriorityClass>(const JsonSource& object);
template <>
Result<ProvisioningRequest> Decode<ProvisioningRequest>(const JsonSource& object);
template <>
Result<ProvisioningRequestConfig> Decode<ProvisioningRequestConfig>(const JsonSource& object);
template <>
Result<ResourceFlavor> Decode<ResourceFlavor>(const JsonSource& object);
template <>
Result<Topology> Decode<Topology>(const JsonSource& object);
template <>
Result<Workload> Decode<Workload>(const JsonSource& object);
template <>
Result<WorkloadPriorityClass> Decode<WorkloadPriorityClass>(const JsonSource& object);

// Decodes name, namespace, uid and resourceVersion alone. kInvalid: the object has no name, or one
// of the four is no string.
Result<ObjectMeta> DecodeIdentity(const JsonSource& object);

// A whole object for create: apiVersion, kind, metadata (fields a client may set), spec; no status.
Json Encode(const Workload& workload);
Json Encode(const ProvisioningRequest& request);
Json Encode(const PodTemplateObject& pod_template);

// A PodTemplateSpec. A template that carries its JSON text is written as that text; typed fields
// that differ replace the text's (labels, annotations, node selector, tolerations, scheduling
// gates, priority class and, by container, requests). Unknown fields survive.
Json Encode(const PodTemplate& pod_template);

// The metadata that a client may set: name, namespace, labels, annotations, finalizers, owners.
Json Encode(const ObjectMeta& meta);

// Parts of status.
Json Encode(const Condition& condition);
Json Encode(const std::vector<Condition>& conditions);
Json Encode(const Admission& admission);
Json Encode(const TopologyAssignment& assignment);
Json Encode(const RequeueState& state);
Json Encode(const AdmissionCheckState& state);
Json Encode(const std::vector<AdmissionCheckState>& states);
Json Encode(const std::vector<ReclaimablePod>& pods);
Json Encode(const std::vector<EvictionCount>& evictions);
Json Encode(const Toleration& toleration);
// The whole status of a Workload.
Json Encode(const WorkloadStatus& status);

// Status of queues; a LocalQueue's flavors have no `borrowed`.
Json EncodeClusterQueueStatus(const QueueStatus& status);
Json EncodeLocalQueueStatus(const QueueStatus& status);

}  // namespace berth::api
