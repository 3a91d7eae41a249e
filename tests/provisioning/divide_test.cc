// Goal: pods that need not start together are asked for in parts, one after the other; the first
// part starts the job, later parts end nothing; whoever crashes, no pod is asked for twice.
// Method: the small world of world.h; the test plays the cloud. 100 random stories with crashes; a
// failing seed is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/provisioning_labels.h"
#include "base/random.h"
#include "provisioning/asked_requests.h"
#include "provisioning/race.h"
#include "provisioning/request_state.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Pr;
using ::testing::SizeIs;
using testing::World;

// Five pods, two nodes a request, one pod a node.
World FivePods() {
  World world;
  world.workload.spec.pod_sets[0].count = 5;
  world.workload.meta.annotations[api::kDivisibleAnnotation] = "true";
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}};
  world.policy->split.emplace();
  world.policy->split->mode = api::ProvisioningSplit::Mode::kDivide;
  world.policy->split->max_nodes = 2;
  world.policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
  world.GiveQuota();
  return world;
}

std::vector<std::int64_t> Sizes(const World& world) {
  std::vector<std::int64_t> sizes;
  for (const api::ProvisioningRequest& each : world.requests) sizes.push_back(PodsOf(each));
  return sizes;
}

TEST(DivideTest, PartsAreRequestedOneAfterAnother) {
  World world = FivePods();
  world.Settle();
  EXPECT_THAT(Sizes(world), ElementsAre(2));
  EXPECT_EQ(world.requests[0].meta.annotations.at(api::kDividedAnnotation), "5");
  EXPECT_EQ(world.check().state, CheckState::kPending);
  world.Provision();
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kReady) << "the first part starts the job";
  EXPECT_THAT(Sizes(world), ElementsAre(2, 2));
  world.Admit();
  world.Provision();
  world.Settle();
  EXPECT_THAT(Sizes(world), ElementsAre(2, 2, 1));
  world.Provision();
  world.Settle();
  EXPECT_THAT(Sizes(world), ElementsAre(2, 2, 1));
  ASSERT_THAT(world.check().pod_set_updates, SizeIs(1));
  EXPECT_EQ(
      world.check().pod_set_updates[0].annotations.at(api::kConsumeProvisioningRequestAnnotation),
      Pr(1));
  world.SetCondition(api::kFinished, testing::kTrue, "Succeeded");
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
}

TEST(DivideTest, FailedLaterPartIsRequestedAgainAndKeepsTheCheckReady) {
  World world = FivePods();
  world.Settle();
  world.Provision();
  world.Settle();
  world.Admit();
  world.Fail();
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kReady);
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(1), Pr(2))) << "the backoff has not passed";
  ASSERT_TRUE(world.last.next_wake);
  EXPECT_EQ(*world.last.next_wake, Duration(std::chrono::seconds(60)));
  world.Pass(60);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(1), Pr(3)));
  EXPECT_THAT(Sizes(world), ElementsAre(2, 2));
  world.Fail();
  world.Settle();
  ASSERT_TRUE(world.last.next_wake);
  EXPECT_GE(*world.last.next_wake, Duration(std::chrono::seconds(60)));
}

TEST(DivideTest, PodsThatHaveFinishedNeedNoNodes) {
  World world = FivePods();
  world.Settle();
  world.Provision();
  world.Settle();
  world.Provision();
  world.workload.status.reclaimable_pods = {{"main", 1}};
  world.Settle();
  EXPECT_THAT(Sizes(world), ElementsAre(2, 2));
}

TEST(DivideTest, FailedFirstPartFailsTheStep) {
  World world = FivePods();
  world.Settle();
  world.Fail();
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kRetry);
}

TEST(DivideTest, RevokedCapacityOfOnePartRetriesTheCheck) {
  World world = FivePods();
  world.Settle();
  world.Provision();
  world.Settle();
  world.Provision();
  world.Settle();
  world.Admit();
  world.AnswerTo(world.requests[1], "CapacityRevoked", testing::kTrue, "CapacityRevoked", "Gone.");
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kRetry);
}

TEST(DivideTest, OnlyDivisibleJobsAreDivided) {
  World world = FivePods();
  world.workload.meta.annotations.erase(api::kDivisibleAnnotation);
  world.Settle();
  EXPECT_THAT(Sizes(world), ElementsAre(5));
}

TEST(DivideTest, TheNodesOfThePoolBoundAPart) {
  World world = FivePods();
  world.policy->split->max_nodes = 100;
  world.policy->steps = {{.name = "t4"}};
  world.policy->steps[0].pool = {.name = "t4", .max_nodes = 1, .node = {{"nvidia.com/gpu", 4}}};
  World whole = world;
  world.Settle();
  EXPECT_THAT(Sizes(world), ElementsAre(4)) << "one node takes four pods";
  whole.workload.meta.annotations.erase(api::kDivisibleAnnotation);
  whole.Settle();
  EXPECT_EQ(whole.check().state, CheckState::kRejected);
  EXPECT_THAT(whole.check().message, HasSubstr("needs 2 nodes, pool t4 has at most 1"));
}

TEST(DivideTest, EditOfThePolicyKeepsGrantedParts) {
  World world = FivePods();
  world.Settle();
  world.Provision();
  world.Settle();
  world.Provision();
  world.policy->split.reset();
  world.Settle();
  EXPECT_THAT(Sizes(world), ElementsAre(2, 2));
  EXPECT_EQ(world.check().state, CheckState::kReady);
}

TEST(DivideTest, NextPartIsRequestedInItsStepThoughAnotherIsQuicker) {
  World world = FivePods();
  world.policy->steps = {{.name = "own"}, {.name = "quick", .flavor = "quick"}};
  world.policy->steps.front().min_eta_gain_seconds = 60;
  world.stock.emplace();
  world.Settle();
  world.Provision();
  world.Settle();
  world.Admit();
  world.Provision();
  for (api::ProvisioningRequest& each : world.requests) {  // ten minutes after the grant
    world.AnswerTo(each, "BookingExpired", testing::kTrue, "BookingExpired", "m");
  }
  const auto learn = [&world](const std::vector<std::string>& flavors, const std::string& flavor,
                              std::int64_t wait) {
    StockLesson lesson{.provisioning_class = world.config.provisioning_class_name,
                       .key = *StockKeyOf(world.workload, world.config, flavor, flavors)};
    lesson.at = world.now;
    for (int at = 0; at < 20; ++at) {
      lesson.outcome = {.id = std::to_string(wait) + "-" + std::to_string(at),
                        .asked_at = world.now - std::chrono::seconds(wait),
                        .wait_seconds = wait,
                        .pods = 2,
                        .result = api::StockResult::kGranted};
      world.stock->Record(lesson);
    }
  };
  learn(FlavorsOf(world.workload), "", 7200);
  learn({"quick"}, "quick", 60);
  world.Settle();
  EXPECT_THAT(Sizes(world), ElementsAre(2, 2, 1));
}

// The requests together are never for more pods than the job has, and in the end for all of them.
TEST(DivideStoryTest, EachPodIsRequestedOnceDespiteCrashes) {
  int whole = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    World world = FivePods();
    for (int step = 0; step < 80; ++step) {
      world.Pass(static_cast<int>(random.Below(120)));
      if (!world.requests.empty() && IsOpen(StateOf(world.requests.back()))) {
        if (random.Below(2) == 0)
          world.Provision();
        else if (random.Below(4) == 0)
          world.Fail("ResourcePoolExhausted", "None.");
      }
      world.crash_after = random.Below(2) == 0 ? static_cast<int>(random.Below(4)) : -1;
      world.Settle();
      world.crash_after = -1;
      std::int64_t granted = 0;
      std::int64_t open = 0;
      for (const api::ProvisioningRequest& each : world.requests) {
        if (GrantedAt(each)) granted += PodsOf(each);
        if (IsOpen(StateOf(each))) open += PodsOf(each);
      }
      EXPECT_LE(granted + open, 5);
      if (world.check().state == CheckState::kReady) {
        EXPECT_GT(granted, 0);
        world.Admit();
      } else {
        EXPECT_LE(open, 2);
      }
      if (world.check().state == CheckState::kRetry) {
        world.Evict();
        world.Settle();
        EXPECT_THAT(world.requests, IsEmpty());
        world.Pass(3600);
        world.GiveQuota();
      }
      if (granted == 5) {
        ++whole;
        break;
      }
    }
  }
  EXPECT_GT(whole, 80);
}

}  // namespace
}  // namespace berth::provisioning
