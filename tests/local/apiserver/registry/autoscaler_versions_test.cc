// Goal: an autoscaler that is read and written in the old version loses nothing, and has the places
// that Kubernetes gives its parts. Method: whole objects there and back.
#include "local/apiserver/registry/autoscaler_versions.h"

#include <gtest/gtest.h>

namespace berth::local {
namespace {

Json Autoscaler(const char* version, Json spec, Json status) {
  return {{"apiVersion", version},
          {"kind", "HorizontalPodAutoscaler"},
          {"metadata", {{"name", "web"}}},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

Json Full() {
  const Json labels{{"matchLabels", {{"a", "b"}}}};
  const Json target{{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "web"}};
  return Autoscaler("autoscaling/v2",
                    {{"scaleTargetRef", target},
                     {"maxReplicas", 5},
                     {"behavior", {{"scaleUp", {{"stabilizationWindowSeconds", 3}}}}},
                     {"metrics",
                      {{{"type", "Pods"},
                        {"pods",
                         {{"metric", {{"name", "hits"}, {"selector", labels}}},
                          {"target", {{"type", "AverageValue"}, {"averageValue", "10"}}}}}},
                       {{"type", "Object"},
                        {"object",
                         {{"describedObject", target},
                          {"metric", {{"name", "queue"}}},
                          {"target", {{"type", "Value"}, {"value", "7"}}}}}},
                       {{"type", "External"},
                        {"external",
                         {{"metric", {{"name", "bill"}, {"selector", labels}}},
                          {"target", {{"type", "AverageValue"}, {"averageValue", "2"}}}}}},
                       {{"type", "ContainerResource"},
                        {"containerResource",
                         {{"name", "memory"},
                          {"container", "c"},
                          {"target", {{"type", "Utilization"}, {"averageUtilization", 40}}}}}},
                       {{"type", "Resource"},
                        {"resource",
                         {{"name", "cpu"},
                          {"target", {{"type", "Utilization"}, {"averageUtilization", 60}}}}}}}}},
                    {{"currentReplicas", 2},
                     {"currentMetrics",
                      {{{"type", "Resource"},
                        {"resource",
                         {{"name", "cpu"},
                          {"current", {{"averageUtilization", 55}, {"averageValue", "550m"}}}}}}}},
                     {"conditions", {{{"type", "AbleToScale"}, {"status", "True"}}}}});
}

TEST(AutoscalerVersionsTest, ConvertsToVersionOneAndBack) {
  const Json whole = Full();
  Json object = whole;
  ConvertAutoscaler(object, "autoscaling/v1");
  EXPECT_EQ(object["apiVersion"], "autoscaling/v1");
  EXPECT_EQ(object["spec"], (Json{{"scaleTargetRef", whole["spec"]["scaleTargetRef"]},
                                  {"maxReplicas", 5},
                                  {"targetCPUUtilizationPercentage", 60}}));
  EXPECT_EQ(object["status"],
            (Json{{"currentReplicas", 2}, {"currentCPUUtilizationPercentage", 55}}));
  const Json metrics =
      Json::parse(object["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"]
                      .get<std::string>());
  EXPECT_EQ(metrics[0], (Json{{"type", "Pods"},
                              {"pods",
                               {{"metricName", "hits"},
                                {"selector", {{"matchLabels", {{"a", "b"}}}}},
                                {"targetAverageValue", "10"}}}}));
  EXPECT_EQ(metrics[1]["object"]["targetValue"], "7");
  EXPECT_EQ(metrics[3]["containerResource"]["targetAverageUtilization"], 40);
  ConvertAutoscaler(object, "autoscaling/v2");
  EXPECT_EQ(object, whole);
}

TEST(AutoscalerVersionsTest, VersionOneWithoutATargetGetsTheCpuMetric) {
  Json object = Autoscaler("autoscaling/v1", {{"maxReplicas", 1}}, Json::object());
  ConvertAutoscaler(object, "autoscaling/v2");
  const Json cpu{
      {"type", "Resource"},
      {"resource",
       {{"name", "cpu"}, {"target", {{"type", "Utilization"}, {"averageUtilization", 80}}}}}};
  EXPECT_EQ(object["spec"]["metrics"], Json::array({cpu}));
}

TEST(AutoscalerVersionsTest, UnreadableAnnotationsCountAsAbsent) {
  Json object =
      Autoscaler("autoscaling/v1", {{"maxReplicas", 1}, {"targetCPUUtilizationPercentage", 30}},
                 Json::object());
  object["metadata"]["annotations"] = {{"autoscaling.alpha.kubernetes.io/metrics", "{"},
                                       {"autoscaling.alpha.kubernetes.io/behavior", "[1]"},
                                       {"autoscaling.alpha.kubernetes.io/conditions", "7"},
                                       {"kept", "x"}};
  ConvertAutoscaler(object, "autoscaling/v2");
  EXPECT_EQ(object["metadata"]["annotations"], (Json{{"kept", "x"}}));
  EXPECT_EQ(object["spec"]["metrics"].size(), 1U);
  EXPECT_FALSE(object["spec"].contains("behavior"));
  EXPECT_FALSE(object["status"].contains("conditions"));
}

}  // namespace
}  // namespace berth::local
