// Goal: a CronJob starts its Jobs at the times of its schedule, by its policies.
// Method: virtual time on the embedded API in memory; the test ends Jobs.
#include "local/cluster/cron/cron_controller.h"

#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class CronControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    clock_.JumpWall(*ParseTime("2026-11-22T10:00:30Z") - clock_.Now());
    for (const ResourceId* resource : {&kJobs, &kCronJobs}) ASSERT_TRUE(cache_.Track(*resource));
    cron_jobs_.Start();
  }

  void CreateCron(const Json& spec) {
    Json cron = {
        {"metadata", {{"name", "tick"}}},
        {"spec",
         {{"schedule", "*/5 * * * *"},
          {"jobTemplate",
           {{"metadata", {{"labels", {{"of", "tick"}}}}},
            {"spec",
             {{"template",
               {{"spec",
                 {{"restartPolicy", "Never"},
                  {"containers", Json::array({{{"name", "c"}, {"image", "a"}}})}}}}}}}}}}}};
    cron["spec"].merge_patch(spec);
    const auto created = api_.Create(kCronJobs, "default", cron, {});
    ASSERT_TRUE(created) << created.error().message;
  }
  void PatchCron(const Json& spec) {
    ASSERT_TRUE(api_.Patch(kCronJobs, "default", "tick", PatchType::kMerge, {{"spec", spec}}, {}));
  }
  Json Cron() { return **api_.Get(kCronJobs, "default", "tick"); }
  std::vector<Object> Jobs() { return api_.List(kJobs, "default", {})->items; }
  std::string Times() {
    std::string times;
    for (const Object& job : Jobs()) {
      const std::string at = AnnotationOf(*job, "batch.kubernetes.io/cronjob-scheduled-timestamp");
      times += (times.empty() ? "" : " ") + at.substr(11, 5);
    }
    return times;
  }
  void End(const char* condition) {
    for (const Object& job : Jobs()) {
      if (ConditionIs(*job, "Complete", "True") || ConditionIs(*job, "Failed", "True")) continue;
      Json ended = *job;
      const std::string now = FormatTime(clock_.Now());
      ended["status"]["startTime"] = now;
      if (std::string(condition) == "Complete") {
        ended["status"]["succeeded"] = 1;
        ended["status"]["completionTime"] = now;
        SetCondition(ended["status"], {"SuccessCriteriaMet", "True", "", ""}, clock_.Now());
      } else {
        SetCondition(ended["status"], {"FailureTarget", "True", "", ""}, clock_.Now());
      }
      SetCondition(ended["status"], {condition, "True", "", ""}, clock_.Now());
      WriteOptions options;
      options.subresource = "status";
      const auto written = api_.Update(kJobs, "default", NameOf(*job), ended, options);
      ASSERT_TRUE(written) << written.error().message;
    }
    executor_.RunFor(seconds(1));
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  CronController cron_jobs_{api_, cache_, executor_, executor_, clock_};
};

TEST_F(CronControllerTest, StartsJobsAtItsTimes) {
  CreateCron(Json::object());
  executor_.RunFor(minutes(4));
  EXPECT_EQ(Times(), "");
  executor_.RunFor(minutes(7));
  EXPECT_EQ(Times(), "10:05 10:10");
  const Json cron = Cron();
  EXPECT_EQ(cron["status"]["active"].size(), 2U);
  EXPECT_EQ(cron["status"]["lastScheduleTime"], "2026-11-22T10:10:00Z");
  const Json job = *Jobs()[0];
  EXPECT_EQ(LabelOf(job, "of"), "tick");
  EXPECT_EQ(StringAt(*ControllerRef(job), {"kind"}), "CronJob");
  EXPECT_EQ(NameOf(job), "tick-29922365");
  End("Complete");
  EXPECT_FALSE(Cron()["status"].contains("active"));
  EXPECT_TRUE(Cron()["status"].contains("lastSuccessfulTime"));
}

TEST_F(CronControllerTest, ForbidWaitsForTheRunningJob) {
  CreateCron({{"concurrencyPolicy", "Forbid"}});
  executor_.RunFor(minutes(11));
  EXPECT_EQ(Times(), "10:05");
  End("Complete");
  EXPECT_EQ(Times(), "10:05 10:10");  // late, but not missed
}

TEST_F(CronControllerTest, ReplaceEndsTheRunningJob) {
  CreateCron({{"concurrencyPolicy", "Replace"}});
  executor_.RunFor(minutes(11));
  EXPECT_EQ(Times(), "10:10");
  EXPECT_EQ(Cron()["status"]["active"].size(), 1U);
}

TEST_F(CronControllerTest, SuspendedCronJobMissesTimesBeyondTheDeadline) {
  CreateCron({{"suspend", true}, {"startingDeadlineSeconds", 60}});
  executor_.RunFor(minutes(12));
  PatchCron({{"suspend", false}});
  executor_.RunFor(seconds(10));
  EXPECT_EQ(Times(), "");  // 10:10 is more than a minute ago
  executor_.RunFor(minutes(3));
  EXPECT_EQ(Times(), "10:15");
}

TEST_F(CronControllerTest, OneStartReplacesAllMissedStarts) {
  CreateCron({{"suspend", true}});
  executor_.RunFor(hours(3));
  PatchCron({{"suspend", false}});
  executor_.RunFor(seconds(10));
  EXPECT_EQ(Times(), "13:00");
}

TEST_F(CronControllerTest, KeepsJobsWithinTheHistoryLimits) {
  CreateCron({{"successfulJobsHistoryLimit", 2}, {"failedJobsHistoryLimit", 1}});
  for (const char* end : {"Complete", "Failed", "Complete", "Failed", "Complete"}) {
    executor_.RunFor(minutes(5));
    End(end);
  }
  EXPECT_EQ(Times(), "10:15 10:20 10:25");
}

TEST_F(CronControllerTest, ScheduleFollowsTheTimeZone) {
  CreateCron({{"schedule", "30 11 * * *"}, {"timeZone", "Europe/Berlin"}});
  executor_.RunFor(hours(1));
  EXPECT_EQ(Times(), "10:30");
}

TEST_F(CronControllerTest, RefusesBadInput) {
  const std::pair<Json, const char*> rows[] = {
      {{{"schedule", "61 * * * *"}}, "spec.schedule"},
      {{{"schedule", "TZ=UTC 1 * * * *"}}, "spec.schedule"},
      {{{"timeZone", "Mars/Olympus"}}, "spec.timeZone"},
      {{{"timeZone", "../etc/passwd"}}, "spec.timeZone"},
      {{{"concurrencyPolicy", "Maybe"}}, "spec.concurrencyPolicy"},
      {{{"failedJobsHistoryLimit", -1}}, "spec.failedJobsHistoryLimit"},
  };
  for (const auto& [spec, field] : rows) {
    Json cron = {{"metadata", {{"name", "bad"}}},
                 {"spec", {{"schedule", "* * * * *"}, {"jobTemplate", Json::object()}}}};
    cron["spec"].merge_patch(spec);
    const auto created = api_.Create(kCronJobs, "default", cron, {});
    ASSERT_FALSE(created) << field;
    EXPECT_NE(created.error().message.find(field), std::string::npos) << created.error().message;
  }
}

}  // namespace
}  // namespace berth::local::cluster
