// Goal: a plan is read back as written; any other text of the annotation is ignored. Method: a
// round trip of plans, and a table of texts that each violate the format once.
#include "admission/controller/notes/plan_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"

namespace berth::admission {
namespace {

using Json = nlohmann::json;

KeptPlan Plan() {
  KeptPlan plan;
  plan.generation = 3;
  plan.cluster_queue = "a";
  plan.waiting_since = *ParseTime("2026-11-20T07:03:22Z");
  plan.progress_at = *ParseTime("2026-11-20T07:05:00Z");
  plan.pod_sets = {{"main", 2, {{"cpu", "spot"}, {"memory", "spot"}}}, {"leader", 1, {}}};
  plan.victims = {{"u-1", "b", {{"spot", {{"cpu", 4000}, {"memory", 1}}}}}, {"u-2", "c", {}}};
  return plan;
}

TEST(PlanJson, DecodesTheEncodedPlan) {
  EXPECT_EQ(DecodePlan(EncodePlan(Plan())), Plan());
  KeptPlan paused = Plan();
  paused.pauses = 2;
  paused.paused_until = *ParseTime("2026-11-20T07:25:00Z");
  EXPECT_EQ(DecodePlan(EncodePlan(paused)), paused);
  paused.pod_sets.clear();
  paused.victims.clear();
  paused.progress_at = {};
  EXPECT_EQ(DecodePlan(EncodePlan(paused)), paused) << "a pause alone";
}

TEST(PlanJson, RejectsTextsThatAreNoPlan) {
  const auto with = [](const char* pointer, const Json& value) {
    Json json = Json::parse(EncodePlan(Plan()));
    json[Json::json_pointer(pointer)] = value;
    return json.dump();
  };
  const auto without = [](const char* key) {
    Json json = Json::parse(EncodePlan(Plan()));
    json.erase(key);
    return json.dump();
  };
  const std::string rows[] = {
      "",
      "null",
      "[]",
      "{}",
      "{\"generation\": 1",
      without("generation"),
      without("clusterQueue"),
      without("waitingSince"),
      without("progress"),
      without("victims"),
      with("/generation", "1"),
      with("/generation", -1),
      with("/generation", 1.5),
      with("/waitingSince", "yesterday"),
      with("/waitingSince", 7),
      with("/progress", Json()),
      with("/clusterQueue", Json::array()),
      with("/podSets", "main"),
      with("/podSets/0", 1),
      with("/podSets/0/count", -1),
      with("/podSets/0/count", 4294967297),
      with("/podSets/0/flavors", Json::array()),
      with("/podSets/0/flavors/cpu", 1),
      with("/victims", Json::object()),
      with("/victims/0/uid", 1),
      with("/victims/0/usage", 1),
      with("/victims/0/usage/spot", 1),
      with("/victims/0/usage/spot/cpu", -1),
      with("/victims/0/usage/spot/cpu", "4"),
      with("/victims/0/usage/spot/cpu", 1e30),
      with("/victims", Json(KeptPlan::kMostVictims + 1, Json::object())),
      with("/pauses", 1),
      with("/pauses", 100000),
      std::string(kMaxPlanBytes + 1, ' '),
      std::string(300, '[') + std::string(300, ']'),
      with("/podSets/0/flavors/cpu", Json::parse(R"([[[[[[[[[[1]]]]]]]]]])")),
  };
  for (const std::string& row : rows) EXPECT_EQ(DecodePlan(row), std::nullopt) << row;
  EXPECT_TRUE(DecodePlan(with("/unknown", "field")).has_value()) << "of a later version";
}

}  // namespace
}  // namespace berth::admission
