// Goal: `berth plan` tells what a job would meet before it is created. Method: exact screens of a
// queue with two flavors and a policy; then what is missing, one object at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "checks/controller_names.h"
#include "tests/view/view_builder.h"
#include "view/screens/plan_screen.h"

namespace berth::view {
namespace {

using ::testing::HasSubstr;

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    view_.now = ViewTime();
    api::ClusterQueue queue = MakeQueue("team", "", {{kGpu, 8}}, {{kGpu, 6}});
    api::FlavorQuotas flavor = queue.spec.resource_groups[0].flavors[0];
    queue.spec.resource_groups[0].flavors = {flavor, flavor};
    queue.spec.resource_groups[0].flavors[0].flavor = "spot";
    queue.spec.resource_groups[0].flavors[1].flavor = "demand";
    queue.status.flavors_reservation[0].flavor = "spot";
    queue.spec.admission_checks = {{.check = "capacity"}};
    view_.cluster_queues = {queue};
    view_.local_queues = {MakeLocalQueue("default", "user-queue", "team")};
    api::AdmissionCheck check;
    check.meta.name = "capacity";
    check.meta.annotations[api::kProvisioningPolicyAnnotation] = "chain";
    check.controller_name = checks::kProvisioningCheckController;
    check.parameters = {"kueue.x-k8s.io", "ProvisioningRequestConfig", "config"};
    view_.admission_checks = {check};
    api::ProvisioningRequestConfig config;
    config.meta.name = "config";
    config.provisioning_class_name = api::kQueuedProvisioningClass;
    config.managed_resources = {kGpu};
    view_.provisioning_configs = {config};
    api::ProvisioningPolicy policy;
    policy.meta.name = "chain";
    policy.max_price_per_hour = *api::Quantity::Parse("0.5");
    policy.steps = {
        {.name = "first",
         .flavor = "spot",
         .max_wait_seconds = 600,
         .max_attempts = 3,
         .price_per_hour = *api::Quantity::Parse("0.26")},
        {.name = "second", .flavor = "demand", .price_per_hour = *api::Quantity::Parse("0.89")},
        {.name = "third", .flavor = "demand", .price_per_hour = *api::Quantity::Parse("0.45")}};
    view_.provisioning_policies = {policy};
    view_.stock = {
        {api::kQueuedProvisioningClass,
         {{.key = {.flavor = "spot", .shape = "nvidia.com/gpu=1", .size = 2},
           .outcomes = {
               {.id = "a", .asked_at = SecondsAgo(kDay), .wait_seconds = 3000, .pods = 4}}}}}};
    job_.kind = "Job";
    job_.name = "train";
    job_.workload.meta = {.namespace_name = "default", .name = "job-train-1"};
    job_.workload.spec.queue_name = "user-queue";
    job_.workload.spec.maximum_execution_time_seconds = 7200;
    api::PodSet pods;
    pods.count = 4;
    api::Container container;
    container.requests = {{kGpu, 1}};
    pods.pod_template.spec.containers = {container};
    job_.workload.spec.pod_sets = {pods};
  }
  std::string Screen() const { return RenderPlans(view_, {*MakePlan(view_, job_)}, {}); }
  Error Refusal() const { return MakePlan(view_, job_).error(); }

  ClusterView view_;
  PlannedJob job_;
};

TEST_F(PlanTest, ScreenHasTheStepsInOrder) {
  EXPECT_EQ(Screen(), R"(Job default/train, 4 pods: LocalQueue user-queue, ClusterQueue team

FLAVOR  RESOURCE        NEEDS  FREE  QUOTA
spot    nvidia.com/gpu      4     2      8
demand  nvidia.com/gpu      4     8      8

check capacity, policy chain:
STEP    FLAVOR  CLASS                       NODES  USD/HOUR   USD  NODES COME IN     KNOWN FROM  ASKED FOR
first   spot    queued-provisioning.gke.io      4      1.04  2.08  15m (3s to 156m)  1 request   first
second  demand  queued-provisioning.gke.io      4      3.56  7.12  3m (3s to 156m)   prior       passed over: a node costs 0.89 USD an hour, the limit is 0.5
third   demand  queued-provisioning.gke.io      4       1.8   3.6  3m (3s to 156m)   prior       after first has failed 3 times or waited 10m
)");
}

TEST_F(PlanTest, JsonHasQuotaAndStepsOfThePlan) {
  const nlohmann::json out = PlansJson(view_, {*MakePlan(view_, job_)});
  const nlohmann::json& job = out["jobs"][0];
  EXPECT_EQ(job["quota"][0], nlohmann::json::parse(
                                 R"({"flavor": "spot", "resource": "nvidia.com/gpu",
                                     "unit": "items", "needed": 4, "free": 2, "nominal": 8})"));
  const nlohmann::json& steps = job["checks"][0]["steps"];
  EXPECT_EQ(steps[0]["usdPerHour"], "1.04");
  EXPECT_EQ(steps[0]["usd"], "2.08");
  EXPECT_EQ(steps[0]["runSeconds"], 7200);
  EXPECT_EQ(steps[0]["asksFirst"], true);
  EXPECT_TRUE(steps[0]["passedOver"].is_null());
  EXPECT_EQ(steps[1]["passedOver"]["reason"], "PriceLimitExceeded");
  EXPECT_EQ(steps[2]["basis"], "prior");
}

TEST_F(PlanTest, MissingObjectsAreNamed) {
  job_.workload.spec.queue_name = "usr-queue";
  EXPECT_EQ(Refusal().message,
            "no LocalQueue \"usr-queue\" in namespace default: there are user-queue");
  job_.workload.spec.queue_name = "";
  EXPECT_THAT(Refusal().message, HasSubstr("names no queue: set its label"));
  job_.workload.spec.queue_name = "user-queue";
  view_.provisioning_policies.clear();
  EXPECT_THAT(Screen(), HasSubstr("ProvisioningPolicy chain does not exist"));
  view_.provisioning_configs.clear();
  EXPECT_THAT(Screen(), HasSubstr("ProvisioningRequestConfig config does not exist"));
  view_.admission_checks[0].controller_name = "example.com/gate";
  EXPECT_THAT(Screen(), HasSubstr("answered by example.com/gate"));
  view_.admission_checks.clear();
  EXPECT_THAT(Screen(), HasSubstr("AdmissionCheck capacity does not exist"));
  view_.cluster_queues.clear();
  EXPECT_THAT(Screen(), HasSubstr("ClusterQueue team does not exist"));
  view_.hidden = {"clusterqueues"};
  EXPECT_THAT(Screen(), HasSubstr("no right to read ClusterQueues"));
}

TEST_F(PlanTest, WaitingRequestsOfOtherJobsLengthenTheExpectedWait) {
  api::Workload other = MakeRunning("default", "other", "team", {{kGpu, 4}});
  other.spec.pod_sets = job_.workload.spec.pod_sets;
  for (int i = 0; i < 30; ++i) {
    other.meta.uid = "uid-" + std::to_string(i);
    view_.workloads.push_back(other);
    api::ProvisioningRequest request;
    request.meta.namespace_name = "default";
    request.meta.creation_timestamp = SecondsAgo(90000);
    request.meta.annotations[api::kProvisioningStepAnnotation] = "first";
    request.meta.owner_references = {
        {"kueue.x-k8s.io/v1beta2", "Workload", "other", other.meta.uid, true, true}};
    request.provisioning_class_name = api::kQueuedProvisioningClass;
    const auto before = MakePlan(view_, job_)->checks[0].steps[0].eta.p90_seconds;
    view_.provisioning_requests.push_back(request);
    if (i == 29) {
      EXPECT_GT(MakePlan(view_, job_)->checks[0].steps[0].eta.p50_seconds, 90000);
    }
    EXPECT_GE(MakePlan(view_, job_)->checks[0].steps[0].eta.p90_seconds, before);
  }
}

TEST_F(PlanTest, DailyBudgetCountsChargesOfOtherJobs) {
  view_.provisioning_policies[0].max_cost_per_day = *api::Quantity::Parse("3");
  EXPECT_THAT(Screen(), HasSubstr("1 request   first"));
  const auto today = std::chrono::floor<std::chrono::hours>(ViewTime().time_since_epoch()) / 24;
  view_.spend = {{"default/user-queue", {{today.count(), {.charges = {{"a", 1'000'000'000}}}}}}};
  EXPECT_THAT(Screen(), HasSubstr("passed over: would cost 2.08 USD (4 nodes at 0.26 USD an hour "
                                  "for 7200 s), queue default/user-queue has 1 of 3 USD of the "
                                  "day in use, the next day begins at"));
}

TEST_F(PlanTest, RaceShowsItsGreatestWaste) {
  auto& race = view_.provisioning_policies[0].race.emplace();
  race.width = 3;
  view_.provisioning_policies[0].steps[0].zones = {"a", "b", "c"};
  view_.provisioning_policies[0].steps[2].zones = {"a"};
  // Two requests in vain, four nodes each, for a quarter of an hour.
  EXPECT_THAT(Screen(),
              HasSubstr("a race of step first wastes at most 120m of a node, 0.52 USD\n"));
  EXPECT_THAT(Screen(), testing::Not(HasSubstr("race of step third")));
  const nlohmann::json out = PlansJson(view_, {*MakePlan(view_, job_)});
  EXPECT_EQ(out["jobs"][0]["checks"][0]["steps"][0]["raceWaste"],
            nlohmann::json::parse(R"({"nodeSeconds": 7200, "usd": "0.52"})"));
}

TEST_F(PlanTest, CheckForPendingPodsShowsItsSteps) {
  view_.admission_checks[0].controller_name = checks::kReactiveCheckController;
  view_.admission_checks[0].parameters.reset();
  view_.provisioning_configs.clear();
  const std::string screen = Screen();
  EXPECT_THAT(screen, HasSubstr("check capacity, policy chain:\nSTEP"));
  EXPECT_THAT(screen, HasSubstr("first   spot    reactive-capacity"));
  EXPECT_THAT(screen, HasSubstr("passed over: a node costs 0.89 USD an hour, the limit is 0.5"));
  view_.admission_checks[0].meta.annotations.clear();
  EXPECT_THAT(Screen(), HasSubstr("config  any     reactive-capacity"));
}

}  // namespace
}  // namespace berth::view
