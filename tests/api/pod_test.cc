// Goal: a pod's requests and node constraints, at the edges of Kubernetes' rules.
#include "api/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::api {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(PodRequests, SumsContainersAndTakesLimitsForMissingRequests) {
  PodSpec spec;
  spec.containers = {{.name = "a", .requests = {{"cpu", 100}}, .limits = {{"nvidia.com/gpu", 1}}},
                     {.name = "b", .requests = {{"cpu", 200}}}};
  spec.overhead = {{"cpu", 5}};
  EXPECT_THAT(PodRequests(spec), ElementsAre(Pair("cpu", 305), Pair("nvidia.com/gpu", 1)));
}

TEST(PodRequests, AnInitContainerCountsOnlyWhereItIsTheHighest) {
  PodSpec spec;
  spec.containers = {{.name = "a", .requests = {{"cpu", 100}}}};
  spec.init_containers = {
      {.name = "sidecar", .restart_policy = "Always", .requests = {{"cpu", 10}}},
      {.name = "init", .requests = {{"cpu", 300}}}};
  EXPECT_THAT(PodRequests(spec), ElementsAre(Pair("cpu", 310)));
  spec.init_containers[1].requests = {{"cpu", 50}};
  EXPECT_THAT(PodRequests(spec), ElementsAre(Pair("cpu", 110)));
}

TEST(PodRequests, PodLevelResourcesReplaceThoseOfContainers) {
  PodSpec spec;
  spec.containers = {{.name = "a", .requests = {{"cpu", 100}, {"memory", 7}}}};
  spec.pod_requests = {{"cpu", 1000}};
  EXPECT_THAT(PodRequests(spec), ElementsAre(Pair("cpu", 1000), Pair("memory", 7)));
}

TEST(PodRequests, LimitsOfThePodCountWhereItsRequestsAreMissing) {
  PodSpec spec;
  spec.containers = {{.name = "a", .requests = {{"cpu", 100}, {"memory", 7}}}};
  spec.pod_requests = {{"cpu", 200}};
  spec.pod_limits = {{"cpu", 1000}, {"memory", 9}};
  EXPECT_THAT(PodRequests(spec), ElementsAre(Pair("cpu", 200), Pair("memory", 9)));
}

// Each negative amount would lower the sum of the others.
TEST(PodRequests, NegativeAmountsCountAsNone) {
  PodSpec spec;
  spec.containers = {{.name = "a", .requests = {{"cpu", 100}}},
                     {.name = "b", .requests = {{"cpu", -90}}, .limits = {{"memory", -5}}}};
  spec.overhead = {{"cpu", -10}};
  EXPECT_THAT(PodRequests(spec), ElementsAre(Pair("cpu", 100), Pair("memory", 0)));
  spec.pod_requests = {{"cpu", -1}};
  spec.pod_limits = {{"gpu", -1}};
  EXPECT_THAT(PodRequests(spec), ElementsAre(Pair("cpu", 0), Pair("gpu", 0), Pair("memory", 0)));
}

TEST(Tolerations, MatchByKeyValueAndEffect) {
  const Taint taint{"nvidia.com/gpu", "present", "NoSchedule"};
  EXPECT_TRUE(Tolerates({.key = "nvidia.com/gpu", .op = "Exists"}, taint));
  EXPECT_TRUE(Tolerates({.op = "Exists"}, taint));
  EXPECT_TRUE(Tolerates({.key = "nvidia.com/gpu", .value = "present"}, taint));
  EXPECT_FALSE(Tolerates({.key = "nvidia.com/gpu", .value = "absent"}, taint));
  EXPECT_FALSE(Tolerates({.key = "nvidia.com/gpu", .op = "Exists", .effect = "NoExecute"}, taint));
  const Taint reliability{"sla", "950", "NoSchedule"};
  EXPECT_TRUE(Tolerates({.key = "sla", .op = "Gt", .value = "900"}, reliability));
  EXPECT_FALSE(Tolerates({.key = "sla", .op = "Gt", .value = "950"}, reliability));
  EXPECT_TRUE(Tolerates({.key = "sla", .op = "Lt", .value = "951"}, reliability));
  EXPECT_FALSE(Tolerates({.key = "sla", .op = "Gt", .value = "high"}, reliability));
  EXPECT_FALSE(Tolerates({.key = "nvidia.com/gpu", .op = "Gt", .value = "1"}, taint));
}

TEST(NodeSelectorRequirements, MatchLabelsByTheirOperator) {
  const StringMap labels{{"zone", "a"}, {"cores", "8"}};
  EXPECT_TRUE(Matches({"zone", "In", {"a", "b"}}, labels));
  EXPECT_FALSE(Matches({"zone", "NotIn", {"a"}}, labels));
  EXPECT_TRUE(Matches({"rack", "NotIn", {"a"}}, labels));
  EXPECT_TRUE(Matches({"cores", "Gt", {"4"}}, labels));
  EXPECT_FALSE(Matches({"cores", "Lt", {"8"}}, labels));
  EXPECT_TRUE(Matches({"rack", "DoesNotExist", {}}, labels));
}

}  // namespace
}  // namespace berth::api
