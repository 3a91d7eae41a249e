// Goal: a victim of fair sharing is lawful by its share and the preemptor's, else it is reported.
// Method: a history by hand for each row. cq and cq2 have 4 CPUs each in one cohort; the victim's
// CPUs are those of cq2, the preemptor waits in cq.
#include <gtest/gtest.h>

#include "tests/faults/history.h"

namespace berth::sim {
namespace {

constexpr char kQueues[] = "clusterqueues.kueue.x-k8s.io";

struct FairRow {
  const char* name;
  const char* asked;  // CPUs of the preemptor
  const char* weight;
  const char* within;  // withinClusterQueue of cq
  FairStrategies strategies;
  const char* broken;
};

class FairVictimTest : public HistoryTest, public ::testing::WithParamInterface<FairRow> {
 protected:
  FairVictimTest()
      : HistoryTest({.staleness = std::chrono::seconds(2),
                     .writes_per_minute = 20,
                     .fair_strategies = GetParam().strategies}) {}

  void PutHolder(const std::string& name, const std::string& queue, const std::string& cpu) {
    PutWorkload(name, "job-" + name, cpu, false);
    Change(kWorkloads, "default", name, "/status/admission/clusterQueue", queue);
  }
};

TEST_P(FairVictimTest, UnlawfulFairVictimIsDetected) {
  const FairRow& row = GetParam();
  Json spec = QueueSpec("4");
  spec["cohortName"] = "team";
  spec["fairSharing"]["weight"] = "1";
  Put(kQueues, "", "cq2", {{"spec", spec}});
  spec["preemption"] = {{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", row.within}};
  spec["fairSharing"]["weight"] = row.weight;
  Put(kQueues, "", "cq", {{"spec", spec}});
  Put("localqueues.kueue.x-k8s.io", "default", "q", {{"spec", {{"clusterQueue", "cq"}}}});
  PutHolder("victim", "cq", "1");  // admitted in a queue with quota, then moved
  Change(kWorkloads, "default", "victim", "/status/admission/clusterQueue", "cq2");
  PutHolder("wide", "cq", "4");
  Change(kWorkloads, "default", "wide", "/status/admission/clusterQueue", "cq2");
  PutHolder("own", "cq", "2");
  PutWorkload("preemptor", "job-preemptor", "", false);
  Change(kWorkloads, "default", "preemptor", "/spec/podSets", PodSets(row.asked));
  now_ += std::chrono::seconds(5);
  EXPECT_EQ(Broken(), "");
  Json condition = Condition("Preempted", true);
  condition["reason"] = "InCohortFairSharing";
  condition["message"] =
      "Preempted to accommodate a workload (UID: uid-of-preemptor, JobUID: x) due to …";
  Change(kWorkloads, "default", "victim", "/status/conditions/-", condition);
  EXPECT_EQ(Broken(), row.broken) << (Broken().empty() ? "" : invariants_.violation()->text);
}

constexpr char kUnlawful[] = "unlawful-victim";
constexpr FairStrategies kBoth;
constexpr FairStrategies kFinal{.final_share = true, .initial_share = false};
constexpr FairStrategies kInitial{.final_share = false, .initial_share = true};

// cq2 uses 5: its share is 125, without the victim 0. cq uses 2 of its 4.
INSTANTIATE_TEST_SUITE_P(
    Rows, FairVictimTest,
    ::testing::Values(FairRow{"WithinItsOwn", "2", "1", "Never", kFinal, ""},
                      FairRow{"ALittleMore", "2500m", "1", "Never", kBoth, ""},
                      FairRow{"ALittleMoreThanTheFinal", "2500m", "1", "Never", kFinal, kUnlawful},
                      FairRow{"LessThanTheInitial", "2500m", "1", "Never", kInitial, ""},
                      FairRow{"MoreThanTheVictim", "4", "1", "Never", kBoth, kUnlawful},
                      FairRow{"MoreByAGreaterWeight", "4", "3", "Never", kBoth, ""},
                      FairRow{"MoreByASmallerWeight", "2500m", "250m", "Never", kBoth, kUnlawful},
                      FairRow{"MoreWithoutAnyWeight", "2500m", "0", "Never", kBoth, kUnlawful},
                      FairRow{"AfterVictimsOfItsOwn", "4", "1", "LowerOrNewerEqualPriority", kBoth,
                              ""}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace berth::sim
