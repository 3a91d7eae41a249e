// Goal: decoding gives the CRD's defaults for missing fields, names the path of a wrong field, and
// reads every field of the kinds. Method: small JSON texts, whole-value comparisons.

#include "api/codec/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/device_claims.h"
#include "api/codec/json_text.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

TEST(Identity, IsReadFromAnOtherwiseInvalidObject) {
  const auto identity = DecodeIdentity(
      R"({"metadata":{"namespace":"s","name":"n","uid":"u","resourceVersion":"7","labels":3},
          "spec":4})"_json);
  ASSERT_TRUE(identity) << identity.error().message;
  ObjectMeta want;
  want.namespace_name = "s";
  want.name = "n";
  want.uid = "u";
  want.resource_version = "7";
  EXPECT_EQ(*identity, want);
  for (const char* bad : {"{}", "[]", R"({"metadata":{"uid":"u"}})", R"({"metadata":"n"})",
                          R"({"metadata":{"name":"n","uid":5}})"}) {
    EXPECT_FALSE(DecodeIdentity(Json::parse(bad))) << bad;
  }
}

TEST(ClusterQueueCodec, EmptySpecHasTheDefaultsOfTheCrd) {
  const auto queue = Decode<ClusterQueue>(R"({"metadata":{"name":"q"}})"_json);
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->meta.name, "q");
  EXPECT_EQ(queue->spec, ClusterQueueSpec{});
  EXPECT_EQ(queue->spec.fair_weight_nano, 1'000'000'000);
  EXPECT_FALSE(queue->spec.namespace_selector.has_value());
}

TEST(ClusterQueueCodec, ReadsEveryField) {
  const auto queue = Decode<ClusterQueue>(R"({
    "metadata": {"name": "q", "generation": 4, "resourceVersion": "17"},
    "spec": {
      "cohortName": "lab", "queueingStrategy": "StrictFIFO", "stopPolicy": "HoldAndDrain",
      "namespaceSelector": {},
      "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "spot",
        "resources": [{"name": "cpu", "nominalQuota": "1500m", "borrowingLimit": 2},
                      {"name": "memory", "nominalQuota": "4Gi", "lendingLimit": "1Gi"}]}]}],
      "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch",
                            "preference": "PreemptionOverBorrowing"},
      "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100}},
      "admissionChecksStrategy": {"admissionChecks": [{"name": "dws", "onFlavors": ["spot"]}]},
      "fairSharing": {"weight": "500m"},
      "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}},
    "status": {"pendingWorkloads": 3, "flavorsUsage": [{"name": "spot",
      "resources": [{"name": "cpu", "total": "1", "borrowed": "500m"}]}],
      "conditions": [{"type": "Active", "status": "True", "reason": "Ready", "message": "m",
                      "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 4}]}
  })"_json);
  ASSERT_TRUE(queue) << queue.error().message;
  const ClusterQueueSpec want{
      .resource_groups = {{.covered_resources = {"cpu", "memory"},
                           .flavors = {{.flavor = "spot",
                                        .resources = {{"cpu", 1500, 2000, std::nullopt},
                                                      {"memory", Amount{4} << 30, std::nullopt,
                                                       Amount{1} << 30}}}}}},
      .cohort_name = "lab",
      .queueing_strategy = QueueingStrategy::kStrictFifo,
      .namespace_selector = LabelSelector{},
      .flavor_fungibility = {SearchPolicy::kTryNextFlavor, SearchPolicy::kMayStopSearch,
                             FungibilityPreference::kPreemptionOverBorrowing},
      .preemption = {PreemptionPolicy::kAny, PreemptionPolicy::kLowerPriority, 100,
                     PreemptionPolicy::kLowerPriority},
      .admission_checks = {{"dws", {"spot"}}},
      .stop_policy = StopPolicy::kHoldAndDrain,
      .fair_weight_nano = 500'000'000,
      .usage_based_admission_fair_sharing = true};
  EXPECT_EQ(queue->spec, want);
  EXPECT_EQ(queue->status.pending_workloads, 3);
  EXPECT_EQ(queue->status.flavors_usage,
            (std::vector<FlavorUsage>{{"spot", {{"cpu", 1000, 500}}}}));
  EXPECT_TRUE(IsTrue(queue->status.conditions, "Active"));
}

struct BadCase {
  const char* name;
  const char* json;
  const char* message;
};

TEST(ClusterQueueCodec, ErrorNamesTheWrongField) {
  const std::vector<BadCase> cases = {
      {"Root", R"([])", "expected an object, got array"},
      {"Spec", R"({"spec": 3})", "spec: expected an object, got number"},
      {"List", R"({"spec":{"resourceGroups":{}}})",
       "spec.resourceGroups: expected a list, got object"},
      {"Quantity", R"({"spec":{"resourceGroups":[{"flavors":[{"name":"f","resources":[
          {"name":"cpu","nominalQuota":true}]}]}]}})",
       "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: expected a quantity such as 2 "
       "or 500m, got boolean"},
      {"Word", R"({"spec":{"stopPolicy":"Stop"}})",
       "spec.stopPolicy: \"Stop\" is not one of None, Hold, HoldAndDrain"},
      {"Label", R"({"metadata":{"labels":{"a":1}}})",
       "metadata.labels.a: expected a string, got number"},
      {"Int", R"({"status":{"pendingWorkloads":3000000000}})",
       "status.pendingWorkloads: the integer does not fit 32 bits"},
      {"Time", R"({"metadata":{"creationTimestamp":"soon"}})",
       "metadata.creationTimestamp: \"soon\" is not an RFC 3339 time"},
  };
  for (const BadCase& c : cases) {
    const auto queue = Decode<ClusterQueue>(Json::parse(c.json));
    ASSERT_FALSE(queue) << c.name;
    EXPECT_EQ(queue.error(), (Error{ErrorCode::kInvalid, c.message})) << c.name;
  }
}

TEST(ProvisioningRequestConfigCodec, RetryDefaultsFillASparseStrategy) {
  const auto config = Decode<ProvisioningRequestConfig>(R"({"metadata":{"name":"c"},
    "spec":{"provisioningClassName":"queued-provisioning.gke.io",
            "retryStrategy":{"backoffLimitCount":1},"podSetMergePolicy":"IdenticalPodTemplates",
            "podSetUpdates":{"nodeSelector":[{"key":"k","valueFromProvisioningClassDetail":"d"}]}}
  })"_json);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->backoff_limit_count, 1);
  EXPECT_EQ(config->backoff_base_seconds, 60);
  EXPECT_EQ(config->backoff_max_seconds, 1800);
  EXPECT_EQ(config->pod_set_merge_policy,
            ProvisioningRequestConfig::MergePolicy::kIdenticalPodTemplates);
  ASSERT_EQ(config->node_selector_updates.size(), 1U);
}

TEST(PodTemplateCodec, UnknownFieldsSurviveEdits) {
  const Json text = R"({"metadata":{"labels":{"a":"b"}},"spec":{
    "hostNetwork":true,"nodeSelector":{"zone":"x"},
    "containers":[{"name":"c","command":["sh"],"resources":{"limits":{"cpu":"2"}}}]}})"_json;
  auto decoded = Decode<PodTemplate>(text);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(Encode(*decoded), text);
  decoded->spec.node_selector = {{"pool", "t4"}};
  decoded->spec.tolerations = {{"nvidia.com/gpu", "Exists", "", "NoSchedule", std::nullopt}};
  decoded->spec.containers[0].requests = {{"cpu", 2000}};
  decoded->labels.clear();
  const Json want = R"({"metadata":{},"spec":{
    "hostNetwork":true,"nodeSelector":{"pool":"t4"},
    "tolerations":[{"key":"nvidia.com/gpu","operator":"Exists","effect":"NoSchedule"}],
    "containers":[{"name":"c","command":["sh"],
                   "resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}]}})"_json;
  EXPECT_EQ(Encode(*decoded), want);
}

TEST(PodTemplateCodec, EncodesATemplateBuiltInCode) {
  PodTemplate made;
  made.labels = {{"a", "b"}};
  made.spec.containers = {{.name = "c", .image = "sleep", .requests = {{"memory", 1 << 30}}}};
  made.spec.scheduling_gates = {"g"};
  EXPECT_EQ(Encode(made), R"({"metadata":{"labels":{"a":"b"}},"spec":{
    "schedulingGates":[{"name":"g"}],
    "containers":[{"name":"c","image":"sleep","resources":{"requests":{"memory":"1Gi"}}}]}})"_json);
}

TEST(JobCodec, ReadsSpecAndStatus) {
  const auto job = Decode<Job>(R"({"metadata":{"name":"j","namespace":"n","ownerReferences":[
      {"apiVersion":"v1","kind":"K","name":"o","uid":"u","controller":true}]},
    "spec":{"suspend":true,"parallelism":3,"completionMode":"Indexed",
      "template":{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":1}}}],
        "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
          {"nodeSelectorTerms":[{"matchExpressions":[{"key":"z","operator":"In","values":["a"]}]}]},
          "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":7,"preference":
            {"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}}]}}}}},
    "status":{"active":2,"uncountedTerminatedPods":{"succeeded":["a","b"]},
      "startTime":"2026-01-01T00:00:00Z","completedIndexes":"0,2-4"}})"_json);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_TRUE(job->suspend);
  EXPECT_EQ(job->parallelism, 3);
  EXPECT_EQ(job->completions, std::nullopt);
  EXPECT_EQ(job->uncounted_succeeded, 2);
  EXPECT_EQ(job->start_time, ParseTime("2026-01-01T00:00:00Z"));
  EXPECT_EQ(ControllerOf(job->meta)->name, "o");
  const PodSpec& spec = job->pod_template.spec;
  EXPECT_EQ(spec.containers[0].requests, (ResourceAmounts{{"cpu", 1000}}));
  ASSERT_TRUE(spec.required_node_affinity.has_value());
  EXPECT_EQ(spec.required_node_affinity->at(0).match_expressions.at(0).key, "z");
  EXPECT_EQ(spec.preferred_node_affinity,
            (std::vector<PreferredNodes>{
                {7, {.match_expressions = {}, .match_fields = {{"metadata.name", "In", {"n"}}}}}}));
}

TEST(OtherKindsCodec, ReadsNodesNamespacesAndPriorityClasses) {
  const auto node = Decode<Node>(R"({"metadata":{"name":"n"},"spec":{"unschedulable":true,
    "taints":[{"key":"k","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"3920m",
    "pods":"110"}}})"_json);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->allocatable, (ResourceAmounts{{"cpu", 3920}, {"pods", 110}}));
  const auto space = Decode<Namespace>(R"({"metadata":{"name":"n"},
    "status":{"phase":"Terminating"}})"_json);
  ASSERT_TRUE(space);
  EXPECT_TRUE(space->terminating);
  const auto priority =
      Decode<WorkloadPriorityClass>(R"({"metadata":{"name":"p"},"value":-7})"_json);
  ASSERT_TRUE(priority);
  EXPECT_EQ(priority->value, -7);
}

// Both readers see them: watches read without a tree.
TEST(PodCodec, ReportsWhetherAPodHasResourceClaims) {
  for (const auto& [claims, seen] : {std::pair{R"([{"name":"gpu"}])", true}, {"[]", false}}) {
    const std::string text =
        std::string(R"({"metadata":{"name":"p"},"spec":{"resourceClaims":)") + claims + "}}";
    JsonText flat;
    const auto root = flat.Parse(text);
    ASSERT_TRUE(root);
    const auto pod = Decode<Pod>(**root);
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->spec.resource_claims, seen);
    EXPECT_EQ(Decode<Pod>(nlohmann::json::parse(text))->spec.resource_claims, seen);
  }
}

TEST(DeviceCodec, EveryClaimOfAPodIsRead) {
  nlohmann::json claims = nlohmann::json::array();
  for (int i = 0; i < 1000; ++i) claims.push_back({{"resourceClaimTemplateName", "t"}});
  claims.push_back({{"resourceClaimName", "c"}});
  const auto pods = Decode<PodTemplate>(nlohmann::json{{"spec", {{"resourceClaims", claims}}}});
  ASSERT_TRUE(pods);
  EXPECT_TRUE(pods->spec.resource_claims);
  ASSERT_EQ(pods->spec.claims.size(), 1001U);
  EXPECT_EQ(pods->spec.claims.front(), (PodClaim{"t", ""}));
  EXPECT_EQ(pods->spec.claims.back(), (PodClaim{"", "c"}));
}

// A request for a part of a device's capacity is read as one for the devices, as Kueue counts it
// while its gate KueueDRAIntegrationConsumableCapacity is off.
TEST(DeviceCodec, ReadsTheRequestsOfAClaim) {
  const auto claim = Decode<ResourceClaimTemplate>(R"({"metadata":{"name":"t"},"spec":{"spec":{
    "devices":{"requests":[
      {"name":"a","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":2,
        "capacity":{"requests":{"memory":"10Gi"}},
        "selectors":[{"cel":{"expression":"true"}}]}},
      {"name":"b","firstAvailable":[{"name":"x","deviceClassName":"c","count":1}]},
      {"name":"d","exactly":{"deviceClassName":"e","allocationMode":"All","adminAccess":true}},
      {"name":"f"}]}}}})"_json);
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(
      claim->requests,
      (std::vector<DeviceRequest>{
          {.exactly = true,
           .device_class = "c",
           .allocation_mode = "ExactCount",
           .count = 2,
           .selectors = {"true"}},
          {.first_available = true},
          {.exactly = true, .device_class = "e", .allocation_mode = "All", .admin_access = true},
          {}}));
}

TEST(DeviceCodec, ReadsDeviceClassesAndResourceSlices) {
  const auto of_class = Decode<DeviceClass>(R"({"metadata":{"name":"c"},"spec":{
    "selectors":[{"cel":{"expression":"true"}},{"other":{}}],"extendedResourceName":"e/r"}})"_json);
  ASSERT_TRUE(of_class);
  EXPECT_EQ(of_class->selectors, (std::vector<std::string>{"true"}));
  EXPECT_EQ(of_class->extended_resource, "e/r");
  const auto slice = Decode<ResourceSlice>(R"({"metadata":{"name":"s"},"spec":{"driver":"d",
    "pool":{"name":"p","generation":3,"resourceSliceCount":2},"devices":[{"name":"g",
      "attributes":{"a":{"bool":true},"b":{"int":7},"c":{"string":"x"},"d":{"version":"1.2.3"}},
      "capacity":{"memory":{"value":"80Gi"}},
      "consumesCounters":[{"counterSet":"k","counters":{"memory":{"value":"1Ki"}}},
                          {"counterSet":"l","counters":{"memory":{"value":"2Ki"}}}]}]}})"_json);
  ASSERT_TRUE(slice) << slice.error().message;
  EXPECT_EQ(slice->pool, "p");
  EXPECT_EQ(slice->pool_generation, 3);
  EXPECT_EQ(slice->pool_slices, 2);
  const Device wanted{.name = "g",
                      .attributes = {{"a", true},
                                     {"b", std::int64_t{7}},
                                     {"c", std::string("x")},
                                     {"d", DeviceVersion{"1.2.3"}}},
                      .capacity = {{"memory", "80Gi"}},
                      .counters = {{"memory", 2048}}};
  EXPECT_EQ(slice->devices, (std::vector<Device>{wanted}));
}

TEST(QueueStatusCodec, OnlyClusterQueueStatusHasBorrowed) {
  const QueueStatus status{.flavors_usage = {{"f", {{"cpu", 1500, 500}}}}, .pending_workloads = 2};
  EXPECT_EQ(
      EncodeClusterQueueStatus(status)["flavorsUsage"],
      R"([{"name":"f","resources":[{"name":"cpu","total":"1500m","borrowed":"500m"}]}])"_json);
  EXPECT_EQ(EncodeLocalQueueStatus(status)["flavorsUsage"],
            R"([{"name":"f","resources":[{"name":"cpu","total":"1500m"}]}])"_json);
}

}  // namespace
}  // namespace berth::api
