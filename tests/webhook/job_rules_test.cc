// Goal: defaults of new Jobs, and the allowed values and changes of their labels.
#include "webhook/job_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "webhook/batch_job_rules.h"

namespace berth::webhook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::Job Queued() {
  api::Job job;
  job.meta.name = "train";
  job.meta.labels[api::kQueueLabel] = "lq";
  job.suspend = true;
  job.parallelism = 4;
  job.completions = 4;
  return job;
}

struct DefaultCase {
  std::string name;
  JobFacts facts;
  std::string queue;  // label before
  bool want_suspend;
  std::string want_queue;
  std::string want_class;
};
void PrintTo(const DefaultCase& c, std::ostream* out) { *out << c.name; }
class JobDefaultsTest : public ::testing::TestWithParam<DefaultCase> {};

TEST_P(JobDefaultsTest, AManagedJobIsSuspendedAndGetsDefaultQueueAndClass) {
  const DefaultCase& c = GetParam();
  ReviewedJob job;
  if (!c.queue.empty()) job.meta.labels[api::kQueueLabel] = c.queue;
  DefaultJob(c.facts, job);
  EXPECT_EQ(job.suspended, c.want_suspend);
  EXPECT_EQ(job.meta.labels[api::kQueueLabel], c.want_queue);
  EXPECT_EQ(job.meta.labels[api::kPriorityClassLabel], c.want_class);
}

INSTANTIATE_TEST_SUITE_P(
    Table, JobDefaultsTest,
    ::testing::ValuesIn(std::vector<DefaultCase>{
        {"AQueueSuspends", {}, "lq", true, "lq", ""},
        {"NoQueueIsLeftAlone", {}, "", false, "", ""},
        {"DefaultQueue", {.default_local_queue = true}, "", true, "default", ""},
        {"TheUsersQueueStays", {.default_local_queue = true}, "lq", true, "lq", ""},
        {"DefaultClass", {.default_priority_class = true}, "lq", true, "lq", "default"},
        {"DefaultClassNeedsAQueue", {.default_priority_class = true}, "", false, "", ""},
        {"ManagedWithoutName", {.manage_without_queue_name = true}, "", true, "", ""},
        {"UnmanagedNamespace",
         {.default_local_queue = true, .namespace_managed = false},
         "lq",
         false,
         "lq",
         ""},
        {"AKindThatIsNotManaged", {.kind_managed = false}, "lq", false, "lq", ""},
        {"AChildIsItsParentsBusiness",
         {.default_local_queue = true, .ancestor_managed = true},
         "",
         false,
         "",
         ""},
    }),
    [](const auto& row) { return row.param.name; });

struct RuleCase {
  std::string name;
  std::function<void(api::Job& job)> change;                   // changes the new Job
  std::function<void(api::Job& old, api::Job& job)> update{};  // makes it an update
  std::string want;                                            // part of the one error; empty: none
};
void PrintTo(const RuleCase& c, std::ostream* out) { *out << c.name; }
class JobRulesTest : public ::testing::TestWithParam<RuleCase> {};

TEST_P(JobRulesTest, AJobIsAllowedOrItsMistakeIsNamed) {
  const RuleCase& c = GetParam();
  api::Job job = Queued();
  if (c.change) c.change(job);
  api::Job old = job;
  if (c.update) c.update(old, job);
  const FieldErrors errors = ValidateBatchJob(job, c.update ? &old : nullptr, {});
  if (c.want.empty()) {
    EXPECT_THAT(errors, IsEmpty());
  } else {
    EXPECT_THAT(errors, ElementsAre(HasSubstr(c.want)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, JobRulesTest,
    ::testing::ValuesIn(std::vector<RuleCase>{
        {"Plain", nullptr, nullptr, ""},
        {"BadQueueName", [](auto& job) { job.meta.labels[api::kQueueLabel] = "No_Good"; }, nullptr,
         "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"No_Good\": a lowercase RFC "
         "1123 subdomain"},
        {"QueueMayChangeWhileSuspended", nullptr,
         [](auto&, auto& job) { job.meta.labels[api::kQueueLabel] = "other"; }, ""},
        {"QueueMayNotChangeWhileRunning", nullptr,
         [](auto& old, auto& job) {
           old.suspend = job.suspend = false;
           job.meta.labels[api::kQueueLabel] = "other";
         },
         "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"other\": field is "
         "immutable"},
        {"BadMaxExecTime", [](auto& job) { job.meta.labels[api::kMaxExecTimeLabel] = "10m"; },
         nullptr, "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"10m\""},
        {"ZeroMaxExecTime", [](auto& job) { job.meta.labels[api::kMaxExecTimeLabel] = "0"; },
         nullptr, "Invalid value: 0: should be greater than 0"},
        {"MaxExecTimeOfARunningJob", nullptr,
         [](auto& old, auto& job) {
           old.suspend = job.suspend = false;
           job.meta.labels[api::kMaxExecTimeLabel] = "60";
         },
         "max-exec-time-seconds]: Invalid value: \"60\": field is immutable"},
        {"PriorityClassMayChange",
         [](auto& job) { job.meta.labels[api::kPriorityClassLabel] = "low"; },
         [](auto&, auto& job) {
           job.suspend = false;
           job.meta.labels[api::kPriorityClassLabel] = "high";
         },
         ""},
        {"PriorityClassMayNotGo",
         [](auto& job) { job.meta.labels[api::kPriorityClassLabel] = "low"; },
         [](auto&, auto& job) { job.meta.labels.erase(api::kPriorityClassLabel); },
         "priority-class]: Invalid value: \"\": WorkloadPriorityClass cannot be removed"},
        {"MinParallelism",
         [](auto& job) { job.meta.annotations[api::kMinParallelismAnnotation] = "3"; }, nullptr,
         ""},
        {"MinParallelismTooLarge",
         [](auto& job) { job.meta.annotations[api::kMinParallelismAnnotation] = "4"; }, nullptr,
         "Invalid value: 4: should be between 0 and 3"},
        {"AStartWithTheFewestPods",
         [](auto& job) { job.meta.annotations[api::kMinParallelismAnnotation] = "1"; },
         [](auto&, auto& job) {
           job.suspend = false;
           job.parallelism = 1;
         },
         ""},
        {"TheStopAfterIt",
         [](auto& job) { job.meta.annotations[api::kMinParallelismAnnotation] = "1"; },
         [](auto& old, auto& job) {
           old.suspend = false;
           old.parallelism = job.parallelism = 1;
         },
         ""},
        {"MinParallelismIsCheckedWhenItChanges",
         [](auto& job) { job.meta.annotations[api::kMinParallelismAnnotation] = "1"; },
         [](auto&, auto& job) { job.meta.annotations[api::kMinParallelismAnnotation] = "4"; },
         "Invalid value: 4: should be between 0 and 3"},
        {"ParallelismIsFixedWhilePartiallyAdmitted",
         [](auto& job) { job.meta.annotations[api::kMinParallelismAnnotation] = "2"; },
         [](auto& old, auto& job) {
           old.suspend = job.suspend = false;
           job.parallelism = 3;
         },
         "spec.parallelism: Forbidden"},
        {"TiedCompletionsNeedIndexes",
         [](auto& job) {
           job.meta.annotations[api::kCompletionsEqualParallelismAnnotation] = "true";
         },
         nullptr, "spec.completionMode: Invalid value"},
        {"TwoTopologies",
         [](auto& job) {
           job.pod_template.annotations = {{api::kRequiredTopologyAnnotation, "rack"},
                                           {api::kPreferredTopologyAnnotation, "rack"}};
         },
         nullptr, "must not contain more than one topology annotation"},
        {"SliceSizeAlone",
         [](auto& job) {
           job.pod_template.annotations = {{api::kSliceSizeAnnotation, "2"}};
         },
         nullptr, "may not be set when"},
        {"SliceLargerThanTheJob",
         [](auto& job) {
           job.pod_template.annotations = {{api::kSliceSizeAnnotation, "5"},
                                           {api::kSliceRequiredTopologyAnnotation, "rack"}};
         },
         nullptr, "must not be greater than pod set count 4"},
        {"NumericGroup",
         [](auto& job) {
           job.pod_template.annotations = {{api::kPodSetGroupNameAnnotation, "7"},
                                           {api::kRequiredTopologyAnnotation, "rack"}};
         },
         nullptr, "must not be a number"},
        {"ElasticIsForLife", nullptr,
         [](auto&, auto& job) { job.meta.annotations[api::kElasticJobAnnotation] = "true"; },
         "elastic-job]: Invalid value: \"true\": field is immutable"},
        {"ElasticExcludesPartialAdmission",
         [](auto& job) {
           job.meta.annotations[api::kElasticJobAnnotation] = "true";
           job.meta.annotations[api::kMinParallelismAnnotation] = "2";
         },
         nullptr, "partial admission and elastic job cannot be used together"},
        {"ElasticAndRequiredTopology",
         [](auto& job) {
           job.meta.annotations[api::kElasticJobAnnotation] = "true";
           job.pod_template.annotations = {{api::kRequiredTopologyAnnotation, "rack"}};
         },
         nullptr,
         "podset-required-topology]: Forbidden: required topology is not supported with elastic "
         "jobs"},
        {"ElasticAndPreferredTopology",
         [](auto& job) {
           job.meta.annotations[api::kElasticJobAnnotation] = "true";
           job.pod_template.annotations = {{api::kPreferredTopologyAnnotation, "rack"}};
         },
         nullptr, "preferred topology is not supported with elastic jobs"},
        {"ElasticAndUnconstrainedTopology",
         [](auto& job) {
           job.meta.annotations[api::kElasticJobAnnotation] = "true";
           job.pod_template.annotations = {{api::kUnconstrainedTopologyAnnotation, "true"}};
         },
         nullptr, ""},
    }),
    [](const auto& row) { return row.param.name; });

// A job without a queue name is queued too where all jobs are managed.
TEST(ElasticJobRulesTest, RulesOfElasticJobsHoldWithoutAQueueName) {
  api::Job job = Queued();
  job.meta.labels.clear();
  job.meta.annotations[api::kElasticJobAnnotation] = "true";
  job.pod_template.annotations = {{api::kRequiredTopologyAnnotation, "rack"}};
  EXPECT_THAT(ValidateBatchJob(job, nullptr, {}), IsEmpty());
  EXPECT_THAT(ValidateBatchJob(job, nullptr, {.manage_without_queue_name = true}),
              ElementsAre(HasSubstr("required topology is not supported with elastic jobs")));
}

}  // namespace
}  // namespace berth::webhook
