// Goal: a workload that waits long gets a place, and no other one starts that would delay it;
// nobody else is held back. Method: worlds of a few workloads with declared maxima, cycle by cycle.
#include <chrono>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/pending_order.h"
#include "api/condition.h"
#include "api/queue_policy.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using std::chrono::hours;
using support::KeyOf;
using support::MakeCohort;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

api::Workload Job(const std::string& name, const std::string& queue, std::int32_t gpus,
                  std::optional<hours> most = std::nullopt, std::int32_t priority = 0) {
  api::Workload workload = MakeJob(name, queue, gpus, {{"gpu", 1}}, priority);
  if (most) {
    workload.spec.maximum_execution_time_seconds =
        static_cast<std::int32_t>(std::chrono::seconds(*most).count());
  }
  return workload;
}

api::ClusterQueue Queue(const std::string& name, api::Amount gpus, api::StringMap annotations) {
  api::ClusterQueue queue = MakeQueue(name, "", {{"f", {{"gpu", gpus}}}});
  queue.meta.annotations = std::move(annotations);
  return queue;
}

const api::StringMap kAfterAnHour{{api::kReserveAfterAnnotation, "1h"}};

class KeptPlacesTest : public ::testing::Test {
 protected:
  // "long" runs on two of the GPUs for ten hours at most; "wide" needs four, and waits for two
  // hours.
  void Begin(api::Amount gpus, const api::StringMap& annotations) {
    world_ = std::make_unique<TableWorld>(std::vector<std::string>{"f"},
                                          std::vector{Queue("q", gpus, annotations)});
    world_->Apply(Job("long", "q", 2, hours(10)));
    EXPECT_EQ(world_->Cycle(), "long Admitted");
    world_->Apply(Job("wide", "q", 4, hours(5)));
    EXPECT_NE(world_->Cycle(), "wide Admitted");
    world_->Advance(hours(2));
  }
  std::string Try(const api::Workload& workload) {
    world_->Apply(workload);
    return world_->Cycle();
  }

  std::unique_ptr<TableWorld> world_;
};

TEST_F(KeptPlacesTest, AdmitsAWorkloadThatEndsBeforeThePlace) {
  Begin(4, kAfterAnHour);
  EXPECT_EQ(Try(Job("short", "q", 1, hours(7))), "short Admitted");
}

TEST_F(KeptPlacesTest, SkipsAWorkloadThatWouldDelayThePlace) {
  Begin(4, kAfterAnHour);
  EXPECT_EQ(Try(Job("slow", "q", 1, hours(20))), "slow Skipped");
  EXPECT_THAT(
      world_->MessageOf("slow"),
      testing::StartsWith("Workload fits, but would delay default/wide, for which the queue "
                          "keeps a place at "));
  EXPECT_EQ(world_->Of("slow").held_for->meta.name, "wide");
}

TEST_F(KeptPlacesTest, ReportsAQueuesPlacesAndItsWaitBeforeAPlace) {
  Begin(4, kAfterAnHour);
  world_->Cycle();
  const KeptPlaces& places = world_->scheduler().kept_places();
  ASSERT_EQ(places.standings().size(), 1U);
  EXPECT_EQ(places.standings()[0].after, hours(1));
  EXPECT_EQ(places.standings()[0].kept, 1);
  ASSERT_EQ(places.places().size(), 1U);
  EXPECT_EQ(places.Of(places.places()[0].workload), &places.places()[0]);
  EXPECT_EQ(places.places()[0].after, hours(1));
  EXPECT_EQ(places.Of(queue::kNoNode), nullptr);
}

TEST_F(KeptPlacesTest, TheVisibilityApiShowsThePlace) {
  Begin(4, kAfterAnHour);
  world_->Cycle();
  PendingSnapshot snapshot(world_->scheduler(),
                           *world_->scheduler().state().cluster_queues().Find("q"));
  snapshot.Sort();
  const std::vector<api::PendingWorkload> entries = snapshot.Page({});
  ASSERT_EQ(entries.size(), 1U);
  const api::StringMap& annotations = entries[0].meta.annotations;
  EXPECT_EQ(annotations.at(api::kPlaceKeptAfterAnnotation), "3600s");
  EXPECT_EQ(annotations.at(api::kPlaceKeptFromAnnotation),
            FormatTime(world_->scheduler().kept_places().places()[0].at));
}

TEST_F(KeptPlacesTest, WithoutAPolicyNoWorkloadWaitsForAPlace) {
  Begin(4, {});
  EXPECT_EQ(Try(Job("slow", "q", 1, hours(20))), "slow Admitted");
}

TEST_F(KeptPlacesTest, NoPlaceIsKeptBeforeTheTimeOfThePolicy) {
  Begin(4, {{api::kReserveAfterAnnotation, "3h"}});
  EXPECT_EQ(Try(Job("slow", "q", 1, hours(20))), "slow Admitted");
}

TEST_F(KeptPlacesTest, AdmitsAWorkloadThatFitsBesideThePlace) {
  Begin(5, kAfterAnHour);
  EXPECT_EQ(Try(Job("slow", "q", 1, hours(20))), "slow Admitted");
  EXPECT_EQ(Try(Job("second", "q", 1, hours(20))), "second Skipped");
}

TEST_F(KeptPlacesTest, HigherPriorityIsAdmittedDespiteThePlace) {
  Begin(4, kAfterAnHour);
  EXPECT_EQ(Try(Job("urgent", "q", 1, hours(20), 10)), "urgent Admitted");
}

TEST_F(KeptPlacesTest, AWorkloadThatCanNeverFitHasNoPlace) {
  Begin(3, kAfterAnHour);
  EXPECT_EQ(Try(Job("slow", "q", 1, hours(20))), "slow Admitted");
}

TEST_F(KeptPlacesTest, SkippedWorkloadIsAdmittedAfterThePlacesWorkload) {
  Begin(5, kAfterAnHour);
  EXPECT_EQ(Try(Job("slow", "q", 1, hours(20))), "slow Admitted");
  EXPECT_EQ(Try(Job("second", "q", 1, hours(20))), "second Skipped");
  world_->Finish(KeyOf("long"));
  world_->WakeUp();
  EXPECT_EQ(world_->Cycle(), "wide Admitted");
  world_->Finish(KeyOf("slow"));
  world_->WakeUp();
  EXPECT_EQ(world_->Cycle(), "second Admitted");
}

TEST_F(KeptPlacesTest, PlaceEndsWhenItsWorkloadIsDeleted) {
  Begin(4, kAfterAnHour);
  EXPECT_EQ(Try(Job("slow", "q", 1, hours(20))), "slow Skipped");
  world_->DeleteWorkload(KeyOf("wide"));
  world_->WakeUp();
  EXPECT_EQ(world_->Cycle(), "slow Admitted");
}

TEST_F(KeptPlacesTest, KeptPlaceComesBeforeShorterWorkloads) {
  api::StringMap annotations = kAfterAnHour;
  annotations[api::kOrderAnnotation] = "ShortestFirst";
  Begin(4, annotations);
  world_->Apply(Job("short", "q", 4, hours(1)));
  world_->Finish(KeyOf("long"));
  world_->WakeUp();
  EXPECT_EQ(world_->Cycle(), "wide Admitted");
}

// The other queue may borrow what the place does not need.
TEST_F(KeptPlacesTest, ABorrowerDoesNotDelayThePlaceOfAnotherQueue) {
  api::ClusterQueue owner = MakeQueue("owner", "org", {{"f", {{"gpu", 4}}}});
  owner.meta.annotations = kAfterAnHour;
  const api::ClusterQueue borrower = MakeQueue("borrower", "org", {{"f", {{"gpu", 0}}}});
  world_ =
      std::make_unique<TableWorld>(std::vector<std::string>{"f"}, std::vector{owner, borrower});
  EXPECT_EQ(Try(Job("long", "owner", 2, hours(10))), "long Admitted");
  EXPECT_NE(Try(Job("wide", "owner", 4, hours(5))), "wide Admitted");
  world_->Advance(hours(2));
  EXPECT_EQ(Try(Job("slow", "borrower", 2, hours(20))), "slow Skipped");
  EXPECT_EQ(Try(Job("short", "borrower", 2, hours(7))), "short Admitted");
}

TEST_F(KeptPlacesTest, CohortsPolicyAppliesToItsQueues) {
  api::Cohort cohort = MakeCohort("org", "");
  cohort.meta.annotations = kAfterAnHour;
  const api::ClusterQueue inner = MakeQueue("q", "org", {{"f", {{"gpu", 4}}}});
  world_ = std::make_unique<TableWorld>(std::vector<std::string>{"f"}, std::vector{inner});
  world_->Apply(cohort);
  EXPECT_EQ(Try(Job("long", "q", 2, hours(10))), "long Admitted");
  EXPECT_NE(Try(Job("wide", "q", 4, hours(5))), "wide Admitted");
  world_->Advance(hours(2));
  EXPECT_EQ(Try(Job("slow", "q", 1, hours(20))), "slow Skipped");
}

TEST_F(KeptPlacesTest, RunWithoutAMaximumIsEstimatedFromEarlierRuns) {
  Begin(4, kAfterAnHour);
  for (int i = 0; i < static_cast<int>(RunEstimates::kFewestRuns); ++i) {
    const std::string name = "past-" + std::to_string(i);
    world_->Apply(Job(name, "q", 1, hours(2)));
    ASSERT_EQ(world_->Cycle(), name + " Admitted");
    world_->Advance(std::chrono::minutes(10));
    world_->Finish(KeyOf(name));
  }
  EXPECT_EQ(Try(Job("like-them", "q", 1)), "like-them Admitted");
}

// After a restart the Workloads may come before their ClusterQueue.
TEST_F(KeptPlacesTest, RunsAndWaitingWorkloadsFromBeforeTheFirstPolicyCount) {
  api::ClusterQueue queue = MakeQueue("q", "", {{"f", {{"gpu", 4}}}});
  world_ = std::make_unique<TableWorld>(std::vector<std::string>{"f"}, std::vector{queue});
  for (int i = 0; i < static_cast<int>(RunEstimates::kFewestRuns); ++i) {
    const std::string name = "past-" + std::to_string(i);
    ASSERT_EQ(Try(Job(name, "q", 1, hours(2))), name + " Admitted");
    world_->Advance(std::chrono::minutes(10));
    world_->Finish(KeyOf(name));
  }
  ASSERT_EQ(Try(Job("long", "q", 2, hours(10))), "long Admitted");
  ASSERT_NE(Try(Job("wide", "q", 4, hours(5))), "wide Admitted");
  world_->Advance(hours(2));
  world_->Apply(Job("like-them", "q", 1));
  queue.meta.annotations = kAfterAnHour;
  world_->Apply(queue);
  world_->WakeUp();
  std::string tried = world_->Cycle();
  while (world_->HasHeads()) tried += ", " + world_->Cycle();
  EXPECT_THAT(tried, testing::HasSubstr("like-them Admitted"));
}

// Each waited for a minute and ran for two hours, as long as declared; `evicted`: also once before.
void ApplyEndedRuns(TableWorld& world, int count, bool evicted) {
  for (int i = 0; i < count; ++i) {
    api::Workload past =
        Job((evicted ? "evicted-" : "past-") + std::to_string(i), "q", 1, hours(2));
    past.meta.creation_timestamp = world.now() - hours(4);
    past.status.admission = api::Admission{.cluster_queue = "q", .pod_set_assignments = {}};
    const auto add = [&](const char* type, bool value, Duration since_creation) {
      api::SetCondition(
          past.status.conditions,
          {.type = type,
           .status = value ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
           .reason = api::kSucceeded,
           .message = "",
           .last_transition_time = past.meta.creation_timestamp + since_creation});
    };
    const Duration wait = evicted ? Duration(hours(1)) : Duration(std::chrono::minutes(1));
    if (evicted) add(api::kEvicted, false, wait);
    add(api::kQuotaReserved, true, wait);
    add(api::kAdmitted, true, wait);
    add(api::kFinished, true, wait + hours(2));
    world.Apply(past);
  }
}

TEST_F(KeptPlacesTest, WaitsFromBeforeARestartCount) {
  const api::StringMap automatic{{api::kReserveAfterAnnotation, "auto"}};
  world_ = std::make_unique<TableWorld>(std::vector<std::string>{"f"},
                                        std::vector{Queue("q", 4, automatic)});
  ApplyEndedRuns(*world_, static_cast<int>(QueueWaits::kFewest), false);
  ApplyEndedRuns(*world_, 10, true);
  EXPECT_EQ(Try(Job("now", "q", 1, hours(2))), "now Admitted");
  const auto& standings = world_->scheduler().kept_places().standings();
  ASSERT_EQ(standings.size(), 1U);
  EXPECT_EQ(standings[0].after, std::chrono::minutes(61)) << "waits of evicted ones are unknown";
}

TEST_F(KeptPlacesTest, WithoutKnownRunsAWorkloadWithoutAMaximumWaits) {
  Begin(4, kAfterAnHour);
  EXPECT_EQ(Try(Job("unknown", "q", 1)), "unknown Skipped");
}

}  // namespace
}  // namespace berth::admission
