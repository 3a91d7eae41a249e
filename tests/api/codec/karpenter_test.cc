// Goal: Karpenter's NodePools and NodeClaims are read as Karpenter writes them, and a wrong field
// is named. Method: JSON texts.
#include "api/codec/karpenter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"

namespace berth::api {
namespace {

TEST(KarpenterCodec, ANodePoolIsRead) {
  const auto pool = Decode<KarpenterNodePool>(R"({"metadata": {"name": "g4-nodepool"},
    "spec": {"limits": {"cpu": "1000"},
      "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s", "budgets": [
        {"nodes": "10%"},
        {"nodes": "0", "reasons": ["Empty"], "schedule": "0 9 * * mon-fri", "duration": "8h"}]},
      "template": {
      "metadata": {"labels": {"nvidia.com/gpu": "true"}},
      "spec": {"expireAfter": "120m",
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "g4"},
        "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
        "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In",
                          "values": ["on-demand"], "minValues": 1}]}}},
    "status": {"resources": {"cpu": "4", "nodes": "1"},
      "conditions": [{"type": "Ready", "status": "False", "reason": "R", "message": "M"}]}})"_json);
  ASSERT_TRUE(pool) << pool.error().message;
  EXPECT_EQ(pool->meta.name, "g4-nodepool");
  EXPECT_EQ(pool->labels, (StringMap{{"nvidia.com/gpu", "true"}}));
  EXPECT_EQ(pool->taints, (std::vector<Taint>{{"nvidia.com/gpu", "true", "NoSchedule"}}));
  EXPECT_EQ(
      pool->requirements,
      (std::vector<NodeSelectorRequirement>{{"karpenter.sh/capacity-type", "In", {"on-demand"}}}));
  EXPECT_EQ(pool->limits, (ResourceAmounts{{"cpu", 1'000'000}}));
  EXPECT_EQ(pool->used, (ResourceAmounts{{"cpu", 4000}, {"nodes", 1}}));
  EXPECT_EQ(pool->expire_after, std::chrono::hours(2));
  EXPECT_FALSE(pool->consolidates);
  EXPECT_EQ(pool->budgets, (std::vector<KarpenterBudget>{{.nodes = "10%"},
                                                         {.nodes = "0",
                                                          .causes = {"Empty"},
                                                          .schedule = "0 9 * * mon-fri",
                                                          .duration = std::chrono::hours(8)}}));
  EXPECT_TRUE(IsFalse(pool->conditions, "Ready"));
}

TEST(KarpenterCodec, NodesMayNeverExpire) {
  for (const char* life : {"null", "\"Never\""}) {
    const auto pool = Decode<KarpenterNodePool>(nlohmann::json::parse(
        std::string(R"({"spec": {"template": {"spec": {"expireAfter": )") + life + "}}}}"));
    ASSERT_TRUE(pool);
    EXPECT_EQ(pool->expire_after, std::nullopt);
  }
}

TEST(KarpenterCodec, AWrongFieldIsNamed) {
  const auto pool = Decode<KarpenterNodePool>(
      R"({"spec": {"template": {"spec": {"expireAfter": "soon"}}}})"_json);
  ASSERT_FALSE(pool);
  EXPECT_EQ(pool.error().message,
            "spec.template.spec.expireAfter: \"soon\" is neither a duration, such as 720h, nor "
            "Never");
}

TEST(KarpenterCodec, ANodeClaimIsRead) {
  const auto claim = Decode<KarpenterNodeClaim>(R"({
    "metadata": {"name": "g4-x1", "labels": {"karpenter.sh/nodepool": "g4-nodepool"}},
    "status": {"nodeName": "node-1",
      "conditions": [{"type": "Launched", "status": "True", "reason": "Launched"}]}})"_json);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->node_name, "node-1");
  EXPECT_EQ(claim->meta.labels.at(kKarpenterNodePoolLabel), "g4-nodepool");
  EXPECT_TRUE(IsTrue(claim->conditions, "Launched"));
}

TEST(KarpenterCodec, ReadsEventsOfBothApiForms) {
  const auto old_form =
      Decode<ToldEvent>(R"({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
    "involvedObject": {"name": "p"}, "reason": "NotTriggerScaleUp", "message": "m",
    "source": {"component": "cluster-autoscaler"}, "lastTimestamp": "2026-01-01T00:01:00Z"})"_json);
  ASSERT_TRUE(old_form);
  EXPECT_EQ(old_form->about, "p");
  EXPECT_EQ(old_form->reporter, "cluster-autoscaler");
  EXPECT_EQ(FormatTime(old_form->at), "2026-01-01T00:01:00Z");
  const auto new_form = Decode<ToldEvent>(R"({"involvedObject": {"name": "p"}, "reason": "R",
    "reportingComponent": "karpenter", "eventTime": "2026-01-01T00:02:00.000000Z",
    "series": {"count": 2, "lastObservedTime": "2026-01-01T00:03:00.000000Z"}})"_json);
  ASSERT_TRUE(new_form);
  EXPECT_EQ(new_form->reporter, "karpenter");
  EXPECT_EQ(FormatTime(new_form->at), "2026-01-01T00:03:00Z");
}

}  // namespace
}  // namespace berth::api
