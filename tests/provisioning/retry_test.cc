// Goal: the failure paths: retries with backoff, their limit, revocation, changes meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kTrue;
using testing::Pr;
using testing::World;

TEST(RetryTest, RetriesWithADoublingBackoff) {
  World world;
  const int want_delay[] = {60, 120, 240};
  for (int attempt = 1; attempt <= 3; ++attempt) {
    world.Settle();
    EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(attempt)));
    world.Pass(300);  // a long wait must not eat the back-off
    world.Fail();
    world.Settle();
    EXPECT_EQ(world.check().state, api::CheckState::kRetry);
    EXPECT_EQ(world.check().message, "Retrying after failure: No quota.");
    EXPECT_EQ(world.check().requeue_after_seconds, want_delay[attempt - 1]);
    EXPECT_EQ(world.check().last_transition_time, world.now);
    world.Evict();
    EXPECT_EQ(world.check().retry_count, attempt);
    world.Settle();
    EXPECT_THAT(world.requests, IsEmpty());
    EXPECT_THAT(world.templates, IsEmpty());
    world.Pass(want_delay[attempt - 1]);
    world.GiveQuota();
  }
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(4)));
  world.Provision();
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_FALSE(world.check().requeue_after_seconds.has_value());
}

TEST(RetryTest, TheFailureAfterTheLastRetryIsFinal) {
  World world;
  world.config.backoff_limit_count = 1;
  world.Settle();
  world.Fail();
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  world.Evict();
  world.Settle();
  world.GiveQuota();
  world.Settle();
  world.Fail("QuotaExceeded", "Still no quota.");
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRejected);
  EXPECT_EQ(world.check().message, "Still no quota.");
  EXPECT_THAT(world.events, ::testing::Contains("CapacityAdvice: dws-prov: QuotaExceeded (quota): "
                                                "ask the cloud for more quota, or use less at "
                                                "once"));
}

TEST(RetryTest, BackoffIsBoundedAndCountsFromTheFailure) {
  World world;
  world.config.backoff_max_seconds = 100;
  world.config.backoff_limit_count = 100;
  world.check().retry_count = 40;
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(41)));
  world.Fail();
  world.Pass(30);  // we were away when it failed
  world.Settle();
  EXPECT_EQ(world.check().requeue_after_seconds, 70);
}

TEST(RetryTest, FailureIsCountedOnceThoughItsRequestLingers) {
  World world;
  world.Settle();
  world.Fail();
  world.Settle();
  world.Evict();
  world.GiveQuota();  // before anybody cleaned up
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  EXPECT_EQ(world.check().retry_count, 1);
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2)));
}

TEST(RetryTest, RequestSurvivesALossOfItsConfig) {
  World world;
  world.check().retry_count = 1;
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2)));
  world.Pass(10);
  world.Provision();
  world.Settle();
  world.Pass(10);
  world.has_config = false;
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  world.has_config = true;
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2)));
}

TEST(RetryTest, BookingExpiredBeforeAdmissionIsARetry) {
  World world;
  world.Settle();
  world.Provision();
  world.Settle();
  world.Answer("BookingExpired", kTrue, "BookingExpired", "over");
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  EXPECT_EQ(world.check().message, "Retrying after booking expired: over");
}

TEST(RetryTest, RevokedWhileRunningIsRejected) {
  World world;
  world.Settle();
  world.Provision();
  world.Settle();
  world.Admit();
  world.Answer("BookingExpired", kTrue, "BookingExpired", "over");
  world.Answer("CapacityRevoked", kTrue, "CapacityRevoked", "reclaimed");
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRejected);
  EXPECT_EQ(world.check().message, "reclaimed");
}

TEST(RetryTest, ARequestDeletedByHandIsMadeAgainAsTheNextAttempt) {
  World world;
  world.Settle();
  world.requests.clear();
  world.templates.clear();
  world.last_attempt = 1;
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2)));
  EXPECT_FALSE(world.check().retry_count.has_value()) << "no failure";
}

TEST(RetryTest, ChangedConfigReplacesAWaitingRequestOnly) {
  World world;
  world.Settle();
  world.config.parameters = {{"maxRunDurationSeconds", "600"}};
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2)));
  EXPECT_EQ(world.requests.front().parameters, world.config.parameters);
  world.Provision();
  world.Settle();
  world.Admit();
  world.config.parameters["maxRunDurationSeconds"] = "900";
  EXPECT_EQ(world.Settle(), 0);
}

TEST(RetryTest, DeactivationOrDeletionCancelsTheRequest) {
  for (const bool deactivated : {true, false}) {
    World world;
    world.Settle();
    if (deactivated) {
      world.workload.spec.active = false;
    } else {
      world.workload.meta.deletion_timestamp = world.now;
    }
    world.Settle();
    EXPECT_THAT(world.requests, IsEmpty());
    EXPECT_THAT(world.templates, IsEmpty());
  }
}

TEST(RetryTest, MissingTemplatesAreRetriedWithoutCounting) {
  World world;
  world.Settle();
  world.templates.clear();
  world.Fail("FailedToCreatePods", "missing pod templates");
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2)));
  EXPECT_FALSE(world.check().retry_count.has_value());
  world.Fail("FailedToCreatePods", "missing pod templates");
  world.Settle();
  world.Fail("FailedToCreatePods", "missing pod templates");
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(4)));
  world.Fail("FailedToCreatePods", "missing pod templates");
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRetry) << "not for ever";
}

TEST(RetryTest, DeletedTemplateIsCreatedAgain) {
  World world;
  world.Settle();
  world.Answer("Accepted", api::ConditionStatus::kFalse, "MissingPodTemplates", "will fail soon");
  world.templates.clear();
  world.Settle();
  ASSERT_EQ(world.templates.size(), 1U);
  EXPECT_EQ(world.templates[0].controller_uid, "uid-of-" + Pr(1));
}

TEST(RetryTest, LongNamesRetryToo) {
  World world;
  world.workload.meta.name = std::string(240, 'w');
  world.Settle();
  world.Fail();
  world.Settle();
  world.Evict();
  world.Settle();
  world.GiveQuota();
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  EXPECT_LE(world.requests[0].meta.name.size(), 253U);
  EXPECT_EQ(world.requests[0].meta.name.substr(world.requests[0].meta.name.size() - 2), "-2");
}

}  // namespace
}  // namespace berth::provisioning
