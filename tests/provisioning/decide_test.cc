// Goal: the regular course of a provisioning check, and its messages during the wait.
// Method: a small world in which the decisions are performed; the test plays the cloud.
#include "provisioning/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provisioning/request_names.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kTrue;
using ::testing::SizeIs;
using testing::World;

constexpr auto kFalse = api::ConditionStatus::kFalse;
const char kPr[] = "job-sample-job-e80e2-dws-prov-1";

TEST(DecideTest, CreatesTemplateThenRequestThenOwnership) {
  World world;
  world.Settle();
  EXPECT_THAT(world.log, ElementsAre("template ppt-job-sample-job-e80e2-dws-prov-1-main",
                                     std::string("request ") + kPr,
                                     "own ppt-job-sample-job-e80e2-dws-prov-1-main"));
  const api::ProvisioningRequest& request = world.requests.front();
  EXPECT_EQ(request.meta.namespace_name, "default");
  EXPECT_EQ(request.provisioning_class_name, "queued-provisioning.gke.io");
  EXPECT_TRUE(request.parameters.empty());
  EXPECT_EQ(request.meta.labels.at(api::kManagedLabel), "true");
  EXPECT_EQ(api::ControllerOf(request.meta)->uid, "wl-uid");
  EXPECT_EQ(request.pod_sets.front().count, 1);
  EXPECT_THAT(world.events, ElementsAre(std::string("ProvisioningRequestCreated: Created "
                                                    "ProvisioningRequest: \"") +
                                        kPr + "\""));
  EXPECT_EQ(world.check_writes, 0) << "nothing changed: nothing is written";
}

TEST(DecideTest, ProvisionedRequestMakesTheCheckReadyAndIsDeletedAtTheEnd) {
  World world;
  world.Settle();
  world.Answer("Accepted", kFalse, "NotAccepted", "Provisioning Request wasn't accepted.");
  world.Settle();
  EXPECT_EQ(world.check_writes, 0);
  world.Answer("Accepted", kTrue, "SuccessfullyQueued", "was successfully queued.");
  world.Answer("Provisioned", kFalse, "ResourcePoolExhausted", "Waiting for resources.");
  world.Settle();
  EXPECT_EQ(world.check().message, "Waiting for resources.");
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  world.Pass(20);
  world.Provision();
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_EQ(world.check().message, "It is there.");
  EXPECT_EQ(world.check().last_transition_time, world.now);
  ASSERT_THAT(world.check().pod_set_updates, SizeIs(1));
  const api::PodSetUpdate& update = world.check().pod_set_updates.front();
  EXPECT_EQ(update.annotations.at(api::kConsumeProvisioningRequestAnnotation), kPr);
  EXPECT_EQ(update.annotations.at(api::kProvisioningClassAnnotation), "queued-provisioning.gke.io");
  EXPECT_EQ(update.tolerations.front().key, api::kGkeQueuedTaint);
  EXPECT_EQ(world.check_writes, 2);
  EXPECT_THAT(world.events.back(),
              HasSubstr("Admission check dws-prov updated state from Pending to Ready with "
                        "message: It is there."));

  world.Admit();
  world.Answer("BookingExpired", kTrue, "BookingExpired", "over");
  EXPECT_EQ(world.Settle(), 0) << "the booking's end is normal once admitted";
  world.SetCondition(api::kFinished, kTrue, "Succeeded");
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_THAT(world.templates, IsEmpty());
}

void WaitFor(World& world, const char* reason) {
  world.SetCondition(api::kQuotaReserved, api::ConditionStatus::kFalse, reason);
}

TEST(DecideTest, LostReservationWithoutAnEvictionKeepsItsRequest) {
  struct ReservationRow {
    const char* what;
    std::function<void(World&)> change;
    bool keeps;
  };
  const ReservationRow rows[] = {
      {"taken away", [](World& world) { world.workload.status.conditions.clear(); }, true},
      {"waiting", [](World& world) { WaitFor(world, "WaitingForQuota"); }, true},
      {"evicted", [](World& world) { world.Evict(); }, false},
      {"deactivated", [](World& world) { world.workload.spec.active = false; }, false},
      {"the queue is stopped", [](World& world) { WaitFor(world, "Suspended"); }, false},
      {"the queue is gone", [](World& world) { WaitFor(world, "Misconfigured"); }, false},
      {"the job is on hold", [](World& world) { WaitFor(world, "OnHold"); }, false}};
  for (const ReservationRow& row : rows) {
    SCOPED_TRACE(row.what);
    World world;
    world.Settle();
    ASSERT_EQ(world.requests.size(), 1U);
    const std::string name = world.requests[0].meta.name;
    world.workload.status.admission.reset();
    row.change(world);
    world.Settle();
    ASSERT_EQ(world.requests.size(), row.keeps ? 1U : 0U);
    if (!row.keeps) continue;
    world.GiveQuota();
    world.Settle();
    ASSERT_EQ(world.requests.size(), 1U);
    EXPECT_EQ(world.requests[0].meta.name, name);
  }
}

TEST(DecideTest, WaitingForDaysWritesNothing) {
  World world;
  world.Settle();
  world.Answer("Accepted", kTrue, "SuccessfullyQueued", "queued");
  world.Answer("Provisioned", kFalse, "ResourcePoolExhausted", "Waiting.");
  world.Settle();
  const int writes = world.check_writes;
  for (int hour = 0; hour < 72; ++hour) {
    world.Pass(3600);
    // An autoscaler that rewrites its condition at every retry.
    world.requests.back().conditions.back().last_transition_time = world.now;
    world.Settle();
  }
  EXPECT_EQ(world.check_writes, writes);
  EXPECT_THAT(world.RequestNames(), ElementsAre(kPr));
}

TEST(DecideTest, EarlyRefusalOfARequestIsShownInTheCheckMessage) {
  World world;
  world.Settle();
  world.Answer("Accepted", kFalse, "NoQueuedNodepoolAvailable", "No nodepool is available");
  world.Settle();
  EXPECT_EQ(world.check().message, "No nodepool is available");
}

TEST(DecideTest, ParametersOfTheWorkloadComeBeforeTheConfigs) {
  World world;
  world.config.parameters = {{"maxRunDurationSeconds", "60"}, {"other", "x"}};
  world.workload.meta.annotations = {{"provreq.kueue.x-k8s.io/maxRunDurationSeconds", "600"},
                                     {"provreq.kueue.x-k8s.io/ValidUntilSeconds", "3600"},
                                     {"unrelated", "y"}};
  world.Settle();
  EXPECT_EQ(world.requests.front().parameters,
            (api::StringMap{
                {"ValidUntilSeconds", "3600"}, {"maxRunDurationSeconds", "600"}, {"other", "x"}}));
  EXPECT_THAT(world.RequestNames(), ElementsAre(kPr)) << "and is not taken for out of sync";
}

TEST(DecideTest, CpuOnlyNeedsNoRequest) {
  World world;
  world.workload.spec.pod_sets[0].pod_template.spec.containers[0].requests = {{"cpu", 100}};
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_EQ(world.check().message, "the provisioning request is not needed");
}

TEST(DecideTest, WorkloadWithoutARequestHasNoPodSetUpdates) {
  World world;
  world.workload.spec.pod_sets[0].pod_template.spec.containers[0].requests = {{"cpu", 100}};
  world.check().pod_set_updates.push_back({.name = "main"});
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_THAT(world.check().pod_set_updates, IsEmpty());
}

TEST(DecideTest, LaterOfTwoMatchingRequestsIsKept) {
  World world;
  world.Settle();
  const std::string later = "job-sample-job-e80e2-dws-prov-2";
  api::ProvisioningRequest request = world.requests.front();
  request.meta.name = later;
  request.pod_sets.front().pod_template_name = TemplateName(later, "main");
  world.requests.insert(world.requests.begin(), request);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(later));
}

TEST(DecideTest, OnlyPodSetsWithManagedResourcesAreRequestedAndUpdated) {
  World world;
  world.workload.spec.pod_sets.clear();
  world.AddPodSet("launcher", 1, {{"cpu", 100}});
  world.AddPodSet("worker", 4, {{"nvidia.com/gpu", 1}});
  world.GiveQuota();
  world.Settle();
  ASSERT_THAT(world.requests.front().pod_sets, SizeIs(1));
  EXPECT_EQ(world.requests.front().pod_sets.front().count, 4);
  world.Provision();
  world.Settle();
  ASSERT_THAT(world.check().pod_set_updates, SizeIs(1));
  EXPECT_EQ(world.check().pod_set_updates.front().name, "worker");
}

TEST(DecideTest, MessageNamesAClassWithoutAnAnswer) {
  World world;
  world.config.provisioning_class_name = "queued-provisoning.gke.io";
  world.Settle();
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(120));
  world.Pass(119);
  world.Settle();
  EXPECT_EQ(world.check().message, "");
  world.Pass(1);
  world.Settle();
  EXPECT_EQ(world.check().message,
            "no controller has answered for class \"queued-provisoning.gke.io\"");
  EXPECT_FALSE(world.last.next_wake.has_value());
}

TEST(DecideTest, WithoutConfigTheCheckIsNotActive) {
  World world;
  world.has_config = false;
  world.Settle();
  EXPECT_EQ(world.check().message, "the check is not active");
  world.has_config = true;
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(kPr));
  world.Provision();
  world.Settle();
  world.Admit();
  world.has_config = false;
  EXPECT_EQ(world.Settle(), 0) << "what runs is left alone";
}

TEST(DecideTest, PendingCheckDoesNotDelayAnotherCheck) {
  World world;
  world.Settle();
  world.Provision();
  world.workload.status.admission_checks.insert(
      world.workload.status.admission_checks.begin(),
      {.name = "a-first-check", .last_transition_time = world.now});
  world.Settle();
  EXPECT_EQ(world.workload.status.admission_checks[1].state, api::CheckState::kReady);
  EXPECT_THAT(world.requests, SizeIs(2));
}

TEST(DecideTest, RestartAfterEachActionLeadsToTheSameRequest) {
  // Killed after every single action: done actions are recognised, and only the rest is performed.
  for (std::size_t done = 0; done <= 2; ++done) {
    World world;
    const Decision decision = Decide(world.Observe(), world.options, world.now);
    World killed;
    if (done >= 1) {
      killed.templates = {{std::get<CreateTemplate>(decision.actions[0]).name, "wl-uid"}};
    }
    if (done >= 2) {
      killed.requests = {std::get<CreateRequest>(decision.actions[1]).request};
      killed.requests[0].meta.uid = std::string("uid-of-") + kPr;
      killed.requests[0].meta.creation_timestamp = killed.now;
    }
    killed.Settle();
    EXPECT_THAT(killed.RequestNames(), ElementsAre(kPr));
    ASSERT_THAT(killed.templates, SizeIs(1));
    EXPECT_EQ(killed.templates[0].controller_uid, std::string("uid-of-") + kPr);
  }
}

}  // namespace
}  // namespace berth::provisioning
