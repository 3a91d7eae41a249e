// Goal: the record says of an eviction how long its victim held quota, who got the room, and
// whether a later decision would have made it needless. Method: stories of three workloads.
#include "tests/load/eviction_record.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace berth::sim {
namespace {

using namespace std::chrono_literals;

SteadyTime At(int seconds) { return SteadyTime(std::chrono::seconds(seconds)); }

// "victim" gets 4 at second 10 and is evicted for "owner" at second 30.
EvictionRecord Begun(int owner_created) {
  EvictionRecord record;
  record.Created("victim", 0, At(0));
  record.Created("other", 0, At(0));
  if (owner_created < 10) record.Created("owner", 10, At(owner_created));
  record.Reserved("other", "cohort", 4, At(5));
  record.Reserved("victim", "cohort", 4, At(10));
  if (owner_created >= 10) record.Created("owner", 10, At(owner_created));
  record.Started("victim");
  record.Evicted("victim", "InCohortReclamation", "owner", At(30));
  return record;
}

nlohmann::json Row(const EvictionRecord& record) { return record.Table()["InCohortReclamation"]; }

TEST(EvictionRecordTest, PreemptorThatReservesIsCountedWithItsDelay) {
  EvictionRecord record = Begun(20);
  record.Reserved("owner", "cohort", 4, At(32));
  EXPECT_EQ(Row(record), nlohmann::json::parse(R"({
      "evictions": 1, "had_started": 1, "held_s": {"mean": 20.0, "max": 20.0},
      "room": {"preemptor_got_it": 1, "after_s": 2.0, "lower_priority_got_quota_first": 0,
               "nobody_yet": 0},
      "avoidable": {"preemptor_came_first": 0, "room_came_anyway": 0}})"));
}

TEST(EvictionRecordTest, PreemptorCreatedBeforeTheVictimsAdmissionIsCounted) {
  EXPECT_EQ(Row(Begun(5))["avoidable"]["preemptor_came_first"], 1);
}

TEST(EvictionRecordTest, EndOfAnotherJobCountsUntilThePreemptorHasQuota) {
  EvictionRecord early = Begun(20);
  early.Ended("other");
  early.Reserved("owner", "cohort", 4, At(32));
  EXPECT_EQ(Row(early)["avoidable"]["room_came_anyway"], 1);
  EvictionRecord late = Begun(20);
  late.Reserved("owner", "cohort", 4, At(32));
  late.Ended("other");
  EXPECT_EQ(Row(late)["avoidable"]["room_came_anyway"], 0);
}

TEST(EvictionRecordTest, LowerPriorityThatReservesFirstIsCounted) {
  EvictionRecord record = Begun(20);
  record.Reserved("victim", "cohort", 4, At(31));
  EXPECT_EQ(Row(record)["room"]["lower_priority_got_quota_first"], 1);
  EXPECT_EQ(Row(record)["room"]["nobody_yet"], 1);
  record.Evicted("victim", "InCohortReclamation", "owner", At(31));
  record.Reserved("owner", "cohort", 4, At(33));
  EXPECT_EQ(Row(record)["evictions"], 2);
  EXPECT_EQ(Row(record)["had_started"], 1) << "only the first admission was followed by a start";
  EXPECT_EQ(Row(record)["room"]["preemptor_got_it"], 2);
}

TEST(EvictionRecordTest, OtherCohortsDoNotCount) {
  EvictionRecord record = Begun(20);
  record.Created("far", 0, At(30));
  record.Reserved("far", "another", 4, At(31));
  record.Ended("far");
  EXPECT_EQ(Row(record)["room"]["lower_priority_got_quota_first"], 0);
  EXPECT_EQ(Row(record)["avoidable"]["room_came_anyway"], 0);
}

}  // namespace
}  // namespace berth::sim
