// Goal: a Workload survives encoding and decoding unchanged, topology assignments included.
// Method: round trips through JSON, and literal wire forms.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

TEST(WorkloadCodec, MissingFieldsHaveDefaults) {
  const auto workload = Decode<Workload>(R"({"spec":{"podSets":[{"template":{}}]}})"_json);
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_TRUE(workload->spec.active);
  EXPECT_EQ(workload->spec.pod_sets.at(0).name, "main");
  EXPECT_EQ(workload->spec.pod_sets.at(0).count, 1);
  EXPECT_FALSE(workload->status.admission.has_value());
}

TEST(WorkloadCodec, SpecRoundTrips) {
  const Json json = R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload",
    "metadata":{"name":"w","namespace":"n","labels":{"l":"v"},"finalizers":["f"],
      "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u",
                          "controller":true,"blockOwnerDeletion":true}]},
    "spec":{"active":false,"queueName":"q","priority":5,"maximumExecutionTimeSeconds":60,
      "priorityClassRef":{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"p"},
      "podSets":[{"name":"main","count":4,"minCount":2,
        "template":{"spec":{"containers":[{"name":"c","tty":true}]}},
        "topologyRequest":{"required":"rack","podSetSliceSize":2,
          "podSetSliceRequiredTopology":"host"}}]}})"_json;
  const auto workload = Decode<Workload>(json);
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(Encode(*workload), json);
}

TEST(WorkloadCodec, StatusRoundTrips) {
  const Json status = R"({
    "conditions":[{"type":"QuotaReserved","status":"True","reason":"QuotaReserved","message":"m",
                   "lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":1}],
    "admission":{"clusterQueue":"cq","podSetAssignments":[{"name":"main","count":2,
      "flavors":{"cpu":"f"},"resourceUsage":{"cpu":"1500m","memory":"2Gi"},
      "delayedTopologyRequest":"Pending"}]},
    "requeueState":{"count":2,"requeueAt":"2026-01-01T00:01:00Z"},
    "reclaimablePods":[{"name":"main","count":1}],
    "admissionChecks":[{"name":"dws","state":"Retry","message":"x","retryCount":1,
      "requeueAfterSeconds":60,"lastTransitionTime":"2026-01-01T00:00:00Z",
      "podSetUpdates":[{"name":"main","annotations":{"a":"b"},"nodeSelector":{"c":"d"},
        "tolerations":[{"key":"k","operator":"Exists"}]}]}],
    "resourceRequests":[{"name":"main","resources":{"nvidia.com/gpu":"8"}}],
    "accumulatedPastExecutionTimeSeconds":9,
    "schedulingStats":{"evictions":[{"reason":"Preempted","underlyingCause":"","count":1}]},
    "unhealthyNodes":[{"name":"node-1"}]})"_json;
  const auto workload = Decode<Workload>(Json{{"status", status}});
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(Encode(workload->status), status);
}

TopologyAssignment RoundTrip(const TopologyAssignment& assignment) {
  Workload workload;
  workload.status.admission = Admission{"cq", {{.name = "main"}}};
  workload.status.admission->pod_set_assignments[0].topology_assignment = assignment;
  const auto decoded = Decode<Workload>(Json{{"status", Encode(workload.status)}});
  EXPECT_TRUE(decoded) << decoded.error().message;
  return *decoded->status.admission->pod_set_assignments[0].topology_assignment;
}

TEST(TopologyCodec, DomainsRoundTrip) {
  const std::vector<TopologyAssignment> cases = {
      {{"h"}, {{{"node-1"}, 2}}},
      {{"h"}, {{{"node-1-x"}, 2}, {{"node-12-x"}, 2}, {{"node-2-x"}, 1}}},
      {{"b", "r"}, {{{"b1", "r1"}, 1}, {{"b1", "r2"}, 3}}},
      {{"h"}, {{{"a"}, 1}, {{"aa"}, 1}, {{"aaa"}, 1}}},  // prefix and suffix would overlap
      {{"h"}, {}},
  };
  for (const TopologyAssignment& assignment : cases) EXPECT_EQ(RoundTrip(assignment), assignment);
}

TEST(TopologyCodec, RepeatedValuesAreWrittenOnce) {
  const TopologyAssignment assignment{{"b", "h"}, {{{"b1", "n-1-z"}, 4}, {{"b1", "n-2-z"}, 4}}};
  EXPECT_EQ(Encode(assignment), R"({"levels":["b","h"],"slices":[{"domainCount":2,
    "podCounts":{"universal":4},"valuesPerLevel":[{"universal":"b1"},
      {"individual":{"prefix":"n-","suffix":"-z","roots":["1","2"]}}]}]})"_json);
}

TEST(TopologyCodec, CommonSuffixIsRemovedBeforeTheRoots) {
  const TopologyAssignment assignment{{"h"}, {{{"n1"}, 1}, {{"n11"}, 1}}};
  EXPECT_EQ(Encode(assignment), R"({"levels":["h"],"slices":[{"domainCount":2,
    "podCounts":{"universal":1},"valuesPerLevel":[
      {"individual":{"prefix":"n","suffix":"1","roots":["","1"]}}]}]})"_json);
}

TEST(TopologyCodec, SlicesThatDoNotAddUpAreRefused) {
  const auto decoded = Decode<Workload>(R"({"status":{"admission":{"podSetAssignments":[{
    "topologyAssignment":{"levels":["h"],"slices":[{"domainCount":2,"podCounts":{"universal":1},
      "valuesPerLevel":[{"individual":{"roots":["a"]}}]}]}}]}}})"_json);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message,
            "status.admission.podSetAssignments[0].topologyAssignment.slices[0].valuesPerLevel[0]: "
            "there is not one value for each domain");
}

TEST(ProvisioningRequestCodec, RoundTrips) {
  const Json json = R"({"apiVersion":"autoscaling.x-k8s.io/v1","kind":"ProvisioningRequest",
    "metadata":{"name":"p","namespace":"n"},"spec":{"provisioningClassName":"c",
      "parameters":{"a":"b"},"podSets":[{"podTemplateRef":{"name":"t"},"count":3}]}})"_json;
  const auto request = Decode<ProvisioningRequest>(json);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(Encode(*request), json);
}

}  // namespace
}  // namespace berth::api
