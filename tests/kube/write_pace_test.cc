// Goal: writes that no decision waits for take what the API server's latency leaves, and no rank of
// them starves. Method: answers of a chosen latency, in virtual time.

#include "kube/runtime/write_pace.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using Rank = WritePace::Rank;

class WritePaceTest : public ::testing::Test {
 protected:
  // Answers for `span`, one every 20 ms.
  void Answer(Duration span, Duration latency) {
    for (const SteadyTime end = now_ + span; now_ < end; now_ += 20ms)
      pace_.OnAnswer(now_, latency);
  }
  // How many writes of `rank` begin within `span`.
  int Begun(Rank rank, Duration span) {
    int count = 0;
    for (const SteadyTime end = now_ + span; now_ < end; now_ += 1ms) {
      while (pace_.Take(now_, rank) == Duration::zero()) ++count;
    }
    return count;
  }

  WritePace pace_;
  SteadyTime now_ = SteadyTime{} + 1000s;
};

TEST_F(WritePaceTest, TheRateGrowsWhileAnswersAreFast) {
  const double before = pace_.rate();
  Answer(10s, 2ms);
  EXPECT_GT(pace_.rate(), before);
  Answer(60s, 2ms);
  EXPECT_EQ(pace_.rate(), WritePace::kFastest);
}

TEST_F(WritePaceTest, TheRateFallsWhileAnswersAreSlowAndRecovers) {
  Answer(10s, 2ms);
  Answer(5s, 200ms);
  EXPECT_EQ(pace_.rate(), WritePace::kSlowest);
  Answer(5s, 2ms);
  EXPECT_GT(pace_.rate(), WritePace::kSlowest);
}

TEST_F(WritePaceTest, ServerThatIsAlwaysSlowKeepsItsRate) {
  Answer(10s, 80ms);
  EXPECT_GT(pace_.rate(), WritePace::kFastest / 4);
}

TEST_F(WritePaceTest, WritesBeginAtTheRate) {
  Answer(10s, 2ms);
  Answer(5s, 200ms);
  Begun(Rank::kFact, 1s);  // the burst
  EXPECT_NEAR(Begun(Rank::kFact, 10s), WritePace::kSlowest * 10, 2);
}

TEST_F(WritePaceTest, CommentaryLeavesRoomForFacts) {
  Answer(10s, 2ms);
  Answer(5s, 200ms);
  Begun(Rank::kCommentary, 2s);
  EXPECT_GE(Begun(Rank::kFact, 1ms), WritePace::kBurst / 2 - 2);
}

TEST_F(WritePaceTest, CommentaryHasItsShareBesideFacts) {
  Answer(10s, 2ms);
  Answer(5s, 200ms);
  Begun(Rank::kFact, 5s);  // takes all
  int commentary = 0;
  for (int i = 0; i < 100; ++i) {
    now_ += 100ms;
    if (pace_.CommentaryIsDue(now_) && pace_.Take(now_, Rank::kCommentary) == Duration::zero()) {
      ++commentary;
    }
    Begun(Rank::kFact, 1ms);
  }
  EXPECT_GE(commentary, 8);
}

TEST_F(WritePaceTest, ReturnedTurnMayBeTakenAgain) {
  while (pace_.Take(now_, Rank::kFact) == Duration::zero()) {
  }
  pace_.GiveBack();
  EXPECT_EQ(pace_.Take(now_, Rank::kFact), Duration::zero());
}

TEST_F(WritePaceTest, ReturnedCommentaryTurnStaysDue) {
  now_ += 2s;
  EXPECT_TRUE(pace_.CommentaryIsDue(now_));
  EXPECT_EQ(pace_.Take(now_, Rank::kCommentary), Duration::zero());
  pace_.GiveBack();
  EXPECT_TRUE(pace_.CommentaryIsDue(now_));
}

TEST_F(WritePaceTest, WaitEndsWhenTheWriteMayBegin) {
  Duration wait{};
  while ((wait = pace_.Take(now_, Rank::kFact)) == Duration::zero()) {
  }
  now_ += wait;
  EXPECT_EQ(pace_.Take(now_, Rank::kFact), Duration::zero());
}

}  // namespace
}  // namespace berth::kube
