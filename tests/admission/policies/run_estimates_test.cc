// Goal: run times are expected from the runs of the submitter, else of the shape, else of the
// queue; the runs of the submitter shorten a declared maximum; and workloads that wait get the
// estimate of the runs that end meanwhile. Method: runs by hand; worlds of a few workloads in a
// queue with the order ShortestFirst.
#include "admission/policies/run_estimates.h"

#include <chrono>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/job_user.h"
#include "api/queue_policy.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr RunEstimates::Kind kAnn{.queue = 0, .shape = 1, .group = 11};
constexpr RunEstimates::Kind kBob{.queue = 0, .shape = 1, .group = 12};
constexpr RunEstimates::Kind kOtherShape{.queue = 0, .shape = 2, .group = 13};
constexpr RunEstimates::Kind kOtherQueue{.queue = 1, .shape = 1, .group = 14};

void AddRuns(RunEstimates& estimates, const RunEstimates::Kind& kind, std::size_t count,
             std::int64_t run) {
  for (std::size_t i = 0; i < count; ++i) estimates.Add(kind, run);
}

TEST(RunEstimatesTest, RunsOfTheGroupCountBeforeThoseOfTheShapeAndOfTheQueue) {
  RunEstimates estimates;
  AddRuns(estimates, kAnn, 10, 60);
  AddRuns(estimates, kBob, RunEstimates::kFewestRunsOfGroup, 3600);
  EXPECT_EQ(estimates.SecondsOf(kBob), 3600);
  EXPECT_EQ(estimates.SecondsOf({.queue = 0, .shape = 1, .group = 99}), 60);
  EXPECT_EQ(estimates.SecondsOf(kOtherShape), 60);
  EXPECT_EQ(estimates.SecondsOf(kOtherQueue), std::nullopt);
}

TEST(RunEstimatesTest, FewRunsGiveNoEstimate) {
  RunEstimates estimates;
  AddRuns(estimates, kAnn, RunEstimates::kFewestRunsOfGroup - 1, 60);
  EXPECT_EQ(estimates.SecondsOf(kAnn), std::nullopt);
  estimates.Add(kAnn, 60);
  EXPECT_EQ(estimates.SecondsOf(kAnn), 60);
  EXPECT_EQ(estimates.SecondsOf(kBob), std::nullopt) << "the shape has too few";
}

TEST(RunEstimatesTest, OldRunsOfAGroupAreForgotten) {
  RunEstimates estimates;
  AddRuns(estimates, kAnn, 100, 60);
  AddRuns(estimates, kAnn, RunEstimates::kMostRunsOfGroup, 3600);
  EXPECT_EQ(estimates.SecondsOf(kAnn), 3600);
}

TEST(RunEstimatesTest, WaitingWorkloadsOfAGroupAreNamedWhenItsMedianChanges) {
  RunEstimates estimates;
  estimates.Await(kAnn.group, 7);
  estimates.Await(kAnn.group, 8);
  estimates.Await(kBob.group, 9);
  AddRuns(estimates, kAnn, 2, 60);
  EXPECT_THAT(estimates.TakeChanged(), IsEmpty()) << "too few runs";
  estimates.Add(kAnn, 60);
  EXPECT_THAT(estimates.TakeChanged(), ElementsAre(7, 8));
  AddRuns(estimates, kAnn, 5, 63);
  EXPECT_THAT(estimates.TakeChanged(), IsEmpty()) << "hardly another median";
  estimates.Leave(kAnn.group, 7);
  AddRuns(estimates, kAnn, 20, 600);
  EXPECT_THAT(estimates.TakeChanged(), ElementsAre(8));
  EXPECT_THAT(estimates.TakeChanged(), IsEmpty());
}

TEST(RunEstimatesTest, LargeGroupGetsNewEstimatesAfterAsManyMoreEnds) {
  RunEstimates estimates;
  constexpr int kEnds = 10;
  for (int i = 0; i < kEnds * static_cast<int>(RunEstimates::kEstimatesOfAnEnd); ++i) {
    estimates.Await(kAnn.group, i);
  }
  AddRuns(estimates, kAnn, kEnds - 1, 60);
  EXPECT_THAT(estimates.TakeChanged(), IsEmpty());
  estimates.Add(kAnn, 60);
  EXPECT_EQ(estimates.TakeChanged().size(), kEnds * RunEstimates::kEstimatesOfAnEnd);
}

constexpr RunEstimates::Kind kDeclared{.queue = 0, .shape = 1, .group = 15, .declared = 3600};

TEST(RunEstimatesTest, RunsShortenADeclaredMaximum) {
  RunEstimates estimates;
  EXPECT_EQ(estimates.SecondsOf(kDeclared), 3600) << "no runs";
  AddRuns(estimates, kAnn, 10, 60);
  EXPECT_EQ(estimates.SecondsOf(kDeclared), 3600) << "runs of other groups";
  // Twenty runs of a hundredth of the maximum, and forty as long as the maximum.
  AddRuns(estimates, kDeclared, 20, 36);
  EXPECT_EQ(estimates.SecondsOf(kDeclared), 775);  // 3600 × 0.01^(20/60)
  AddRuns(estimates, kDeclared, 20, 3650);
  EXPECT_EQ(estimates.SecondsOf(kDeclared), 3600) << "runs that were stopped at the maximum";
}

TEST(RunEstimatesTest, RunsOfNoSecondsAreCountedAsOneSecond) {
  RunEstimates estimates;
  AddRuns(estimates, kDeclared, 20, 0);
  EXPECT_EQ(estimates.SecondsOf(kDeclared), 234);  // 3600 × (1/3600)^(20/60)
}

TEST(RunEstimatesTest, WaitingWorkloadsAreNamedWhenRunsShortenTheirMaximum) {
  RunEstimates estimates;
  estimates.Await(kDeclared.group, 7);
  estimates.Add(kDeclared, 36);
  EXPECT_THAT(estimates.TakeChanged(), ElementsAre(7));
  estimates.Add(kDeclared, 3600);
  EXPECT_THAT(estimates.TakeChanged(), IsEmpty()) << "hardly another estimate";
}

class ExpectedRunsTest : public ::testing::Test {
 protected:
  ExpectedRunsTest() : world_({"f"}, {ShortestFirst()}) {}

  static api::ClusterQueue ShortestFirst() {
    api::ClusterQueue queue = MakeQueue("q", "", {{"f", {{"gpu", 1}}}});
    queue.meta.annotations = {{api::kOrderAnnotation, "ShortestFirst"}};
    return queue;
  }
  // `declared`: the maximum run time in seconds; nullopt: none.
  void Submit(const std::string& user, const std::string& name,
              std::optional<std::int32_t> declared = std::nullopt) {
    api::Workload workload = MakeJob(name, "q", 1, {{"gpu", 1}});
    workload.spec.maximum_execution_time_seconds = declared;
    workload.meta.annotations[api::kUserAnnotation] = user;
    world_.Apply(workload);
    world_.Advance(std::chrono::seconds(1));
  }
  // Admits the next workload, whose name is returned, and lets it run for so long.
  std::string RunNext(minutes time) {
    const std::string name = world_.AdmitAll();
    world_.Advance(time);
    world_.Finish(KeyOf(name));
    world_.WakeUp();
    return name;
  }

  TableWorld world_;
};

TEST_F(ExpectedRunsTest, WorkloadsOfAUserWithShortRunsGoFirst) {
  for (const char* name : {"a1", "a2", "a3"}) {
    Submit("ann", name);
    ASSERT_EQ(RunNext(hours(2)), name);
  }
  for (const char* name : {"b1", "b2", "b3"}) {
    Submit("bob", name);
    ASSERT_EQ(RunNext(minutes(1)), name);
  }
  Submit("ann", "a4");
  Submit("bob", "b4");
  EXPECT_EQ(RunNext(minutes(1)), "b4");
  EXPECT_EQ(RunNext(minutes(1)), "a4");
}

TEST_F(ExpectedRunsTest, OfEqualMaximaTheUserWithShortRunsGoesFirst) {
  constexpr std::int32_t kDay = 24 * 3600;
  for (const char* name : {"b1", "b2", "b3"}) {
    Submit("bob", name, kDay);
    ASSERT_EQ(RunNext(minutes(1)), name);
  }
  Submit("ann", "a1", kDay);
  Submit("bob", "b4", kDay);
  Submit("bob", "b5", kDay / 2);
  EXPECT_EQ(RunNext(minutes(1)), "b5") << "the runs of a day tell nothing about half a day";
  EXPECT_EQ(RunNext(minutes(1)), "b4");
  EXPECT_EQ(RunNext(minutes(1)), "a1");
}

// Nothing is known of the runs of either user when all wait.
TEST_F(ExpectedRunsTest, EndsOfABatchMoveItsWaitingMembers) {
  for (const char* name : {"b1", "b2", "b3"}) Submit("bob", name);
  for (const char* name : {"a1", "a2"}) Submit("ann", name);
  for (const char* name : {"b4", "b5"}) Submit("bob", name);
  for (const char* name : {"b1", "b2", "b3"}) ASSERT_EQ(RunNext(minutes(1)), name);
  EXPECT_EQ(RunNext(minutes(1)), "b4") << "bob's runs are short";
  EXPECT_EQ(RunNext(minutes(1)), "b5");
  EXPECT_EQ(RunNext(minutes(1)), "a1");
}

}  // namespace
}  // namespace berth::admission
