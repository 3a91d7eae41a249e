// Goal: preemptions are known as long as both workloads live, also along chains. Method: histories
// in words, compared with the list above a workload.
#include "admission/preemption/preemption_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PreemptionHistory, ReturnsAllPreemptorsAboveAVictimThroughCircles) {
  PreemptionHistory history;
  history.Note(1, 2);
  history.Note(2, 3);
  history.Note(9, 3);
  EXPECT_THAT(history.Above(3), ElementsAre(1, 2, 9));
  EXPECT_THAT(history.Above(2), ElementsAre(1));
  EXPECT_THAT(history.Above(1), IsEmpty());
  EXPECT_THAT(history.Above(77), IsEmpty()) << "nobody knows it";
  history.Note(3, 1);
  EXPECT_THAT(history.Above(3), ElementsAre(1, 2, 3, 9));
}

TEST(PreemptionHistory, ForgetsAWorkloadAsVictimAndAsPreemptor) {
  PreemptionHistory history;
  history.Note(1, 2);
  history.Note(2, 3);
  history.Forget(2);
  EXPECT_THAT(history.Above(2), IsEmpty()) << "as a victim";
  EXPECT_THAT(history.Above(3), IsEmpty()) << "and as a preemptor";
  history.Note(2, 3);
  EXPECT_THAT(history.Above(3), ElementsAre(2)) << "what comes after that counts again";
  history.Clear();
  EXPECT_FALSE(history.WasPreempted(3));
  EXPECT_THAT(history.Above(3), IsEmpty());
}

TEST(PreemptionHistory, PreemptionIsInVainWhenItsVictimIsAdmittedFirst) {
  PreemptionHistory history;
  history.Note(1, 2);
  EXPECT_FALSE(history.InVain(1, 2)) << "the victim has not come back";
  history.Admitted(2);
  EXPECT_TRUE(history.InVain(1, 2)) << "it has, and the preemptor still waits";
  EXPECT_FALSE(history.InVain(2, 1));
  EXPECT_FALSE(history.InVain(7, 2));
  history.Admitted(1);
  EXPECT_FALSE(history.InVain(1, 2)) << "it has got what it wanted";
  history.Note(1, 2);
  history.Admitted(2);
  EXPECT_TRUE(history.InVain(1, 2));
  history.Departed();
  EXPECT_FALSE(history.InVain(1, 2)) << "things are different now";
}

TEST(PreemptionHistory, RemembersTheLastPreemptorsOfAVictim) {
  PreemptionHistory history;
  const auto most = static_cast<WorkloadId>(PreemptionHistory::kMostPerVictim);
  for (WorkloadId preemptor = 1; preemptor <= most + 2; ++preemptor) history.Note(preemptor, 0);
  history.Note(most, 0);  // a repetition becomes the latest entry
  const std::vector<WorkloadId> above = history.Above(0);
  EXPECT_EQ(above.size(), PreemptionHistory::kMostPerVictim);
  EXPECT_EQ(above.front(), 3);
  EXPECT_EQ(above.back(), most + 2);
}

}  // namespace
}  // namespace berth::admission
