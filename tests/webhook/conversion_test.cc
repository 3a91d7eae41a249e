// Goal: every field that differs between v1beta1 and v1beta2, both ways; invalid ones are refused.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "webhook/version_conversion.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
constexpr char kV1[] = "kueue.x-k8s.io/v1beta1";
constexpr char kV2[] = "kueue.x-k8s.io/v1beta2";

struct ConversionCase {
  std::string name;
  std::string kind;
  std::string v1;        // without apiVersion and kind
  std::string v2;        // v1 converted
  std::string v1_again;  // v2 converted; empty: v1
};
void PrintTo(const ConversionCase& c, std::ostream* out) { *out << c.name; }

class ConversionTest : public ::testing::TestWithParam<ConversionCase> {};

Json Object(const char* version, const std::string& kind, const std::string& text) {
  Json object = Json::parse(text);
  object["apiVersion"] = version;
  object["kind"] = kind;
  return object;
}

TEST_P(ConversionTest, ConvertsUpAndDown) {
  const ConversionCase& c = GetParam();
  const Json v1 = Object(kV1, c.kind, c.v1);
  const Json v2 = Object(kV2, c.kind, c.v2);
  const auto up = Convert(v1, kV2);
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_EQ(*up, v2) << up->dump(2);
  const auto down = Convert(v2, kV1);
  ASSERT_TRUE(down) << down.error().message;
  EXPECT_EQ(*down, c.v1_again.empty() ? v1 : Object(kV1, c.kind, c.v1_again)) << down->dump(2);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ConversionTest,
    ::testing::ValuesIn(std::vector<ConversionCase>{
        {"Cohort", "ClusterQueue", R"({"spec":{"cohort":"org","x":1}})",
         R"({"spec":{"cohortName":"org","x":1}})", ""},
        {"FlatChecks", "ClusterQueue", R"({"spec":{"admissionChecks":["dws-prov","b"]}})",
         R"({"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"dws-prov"},{"name":"b"}]}}})",
         R"({"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"dws-prov"},{"name":"b"}]}}})"},
        {"FlatChecksAppliedAgain", "ClusterQueue",
         R"({"spec":{"admissionChecks":["dws-prov"],"admissionChecksStrategy":{"admissionChecks":[{"name":"dws-prov"}]}}})",
         R"({"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"dws-prov"}]}}})",
         R"({"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"dws-prov"}]}}})"},
        {"NoFlatChecks", "ClusterQueue",
         R"({"spec":{"admissionChecks":[],"admissionChecksStrategy":{"admissionChecks":[{"name":"a","onFlavors":["f"]}]}}})",
         R"({"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"a","onFlavors":["f"]}]}}})",
         R"({"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"a","onFlavors":["f"]}]}}})"},
        {"EmptyChecks", "ClusterQueue",
         R"({"spec":{"admissionChecks":[],"admissionChecksStrategy":{}}})", R"({"spec":{}})",
         R"({"spec":{}})"},
        {"OldWords", "ClusterQueue",
         R"({"spec":{"flavorFungibility":{"whenCanBorrow":"Borrow","whenCanPreempt":"Preempt"}}})",
         R"({"spec":{"flavorFungibility":{"whenCanBorrow":"MayStopSearch","whenCanPreempt":"MayStopSearch"}}})",
         R"({"spec":{"flavorFungibility":{"whenCanBorrow":"MayStopSearch","whenCanPreempt":"MayStopSearch"}}})"},
        {"QueueStatus", "ClusterQueue",
         R"({"status":{"pendingWorkloadsStatus":{},"fairSharing":{"weightedShare":1,"admissionFairSharingStatus":{}}}})",
         R"({"status":{"fairSharing":{"weightedShare":1}}})",
         R"({"status":{"fairSharing":{"weightedShare":1}}})"},
        {"LocalQueueUsage", "LocalQueue", R"({"status":{"flavorUsage":[{"name":"f"}]}})",
         R"({"status":{"flavorsUsage":[{"name":"f"}]}})", ""},
        {"LocalQueueFlavors", "LocalQueue", R"({"status":{"flavors":[{"name":"f"}]}})",
         R"({"status":{}})", R"({"status":{}})"},
        {"WorkloadClass", "Workload",
         R"({"spec":{"priorityClassName":"high","priorityClassSource":"kueue.x-k8s.io/workloadpriorityclass"}})",
         R"({"spec":{"priorityClassRef":{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"high"}}})",
         ""},
        {"PodClass", "Workload",
         R"({"spec":{"priorityClassName":"p","priorityClassSource":"scheduling.k8s.io/priorityclass"}})",
         R"({"spec":{"priorityClassRef":{"group":"scheduling.k8s.io","kind":"PriorityClass","name":"p"}}})",
         ""},
        {"NoSourceNoRef", "Workload",
         R"({"spec":{"priorityClassName":"p","priorityClassSource":""}})", R"({"spec":{}})",
         R"({"spec":{}})"},
        {"Typo", "Workload", R"({"status":{"accumulatedPastExexcutionTimeSeconds":7}})",
         R"({"status":{"accumulatedPastExecutionTimeSeconds":7}})", ""},
        {"TopologyIndividual", "Workload",
         R"({"status":{"admission":{"podSetAssignments":[{"name":"main","topologyAssignment":{
             "levels":["block","rack"],"domains":[{"values":["b1","r1"],"count":4},
             {"values":["b1","r2"],"count":2}]}}]}}})",
         R"({"status":{"admission":{"podSetAssignments":[{"name":"main","topologyAssignment":{
             "levels":["block","rack"],"slices":[{"domainCount":2,
             "podCounts":{"individual":[4,2]},"valuesPerLevel":[{"universal":"b1"},
             {"individual":{"roots":["r1","r2"]}}]}]}}]}}})",
         ""},
        {"TopologyUniversal", "Workload",
         R"({"status":{"admission":{"podSetAssignments":[{"topologyAssignment":{
             "levels":["host"],"domains":[{"values":["x"],"count":1}]}}]}}})",
         R"({"status":{"admission":{"podSetAssignments":[{"topologyAssignment":{
             "levels":["host"],"slices":[{"domainCount":1,"podCounts":{"universal":1},
             "valuesPerLevel":[{"universal":"x"}]}]}}]}}})",
         ""},
        {"ClusterSource", "MultiKueueCluster",
         R"({"spec":{"kubeConfig":{"location":"x","locationType":"Secret"}}})",
         R"({"spec":{"clusterSource":{"kubeConfig":{"location":"x","locationType":"Secret"}}}})",
         ""},
        {"ClusterProfile", "MultiKueueCluster",
         R"({"spec":{"clusterProfileRef":{"name":"p"},
             "kubeConfig":{"location":"","locationType":"Secret"}}})",
         R"({"spec":{"clusterSource":{"clusterProfileRef":{"name":"p"}}}})", ""},
        {"OthersAreTheSame", "ResourceFlavor", R"({"spec":{"nodeLabels":{"a":"b"}}})",
         R"({"spec":{"nodeLabels":{"a":"b"}}})", ""},
    }),
    [](const auto& row) { return row.param.name; });

TEST(ConversionEdgeTest, PrefixAndSuffixAreExpanded) {
  const Json v2 = Object(kV2, "Workload", R"({"status":{"admission":{"podSetAssignments":[{
      "topologyAssignment":{"levels":["host"],"slices":[{"domainCount":2,
      "podCounts":{"universal":1},"valuesPerLevel":[{"individual":{"prefix":"n-","suffix":".x",
      "roots":["1","2"]}}]}]}}]}}})");
  const auto down = Convert(v2, kV1);
  ASSERT_TRUE(down);
  EXPECT_EQ((*down)["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]["domains"],
            Json::parse(R"([{"values":["n-1.x"],"count":1},{"values":["n-2.x"],"count":1}])"));
}

TEST(ConversionEdgeTest, RejectsInvalidObjects) {
  EXPECT_FALSE(Convert(Json("text"), kV2));
  EXPECT_FALSE(Convert(Json{{"apiVersion", kV1}, {"kind", 7}}, kV2));
  const auto version =
      Convert(Json{{"apiVersion", "kueue.x-k8s.io/v1alpha1"}, {"kind", "Cohort"}}, kV2);
  ASSERT_FALSE(version);
  EXPECT_NE(version.error().message.find("v1alpha1"), std::string::npos);
  // Inconsistent counts and values.
  const Json broken = Object(kV2, "Workload", R"({"status":{"admission":{"podSetAssignments":[{
      "topologyAssignment":{"levels":["host"],"slices":[{"domainCount":2,
      "podCounts":{"individual":[1]},"valuesPerLevel":[{"universal":"x"}]}]}}]}}})");
  EXPECT_FALSE(Convert(broken, kV1));
  const Json levels = Object(kV1, "Workload", R"({"status":{"admission":{"podSetAssignments":[{
      "topologyAssignment":{"levels":["a","b"],"domains":[{"values":["x"],"count":1}]}}]}}})");
  EXPECT_FALSE(Convert(levels, kV2));
}

TEST(ConversionReviewTest, AnswersInOrder) {
  const Json review = {
      {"request",
       {{"uid", "u1"},
        {"desiredAPIVersion", kV2},
        {"objects",
         {{{"apiVersion", kV1}, {"kind", "Cohort"}, {"metadata", {{"name", "a"}}}},
          {{"apiVersion", kV2}, {"kind", "Cohort"}, {"metadata", {{"name", "b"}}}}}}}}};
  const Json response = AnswerConversion(review)["response"];
  EXPECT_EQ(response["uid"], "u1");
  EXPECT_EQ(response["result"]["status"], "Success");
  ASSERT_EQ(response["convertedObjects"].size(), 2U);
  EXPECT_EQ(response["convertedObjects"][0]["apiVersion"], kV2);
  EXPECT_EQ(response["convertedObjects"][1]["metadata"]["name"], "b");
}

TEST(ConversionReviewTest, InvalidReviewFailsWithItsUidAndTheCause) {
  EXPECT_EQ(AnswerConversion(Json("x"))["response"]["result"]["status"], "Failed");
  EXPECT_EQ(AnswerConversion(Json::object())["response"]["result"]["status"], "Failed");
  const Json review = {
      {"request", {{"uid", "u"}, {"desiredAPIVersion", "x/v1"}, {"objects", {{{"kind", "A"}}}}}}};
  const Json response = AnswerConversion(review)["response"];
  EXPECT_EQ(response["result"]["status"], "Failed");
  EXPECT_EQ(response["result"]["message"], "object without apiVersion and kind");
  EXPECT_EQ(response["uid"], "u");
}

}  // namespace
}  // namespace berth::webhook
