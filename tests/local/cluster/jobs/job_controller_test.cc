// Goal: Job controller and binder bring Jobs to their end on an API, in spite of
// faults.
// Method: virtual time on the embedded API in memory; the test plays the part of the executor.
#include "local/cluster/jobs/job_controller.h"

#include <gtest/gtest.h>

#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/scheduler/pod_binder.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

using std::chrono::seconds;

class JobControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cache_.Track(kPods));
    ASSERT_TRUE(cache_.Track(kNodes));
    ASSERT_TRUE(cache_.Track(kJobs));
    controller_.Start();
  }

  void CreateNode(const std::string& name, const Json& allocatable) {
    ASSERT_TRUE(api_.CreateWithStatus(
        kNodes, "",
        {{"metadata", {{"name", name}}},
         {"status", {{"allocatable", allocatable}, {"capacity", allocatable}}}}));
  }

  void CreateJob(const Json& spec) {
    Json job = Json::parse(R"({"metadata": {"name": "j"}, "spec": {"template": {"spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}}})");
    if (spec.is_object()) job["spec"].merge_patch(spec);
    ASSERT_TRUE(api_.Create(kJobs, "default", job, {}));
  }

  Json Job() { return **api_.Get(kJobs, "default", "j"); }
  std::vector<Object> Pods() { return api_.List(kPods, "", {})->items; }

  void EndPod(const Json& pod, const std::string& phase) {
    Json ended = pod;
    ended["status"]["phase"] = phase;
    WriteOptions options;
    options.subresource = "status";
    ASSERT_TRUE(api_.Update(kPods, "default", NameOf(pod), ended, options));
  }

  // Ends every pod that has a node.
  void EndBoundPods(const std::string& phase) {
    for (const Object& pod : Pods()) {
      if (StringAt(*pod, {"status", "phase"}) != "Pending") continue;
      if (!StringAt(*pod, {"spec", "nodeName"}).empty()) EndPod(*pod, phase);
    }
  }

  std::set<std::string> EventReasons() {
    std::set<std::string> reasons;
    const auto events = api_.List(kEvents, "", {});
    for (const Object& event : events->items) {
      reasons.insert(StringAt(*event, {"reason"}));
    }
    return reasons;
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  JobController controller_{api_, cache_, executor_, executor_, clock_};
  PodBinder binder_{api_, cache_, executor_, executor_, clock_};
};

TEST_F(JobControllerTest, RunsAJobToItsEnd) {
  CreateNode("n1", {{"cpu", "1"}});
  CreateJob({{"parallelism", 2}, {"completions", 3}});
  executor_.RunReady();
  EXPECT_EQ(Pods().size(), 2U);
  for (int round = 0; round < 3; ++round) {
    EndBoundPods("Succeeded");
    executor_.RunReady();
  }
  EXPECT_TRUE(ConditionIs(Job(), "Complete", "True"));
  EXPECT_EQ(Job()["status"]["succeeded"], 3);
  EXPECT_EQ(Pods().size(), 3U);
  for (const Object& pod : Pods()) EXPECT_FALSE(HasFinalizer(*pod, kJobTrackingFinalizer));
  EXPECT_EQ(EventReasons(), (std::set<std::string>{"SuccessfulCreate", "Scheduled",
                                                   "FailedScheduling", "Completed"}));
}

TEST_F(JobControllerTest, SuspendedJobHasNoPodsUntilItIsResumed) {
  CreateNode("n1", {{"cpu", "4"}});
  CreateJob({{"suspend", true}});
  executor_.RunReady();
  EXPECT_TRUE(Pods().empty());
  EXPECT_TRUE(ConditionIs(Job(), "Suspended", "True"));
  ASSERT_TRUE(
      api_.Patch(kJobs, "default", "j", PatchType::kMerge, {{"spec", {{"suspend", false}}}}, {}));
  executor_.RunReady();
  ASSERT_EQ(Pods().size(), 1U);
  ASSERT_TRUE(
      api_.Patch(kJobs, "default", "j", PatchType::kMerge, {{"spec", {{"suspend", true}}}}, {}));
  executor_.RunReady();
  ASSERT_EQ(Pods().size(), 1U) << "bound: it has its grace";
  EXPECT_TRUE(IsDeleting(*Pods()[0]));
  EXPECT_FALSE(Job()["status"].contains("active"));
  EXPECT_FALSE(Job()["status"].contains("failed"));
}

TEST_F(JobControllerTest, FailuresAreRetriedWithGrowingDelays) {
  CreateNode("n1", {{"cpu", "4"}});
  CreateJob({{"backoffLimit", 2}});
  executor_.RunReady();
  for (const int delay : {10, 20}) {
    EndBoundPods("Failed");
    const std::size_t before = Pods().size();
    executor_.RunFor(seconds(delay - 2));
    EXPECT_EQ(Pods().size(), before);
    executor_.RunFor(seconds(3));
    EXPECT_EQ(Pods().size(), before + 1) << "after " << delay << " s";
  }
  EndBoundPods("Failed");
  executor_.RunReady();
  EXPECT_TRUE(ConditionIs(Job(), "Failed", "True"));
  EXPECT_EQ(Job()["status"]["failed"], 3);
}

TEST_F(JobControllerTest, ConflictsAndErrorsAreRetried) {
  CreateNode("n1", {{"cpu", "4"}});
  const ApiError conflict{409, "Conflict", "the object has been modified", {}};
  const ApiError broken{500, "InternalError", "the disk is slow", {}};
  CreateJob({{"completions", 2}, {"parallelism", 2}});
  int writes = 0;
  api_.set_refusal([&](const std::string&, const ResourceId& resource) -> const ApiError* {
    if (resource == kEvents) return nullptr;
    ++writes;
    return writes % 3 == 0 ? &conflict : writes % 3 == 1 ? &broken : nullptr;
  });
  for (int round = 0; round < 20; ++round) {
    executor_.RunFor(seconds(60));
    api_.set_refusal(nullptr);
    EndBoundPods("Succeeded");
  }
  executor_.RunFor(seconds(60));
  EXPECT_TRUE(ConditionIs(Job(), "Complete", "True"));
  EXPECT_EQ(Job()["status"]["succeeded"], 2);
  EXPECT_EQ(Pods().size(), 2U) << "no pod was made twice";
}

TEST_F(JobControllerTest, PodsOfADeletedJobLoseTheirFinalizer) {
  CreateNode("n1", {{"cpu", "4"}});
  CreateJob({});
  executor_.RunReady();
  ASSERT_TRUE(api_.Delete(kJobs, "default", "j", {}));
  executor_.RunReady();
  ASSERT_EQ(Pods().size(), 1U);
  EXPECT_FALSE(HasFinalizer(*Pods()[0], kJobTrackingFinalizer));
}

// A Pod's owner reference is the text of its author: a failed pod of another namespace is no
// failure of the Job.
TEST_F(JobControllerTest, PodsOfAnotherNamespaceDoNotCountForTheJob) {
  CreateNode("n1", {{"cpu", "4"}});
  CreateJob({{"backoffLimit", 0}});
  executor_.RunReady();
  const Json owners = (*Pods()[0])["metadata"]["ownerReferences"];
  ASSERT_TRUE(api_.Create(kNamespaces, "", {{"metadata", {{"name", "other"}}}}, {}));
  ASSERT_TRUE(api_.CreateWithStatus(
      kPods, "other",
      {{"metadata",
        {{"name", "forged"}, {"ownerReferences", owners}, {"finalizers", {kJobTrackingFinalizer}}}},
       {"spec", {{"restartPolicy", "Never"}, {"containers", {{{"name", "c"}, {"image", "i"}}}}}},
       {"status", {{"phase", "Failed"}}}}));
  executor_.RunFor(seconds(10));
  EXPECT_EQ(Job()["status"].value("failed", 0), 0);
  EXPECT_FALSE(Job()["status"].contains("conditions"));
}

TEST_F(JobControllerTest, JobOfAnotherControllerIsLeftAlone) {
  CreateJob({{"managedBy", "kueue.x-k8s.io/multikueue"}});
  const Json created = Job();
  executor_.RunFor(seconds(60));
  EXPECT_TRUE(Pods().empty());
  EXPECT_EQ(Job(), created);
}

TEST_F(JobControllerTest, GatedPodsAndOtherSchedulersAreLeftAlone) {
  CreateNode("n1", {{"cpu", "4"}});
  const Json containers = {{{"name", "c"}, {"image", "i"}}};
  ASSERT_TRUE(
      api_.Create(kPods, "default",
                  {{"metadata", {{"name", "gated"}}},
                   {"spec", {{"containers", containers}, {"schedulingGates", {{{"name", "g"}}}}}}},
                  {}));
  ASSERT_TRUE(api_.Create(kPods, "default",
                          {{"metadata", {{"name", "foreign"}}},
                           {"spec", {{"containers", containers}, {"schedulerName", "other"}}}},
                          {}));
  executor_.RunReady();
  for (const Object& pod : Pods()) EXPECT_FALSE((*pod)["spec"].contains("nodeName"));
  ASSERT_TRUE(api_.Patch(kPods, "default", "gated", PatchType::kMerge,
                         {{"spec", {{"schedulingGates", nullptr}}}}, {}));
  executor_.RunReady();
  EXPECT_EQ((**api_.Get(kPods, "default", "gated"))["spec"]["nodeName"], "n1");
}

TEST_F(JobControllerTest, HigherPriorityIsBoundFirst) {
  const auto create = [&](const std::string& name, int priority) {
    const Json containers = {
        {{"name", "c"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}};
    ASSERT_TRUE(api_.Create({"scheduling.k8s.io", "v1", "priorityclasses"}, "",
                            {{"metadata", {{"name", name}}}, {"value", priority}}, {}));
    ASSERT_TRUE(api_.Create(kPods, "default",
                            {{"metadata", {{"name", name}}},
                             {"spec", {{"containers", containers}, {"priorityClassName", name}}}},
                            {}));
  };
  create("low", 0);
  create("high", 10);
  executor_.RunReady();
  EXPECT_EQ(FindCondition(**api_.Get(kPods, "default", "low"), "PodScheduled")->at("message"),
            "no nodes available to schedule pods");
  CreateNode("n1", {{"cpu", "1"}});
  executor_.RunReady();
  EXPECT_EQ((**api_.Get(kPods, "default", "high"))["spec"]["nodeName"], "n1");
  EXPECT_FALSE((**api_.Get(kPods, "default", "low"))["spec"].contains("nodeName"));
}

}  // namespace
}  // namespace berth::local::cluster
