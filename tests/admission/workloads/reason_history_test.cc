// Goal: reasons are distinguished by their obstacles, counted, and dropped in order.

#include "admission/workloads/reason_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::admission {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kStart{1'767'225'600s};

std::shared_ptr<const StatedReason> Stated(const std::string& reason, std::uint64_t cause,
                                           const std::string& message = "") {
  return std::make_shared<const KnownReason>(reason, message, cause);
}

TEST(ReasonHistory, CountsRepeatedReasonsAndKeepsTheLatestMessage) {
  ReasonHistory history;
  history.Note(Stated("WaitingForQuota", 1, "3 more needed"), kStart);
  EXPECT_FALSE(history.IsStory());
  history.Note(Stated("WaitingForQuota", 1, "2 more needed"), kStart + 10s);
  history.Note(Stated("WaitingForPreemptedWorkloads", 1, "pending"), kStart + 20s);
  history.Note(Stated("WaitingForQuota", 1, "1 more needed"), kStart + 30s);
  ASSERT_EQ(history.reasons().size(), 2U) << "same cause, other word: another reason";
  EXPECT_TRUE(history.IsStory());
  const PastReason& latest = history.reasons().back();
  EXPECT_EQ(latest.stated->message(), "1 more needed");
  EXPECT_EQ(latest.count, 3);
  EXPECT_EQ(latest.first, kStart);
  EXPECT_EQ(latest.last, kStart + 30s);
  EXPECT_EQ(history.reasons().front().count, 1);
}

TEST(ReasonHistory, IsBounded) {
  ReasonHistory history;
  for (std::uint64_t i = 0; i < 100; ++i) history.Note(Stated("R", i), kStart + 1s * i);
  ASSERT_EQ(history.reasons().size(), ReasonHistory::kCapacity);
  EXPECT_EQ(history.reasons().front().stated->cause(), 100 - ReasonHistory::kCapacity);
  history.Note(Stated("R", 100 - ReasonHistory::kCapacity), kStart + 200s);
  EXPECT_EQ(history.reasons().back().count, 2) << "the oldest had not gone yet";
}

TEST(ReasonHistory, ContinuesItsCountsAfterARestore) {
  ReasonHistory history;
  history.Restore({Stated("A", 1), kStart, kStart + 60s, 7});
  history.Restore({Stated("B", 2), kStart, kStart + 30s, 2});
  history.Note(Stated("A", 1), kStart + 90s);
  ASSERT_EQ(history.reasons().size(), 2U);
  EXPECT_EQ(history.reasons().front().stated->reason(), "B");
  EXPECT_EQ(history.reasons().back().count, 8);
  EXPECT_EQ(history.reasons().back().first, kStart);
}

Vocabulary NamesInOrder(const std::vector<std::string>& order) {
  Vocabulary names;
  for (const std::string& name : order) {
    names.resources.Intern(name);
    names.flavors.Intern(name);
  }
  return names;
}

// Numbers follow the order in which names come, which differs after a restart.
TEST(CauseOf, DoesNotDependOnTheOrderOfNames) {
  const auto cause = [](const Vocabulary& names) {
    Decision decision;
    decision.assignment.pod_sets.emplace_back();
    Obstacle obstacle;
    obstacle.resource = names.resources.Find("gpu");
    obstacle.flavor = names.flavors.Find("spot");
    decision.assignment.pod_sets[0].obstacles.push_back(obstacle);
    return CauseOf(decision, names);
  };
  EXPECT_EQ(cause(NamesInOrder({"gpu", "spot"})), cause(NamesInOrder({"cpu", "spot", "gpu"})));
}

TEST(CauseOf, IgnoresAmountsAndSeesKindsOfObstacles) {
  const Vocabulary names = NamesInOrder({"a", "b", "c", "d"});
  Decision decision;
  decision.outcome = Outcome::kNoFit;
  decision.assignment.pod_sets.emplace_back();
  Obstacle obstacle;
  obstacle.kind = Obstacle::Kind::kInsufficientQuota;
  obstacle.resource = 1;
  obstacle.flavor = 2;
  obstacle.limit = 5;
  decision.assignment.pod_sets[0].obstacles.push_back(obstacle);
  const std::uint64_t cause = CauseOf(decision, names);
  const auto other = [&](const std::function<void(Decision&)>& change) {
    Decision changed = decision;
    change(changed);
    return CauseOf(changed, names);
  };
  EXPECT_EQ(other([](Decision& d) { d.assignment.pod_sets[0].obstacles[0].limit = 1; }), cause);
  EXPECT_NE(other([](Decision& d) { d.assignment.pod_sets[0].obstacles[0].flavor = 3; }), cause);
  EXPECT_NE(other([](Decision& d) { d.assignment.pod_sets[0].obstacles[0].resource = 3; }), cause);
  EXPECT_NE(other([](Decision& d) { d.outcome = Outcome::kNoCandidates; }), cause);
  EXPECT_NE(other([](Decision& d) { d.remark = Remark::kNoLongerFits; }), cause);
  EXPECT_NE(other([](Decision& d) { d.assignment.pod_sets.emplace_back(); }), cause);
}

}  // namespace
}  // namespace berth::admission
