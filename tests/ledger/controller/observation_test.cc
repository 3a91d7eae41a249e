// Goal: each state of a Workload names the right attempts, whatever was seen before.
// Method: a Workload is led through its life by the functions of admission/lifecycle, and the
// records of every step are compared.
#include "ledger/controller/observation.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/lifecycle/workload_lifecycle.h"
#include "api/reasons.h"

namespace berth::ledger {
namespace {

using namespace std::chrono_literals;

constexpr Seconds kCreated = 1'767'225'600;

class ObservationTest : public ::testing::Test {
 protected:
  ObservationTest() {
    workload_.meta.namespace_name = "team";
    workload_.meta.name = "job-train";
    workload_.meta.uid = "u";
    workload_.meta.creation_timestamp = FromSeconds(kCreated);
    workload_.meta.labels = {{"kueue.x-k8s.io/job-uid", "j"}, {"team", "vision"}};
    workload_.meta.owner_references = {
        {.api_version = "batch/v1", .kind = "Job", .name = "train", .controller = true}};
    workload_.spec.queue_name = "lq";
    workload_.spec.priority = 7;
  }
  static WallTime At(Seconds seconds) { return FromSeconds(kCreated + seconds); }

  void Reserve(Seconds at) {
    api::Admission admission{.cluster_queue = "cq"};
    admission.pod_set_assignments.push_back({.name = "main",
                                             .flavors = {{"cpu", "spot"}},
                                             .resource_usage = {{"cpu", 4000}},
                                             .count = 1});
    admission.pod_set_assignments.push_back({.name = "more",
                                             .flavors = {{"cpu", "spot"}},
                                             .resource_usage = {{"cpu", 500}},
                                             .count = 1});
    admission::ReserveQuota(workload_.status, admission, {}, 1, At(at));
  }
  void Release(Seconds at) {
    workload_.status.admission.reset();
    admission::SetUnadmitted(workload_.status, api::kWaitingForQuota, "", 1, At(at));
    Set(api::kAdmitted, false, api::kNoReservation, at);
    Set(api::kRequeued, true, "Preempted", at);
  }
  void Set(const char* type, bool value, const char* reason, Seconds at) {
    api::SetCondition(workload_.status.conditions,
                      {.type = type,
                       .status = value ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                       .reason = reason,
                       .last_transition_time = At(at)});
  }
  void Preempt(Seconds at) {
    admission::Preempt(workload_.status, api::kInClusterQueue,
                       "Preempted to accommodate a workload (UID: p, JobUID: q) due to …", 1,
                       At(at));
  }
  // The records, told at `at`.
  std::vector<AttemptRecord> Told(Seconds at) const { return AttemptsOf(workload_, At(at)); }

  AttemptRecord Base(std::int64_t number, Seconds queued) const {
    return {.uid = "u",
            .attempt = number,
            .namespace_name = "team",
            .name = "job-train",
            .owner_kind = "Job",
            .owner_name = "train",
            .local_queue = "lq",
            .priority = 7,
            .labels = "team=vision",
            .created = kCreated,
            .queued = kCreated + queued};
  }

  api::Workload workload_;
};

TEST_F(ObservationTest, PendingWorkloadHasItsRequestsAndItsWait) {
  workload_.status.resource_requests = {{"main", {{"cpu", 4000}}}, {"more", {{"cpu", 500}}}};
  admission::SetUnadmitted(workload_.status, api::kWaitingForQuota, "", 1, At(2));
  AttemptRecord expected = Base(1, 0);
  expected.resources = {{"", "cpu", 4500}};
  expected.waits = {{kCreated + 5, "WaitingForQuota"}};
  EXPECT_THAT(Told(5), ::testing::ElementsAre(expected));
}

TEST_F(ObservationTest, PreemptionEndsTheFirstAttemptAndBeginsTheSecond) {
  Reserve(10);
  Set(api::kPodsReady, true, "Started", 12);
  AttemptRecord first = Base(1, 0);
  first.cluster_queue = "cq";
  first.reserved = first.admitted = kCreated + 10;
  first.started = kCreated + 12;
  first.resources = {{"spot", "cpu", 4500}};
  EXPECT_THAT(Told(20), ::testing::ElementsAre(first));

  Preempt(30);
  first.ended = kCreated + 30;
  first.outcome = kPreempted;
  first.reason = api::kInClusterQueue;
  first.message = "Preempted to accommodate a workload (UID: p, JobUID: q) due to …";
  first.preemptor = "p";
  EXPECT_THAT(Told(31), ::testing::ElementsAre(first));

  Release(35);
  AttemptRecord second = Base(2, 35);
  second.waits = {{kCreated + 36, "WaitingForQuota"}};
  AttemptRecord released = Base(1, 30);
  released.ended = first.ended;
  released.outcome = first.outcome;
  released.reason = first.reason;
  released.message = first.message;
  released.preemptor = "p";
  EXPECT_THAT(Told(36), ::testing::ElementsAre(released, second));

  Reserve(50);
  Set(api::kPodsReady, false, "", 35);
  second = Base(2, 35);
  second.cluster_queue = "cq";
  second.reserved = second.admitted = kCreated + 50;
  second.resources = first.resources;
  EXPECT_THAT(Told(51), ::testing::ElementsAre(second));

  Set(api::kFinished, true, api::kSucceeded, 90);
  second.ended = kCreated + 90;
  second.outcome = kSucceeded;
  second.reason = api::kSucceeded;
  EXPECT_THAT(Told(91), ::testing::ElementsAre(second));
}

// What makes runs alike, for forecasts.
TEST_F(ObservationTest, AttemptHasImagesAndTheDeclaredMaximum) {
  const auto told = [this] { return Told(0).at(0); };
  EXPECT_EQ(told().image, "");
  EXPECT_EQ(told().declared, std::nullopt);
  api::PodSet pods;
  pods.pod_template.spec.containers.emplace_back().image = "train:3";
  pods.pod_template.spec.containers.emplace_back().image = "sidecar:1";
  workload_.spec.pod_sets = std::vector<api::PodSet>{pods, pods};
  workload_.meta.annotations["provreq.kueue.x-k8s.io/maxRunDurationSeconds"] = "600";
  EXPECT_EQ(told().image, "train:3,train:3,");
  EXPECT_EQ(told().declared, 600);
  workload_.spec.maximum_execution_time_seconds = 300;
  EXPECT_EQ(told().declared, 300);
  EXPECT_EQ(told().checkpoint, std::nullopt);
  workload_.meta.annotations["berth.dev/checkpoint-every"] = "90.5s";
  EXPECT_EQ(told().checkpoint, 91);
}

TEST_F(ObservationTest, DeactivatedWorkloadHasNoFurtherAttempt) {
  Reserve(10);
  admission::Evict(workload_.status, {"Deactivated", "The workload is deactivated", ""}, 1, At(20));
  workload_.spec.active = false;
  Release(25);
  const auto told = Told(30);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].attempt, 1);
  EXPECT_EQ(told[0].outcome, kEvicted);
  EXPECT_EQ(told[0].reason, "Deactivated");
}

TEST_F(ObservationTest, PodsOfAnEarlierAttemptDoNotCount) {
  Set(api::kPodsReady, true, "Started", 5);
  Reserve(10);
  EXPECT_EQ(Told(11)[0].started, std::nullopt);
}

TEST_F(ObservationTest, FinishedReasonDecidesTheOutcome) {
  Reserve(10);
  auto finish = [&](const char* reason) {
    Set(api::kFinished, true, reason, 20);
    return Told(21)[0].outcome;
  };
  EXPECT_EQ(finish(api::kFailed), kFailed);
  EXPECT_EQ(finish(api::kFailedToStart), kFailed);
  EXPECT_EQ(finish(api::kWorkloadSliceReplaced), kFinished);
  EXPECT_EQ(finish(api::kOwnerNotFound), kDeleted);
}

TEST(GpusOfAttemptsTest, SharesOfAGpuCountAsPartsOfAGpu) {
  const auto use = [](const char* flavor, const char* resource, api::Amount amount) {
    return ResourceUse{flavor, resource, amount};
  };
  const SharesByFlavor shares{{"shared", {{"nvidia.com/gpu", 3}}},
                              {"sliced", {{"vendor.example/part", 2}}}};
  AttemptRecord attempt;
  attempt.resources = {use("", "nvidia.com/gpu", 9),        use("counted", "berth.dev/gpus", 5),
                       use("counted", "nvidia.com/gpu", 1), use("cpus", "cpu", 1000),
                       use("shared", "nvidia.com/gpu", 4),  use("sliced", "vendor.example/part", 3),
                       use("whole", "nvidia.com/gpu", 2)};
  std::vector<ResourceUse> expected = attempt.resources;
  AddGpus(shares, attempt.resources);
  expected.push_back(use("shared", "berth.dev/gpus", 1'333'333));
  expected.push_back(use("sliced", "berth.dev/gpus", 1'500'000));
  expected.push_back(use("whole", "berth.dev/gpus", 2'000'000));
  EXPECT_THAT(attempt.resources, ::testing::UnorderedElementsAreArray(expected));
  EXPECT_TRUE(std::is_sorted(attempt.resources.begin(), attempt.resources.end()));
  const std::vector<ResourceUse> once = attempt.resources;
  AddGpus(shares, attempt.resources);
  EXPECT_EQ(attempt.resources, once);
}

TEST_F(ObservationTest, TheRecordOfARequestFollowsItsConditions) {
  api::ProvisioningRequest request;
  request.meta = {.namespace_name = "team", .name = "r", .uid = "ru"};
  request.meta.creation_timestamp = At(0);
  request.meta.owner_references = {{.kind = "Workload", .name = "job-train", .controller = true}};
  request.provisioning_class_name = "queued";
  CapacityRecord expected{.uid = "ru",
                          .namespace_name = "team",
                          .name = "r",
                          .class_name = "queued",
                          .workload = "job-train",
                          .created = kCreated};
  EXPECT_EQ(RequestOf(request), expected);
  const auto add = [&](const char* type, Seconds at) {
    request.conditions.push_back({.type = type,
                                  .status = api::ConditionStatus::kTrue,
                                  .reason = "Why",
                                  .last_transition_time = At(at)});
  };
  add("Provisioned", 60);
  expected.provisioned = kCreated + 60;
  EXPECT_EQ(RequestOf(request), expected);
  add("BookingExpired", 90);
  expected.ended = kCreated + 90;
  expected.outcome = "BookingExpired";
  expected.reason = "Why";
  EXPECT_EQ(RequestOf(request), expected);
}

}  // namespace
}  // namespace berth::ledger
