// Goal: the file of past forecasts is read as it was written or not at all, and starts that come
// true correct the next forecasts. Method: entries and clusters by hand.
#include "forecast/eta_scores.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "api/reasons.h"
#include "tests/view/view_builder.h"

namespace berth::forecast {
namespace {

using std::chrono::seconds;

EtaEntry Entry(const std::string& uid, std::int64_t seconds_ago) {
  return {.uid = uid,
          .at = ledger::ToSeconds(view::SecondsAgo(seconds_ago)),
          .raw = {seconds(10), seconds(20), seconds(30)},
          .told_p50 = seconds(20),
          .told_p90 = seconds(30)};
}

class EtaScoresTest : public ::testing::Test {
 protected:
  EtaScoresTest() { std::filesystem::remove(file_); }
  ~EtaScoresTest() override { std::filesystem::remove(file_); }

  const std::string file_ = ::testing::TempDir() + "/eta-scores-" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(EtaScoresTest, FormattedEntriesParseToTheSameEntries) {
  std::vector<EtaEntry> entries{Entry("a", 100), Entry("b", 50)};
  entries[1].wait = 7;
  entries[1].group = {"prod", simulation::ForecastGroup::Made::kLater};
  const auto read = ParseEtaEntries(FormatEtaEntries(entries));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, entries);
}

TEST_F(EtaScoresTest, WrongLineRefusesTheFileWithItsNumber) {
  const std::string good = FormatEtaEntries({Entry("a", 100)});
  for (const char* bad :
       {"{", "[]", "{\"uid\":\"x\"}", "7",
        R"({"uid":"x","at":-1,"p10":1,"p50":1,"p90":1,"told50":1,"told90":1})",
        R"({"uid":"x","at":1,"p10":1,"p50":1,"p90":1,"told50":1,"told90":1,"wait":"y"})"}) {
    const auto read = ParseEtaEntries(good + bad + "\n");
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().message, "line 2 is no forecast of `berth eta --scores`");
  }
}

TEST_F(EtaScoresTest, ResolveCountsStartsAndCorrectsForecasts) {
  auto scores = EtaScores::Read(file_);
  ASSERT_TRUE(scores);
  view::ClusterView view;
  view.now = view::ViewTime();
  for (int i = 0; i < 40; ++i) {
    const std::string name = "w" + std::to_string(i);
    api::Workload workload = view::MakeWorkload("default", name, "main", 500);
    workload.meta.uid = name;
    const int wait = i < 10 ? 15 : 60;  // ten within p50 and p90
    workload.status.conditions.push_back(
        view::TrueCondition(api::kAdmitted, api::kAdmitted, "", view::SecondsAgo(400 - wait)));
    view.workloads.push_back(workload);
    scores->Add(Entry(name, 400));
  }
  scores->Add(Entry("gone", 400));
  scores->Add(Entry("w0", 1));  // the first forecast counts
  scores->Resolve(MakeForecastCluster(view, {}));
  EXPECT_EQ(scores->known(), 40);
  EXPECT_EQ(scores->within_p50(), 0.25);
  EXPECT_EQ(scores->within_p90(), 0.25);
  EXPECT_NEAR(std::chrono::duration<double>(
                  scores->corrections().Of({}, {seconds(10), seconds(20), seconds(30)}).p50)
                  .count(),
              20 + (60 - 20) / 6.0, 1);  // one day of starts is a sixth of the way
  ASSERT_TRUE(scores->Write());
  auto again = EtaScores::Read(file_);
  ASSERT_TRUE(again);
  again->Resolve(MakeForecastCluster({}, {}));
  EXPECT_EQ(again->known(), 40);  // without the one whose start nothing tells
}

TEST(ForecastJobsTest, RunsOfTheLedgerMatchJobsOfEqualRequests) {
  view::ClusterView view;
  view.now = view::ViewTime();
  api::Workload waiting = view::MakeWorkload("default", "new", "main", 10);
  api::PodSet pods;
  pods.pod_template.spec.containers = {{.name = "c", .requests = {{"nvidia.com/gpu", 1}}}};
  waiting.spec.pod_sets = std::vector{pods};
  const simulation::RunKey key = simulation::RunKeyOf(waiting, std::nullopt);
  ASSERT_FALSE(key.requests.empty());
  ledger::AttemptRecord ended{.uid = "old",
                              .namespace_name = "default",
                              .name = "other",
                              .local_queue = "main",
                              .admitted = 1000,
                              .ended = 1600,
                              .outcome = ledger::kSucceeded};
  for (const auto& [resource, amount] : key.requests) {
    ended.resources.push_back({"gpu", resource, amount});
  }
  // The ledger counts GPUs beside the requests.
  ended.resources.push_back({"gpu", api::kGpusResource, api::kUnitsPerGpu});
  view.workloads = {std::move(waiting)};
  const ForecastJobs jobs = ForecastJobsOf(MakeForecastCluster(view, {ended}));
  ASSERT_EQ(jobs.jobs.size(), 1U);
  EXPECT_EQ(jobs.jobs[0].run->level, simulation::RunLevel::kRequests);
  EXPECT_EQ(jobs.jobs[0].run->runs, 1);
}

}  // namespace
}  // namespace berth::forecast
