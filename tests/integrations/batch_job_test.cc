// Goal: the JobView of a batch Job, and the writes that start and stop the Job.
#include "integrations/batch_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using ::testing::ElementsAre;
using testing::GpuJob;
using ::testing::IsEmpty;

struct ReclaimCase {
  std::string name;
  std::int32_t parallelism;
  std::int32_t completions;
  std::int32_t succeeded;
  std::string completed_indexes;  // makes it Indexed
  std::string failed_indexes;
  std::vector<api::ReclaimablePod> want;
};
void PrintTo(const ReclaimCase& c, std::ostream* out) { *out << c.name; }

class ReclaimablePodsTest : public ::testing::TestWithParam<ReclaimCase> {};

TEST_P(ReclaimablePodsTest, PodsThatNoRemainingCompletionNeedsAreReclaimable) {
  const ReclaimCase& c = GetParam();
  api::Job job = GpuJob(c.parallelism, c.completions);
  job.succeeded = c.succeeded;
  if (!c.completed_indexes.empty() || !c.failed_indexes.empty()) job.completion_mode = "Indexed";
  job.completed_indexes = c.completed_indexes;
  job.failed_indexes = c.failed_indexes;
  EXPECT_EQ(ViewOf(job).reclaimable_pods, c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ReclaimablePodsTest,
    ::testing::ValuesIn(std::vector<ReclaimCase>{
        {"OnePodNeverReclaims", 1, 1, 1, "", "", {}},
        {"NothingDone", 3, 6, 0, "", "", {}},
        {"EnoughLeftToDo", 3, 6, 3, "", "", {}},
        {"OneFewerNeeded", 3, 6, 4, "", "", {{"main", 1}}},
        {"AllDone", 3, 6, 6, "", "", {{"main", 3}}},
        {"MoreThanAsked", 3, 6, 9, "", "", {{"main", 3}}},
        {"MorePodsThanCompletions", 3, 2, 1, "", "", {{"main", 1}}},
        {"IndexesCountOnce", 3, 4, 0, "0-1", "1,2", {{"main", 2}}},
        {"NonsenseIndexesCountForNothing", 3, 4, 0, "x,2-,-1", "", {}},
        {"OverlapsCountOnce", 10, 10, 0, "0-4,2-3", "4-6", {{"main", 7}}},
        {"ManyIndexesCostNothing", 2, INT32_MAX, 0, "0-2147483645", "", {{"main", 1}}},
        {"HugeRangeIsBounded", 3, 4, 0, "0-9223372036854775806", "", {{"main", 3}}},
    }),
    [](const auto& row) { return row.param.name; });

TEST(BatchJobTest, PodsCountIsTheSmallerOfParallelismAndCompletions) {
  EXPECT_EQ(PodsCount(GpuJob(5, 3)), 3);
  EXPECT_EQ(PodsCount(GpuJob(2, 9)), 2);
  api::Job job = GpuJob();
  job.parallelism.reset();
  job.completions.reset();
  EXPECT_EQ(PodsCount(job), 1);
}

TEST(BatchJobTest, StoppingJobIsNotSuspended) {
  api::Job job = GpuJob();
  EXPECT_TRUE(ViewOf(job).suspended);
  job.meta.annotations[api::kStoppingAnnotation] = "true";
  EXPECT_FALSE(ViewOf(job).suspended);
}

TEST(BatchJobTest, PodSetLeavesOutTheJobControllersUidLabels) {
  api::Job job = GpuJob();
  job.pod_template.labels = {{"app", "x"},
                             {"controller-uid", "u"},
                             {"job-name", "train"},
                             {"batch.kubernetes.io/controller-uid", "u"},
                             {"batch.kubernetes.io/job-name", "train"}};
  EXPECT_EQ(ViewOf(job).pod_sets.front().pod_template.labels,
            (api::StringMap{{"app", "x"}, {"batch.kubernetes.io/job-name", "train"}}))
      << "the name is the same for a job that is made again, and Kueue keeps it";
}

TEST(BatchJobTest, PodsReadyCountsSucceededPods) {
  api::Job job = GpuJob(3, 3);
  job.ready = 1;
  job.succeeded = 1;
  EXPECT_FALSE(ViewOf(job).pods_ready);
  job.uncounted_succeeded = 1;
  EXPECT_TRUE(ViewOf(job).pods_ready);
}

TEST(BatchJobTest, AFailedIndexNeedsNoPod) {
  api::Job job = GpuJob(3, 3);
  job.completion_mode = "Indexed";
  job.ready = 1;
  job.succeeded = 1;
  job.completed_indexes = "0";
  EXPECT_FALSE(ViewOf(job).pods_ready);
  job.failed_indexes = "2";
  EXPECT_TRUE(ViewOf(job).pods_ready);
  job.failed_indexes = "0";
  EXPECT_FALSE(ViewOf(job).pods_ready) << "an index counts once";
}

TEST(BatchJobTest, StartKeepsTheJobControllersLabels) {
  api::Job job = GpuJob();
  job.pod_template.labels = {{"controller-uid", "u"}};
  const PodSetChange change{.name = "main", .count = 1, .labels = {{"a", "b"}}};
  const BatchJobWrite write = StartWrite(job, change);
  EXPECT_EQ(write.suspend, false);
  EXPECT_EQ(write.pod_template->labels, (api::StringMap{{"a", "b"}, {"controller-uid", "u"}}));
  EXPECT_FALSE(write.parallelism.has_value());
}

TEST(BatchJobTest, PartialAdmissionSetsTheGrantedSize) {
  api::Job job = GpuJob(5, 5);
  const PodSetChange change{.name = "main", .count = 3, .count_is_partial = true};
  EXPECT_EQ(StartWrite(job, change).parallelism, 3);
  EXPECT_FALSE(StartWrite(job, change).completions.has_value());
  job.meta.annotations[api::kCompletionsEqualParallelismAnnotation] = "true";
  EXPECT_EQ(StartWrite(job, change).completions, 3);
}

TEST(BatchJobTest, StopIsThreeWritesThatCanBeResumed) {
  api::Job job = GpuJob();
  job.suspend = false;
  job.start_time = testing::At(1);
  const PodSetChange original{.name = "main", .count = 1, .labels = {{"a", "b"}}};
  BatchJobWrite restore{.stopping = BatchJobWrite::Stopping::kRemove, .pod_template = original};
  EXPECT_THAT(StopWrites(job, original),
              ElementsAre(BatchJobWrite{.suspend = true, .stopping = BatchJobWrite::Stopping::kSet},
                          BatchJobWrite{.clear_start_time = true}, restore));

  // Found after the first write: goes on with the second.
  job.suspend = true;
  job.meta.annotations[api::kStoppingAnnotation] = "true";
  EXPECT_THAT(StopWrites(job, original),
              ElementsAre(BatchJobWrite{.clear_start_time = true}, restore));

  // After the second: only the third is left.
  job.start_time.reset();
  EXPECT_THAT(StopWrites(job, original), ElementsAre(restore));
  // Suspended by its owner: no stop is needed, only the template is restored.
  job.meta.annotations.clear();
  EXPECT_THAT(StopWrites(job, std::nullopt), IsEmpty());
  EXPECT_THAT(StopWrites(job, original), ElementsAre(restore));
}

TEST(BatchJobTest, TemplateIsRestoredAfterThePodsHaveEnded) {
  api::Job job = GpuJob();
  job.suspend = false;
  job.active = 1;
  job.start_time = testing::At(1);
  EXPECT_EQ(StopWrites(job, std::nullopt).size(), 2U);
  job.suspend = true;
  job.meta.annotations[api::kStoppingAnnotation] = "true";
  job.start_time.reset();
  EXPECT_THAT(StopWrites(job, std::nullopt), IsEmpty());
  EXPECT_TRUE(ViewOf(job).stopping);
  job.active = 0;
  EXPECT_EQ(StopWrites(job, std::nullopt).size(), 1U);
}

TEST(BatchJobTest, WithoutAnOriginalTheTemplateStays) {
  api::Job job = GpuJob();
  job.suspend = false;
  const std::vector<BatchJobWrite> writes = StopWrites(job, std::nullopt);
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_FALSE(writes.back().pod_template.has_value());
  EXPECT_EQ(writes.back().stopping, BatchJobWrite::Stopping::kRemove);
}

TEST(BatchJobTest, OutcomeIsTheConditionThatIsTrue) {
  api::Job job = GpuJob();
  job.conditions = {{.type = "Complete", .status = api::ConditionStatus::kFalse},
                    {.type = "Failed", .status = api::ConditionStatus::kTrue, .message = "oops"}};
  ASSERT_TRUE(ViewOf(job).finished.has_value());
  EXPECT_FALSE(ViewOf(job).finished->succeeded);
  EXPECT_EQ(ViewOf(job).finished->message, "oops");
}

}  // namespace
}  // namespace berth::integrations
