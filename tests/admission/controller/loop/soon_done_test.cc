// Goal: a preemption waits for a victim that is expected to end by itself within seconds, evicts it
// where it goes on, and spares it where the preemptor has left meanwhile. Method: a queue whose
// workloads have run for two seconds each, with the real controllers in virtual time.
#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

class SoonDone : public AdmissionFixture {
 protected:
  SoonDone() { PlayVictimThatEndsSoon(); }
};

TEST_F(SoonDone, PreemptorStartsWhenTheVictimHasEnded) {
  EXPECT_FALSE(Is("victim", api::kEvicted));
  Finish("victim");
  executor_.RunFor(100ms);
  EXPECT_TRUE(Is("high", api::kAdmitted));
  executor_.RunFor(1min);
  EXPECT_FALSE(Is("victim", api::kEvicted));
}

// The quota of the victim is the preemptor's from the decision on.
TEST_F(SoonDone, NobodyElseGetsTheQuota) {
  PutWorkload("low", 4, {{"priority", -1}});
  PutWorkload("small", 1, {{"priority", 8}});
  executor_.RunFor(100ms);
  Finish("victim");
  executor_.RunFor(1s);
  EXPECT_TRUE(Is("high", api::kAdmitted));
  EXPECT_FALSE(Is("low", api::kQuotaReserved) || Is("small", api::kQuotaReserved));
}

TEST_F(SoonDone, VictimThatGoesOnIsEvicted) {
  executor_.RunFor(10s);
  EXPECT_EQ(ReasonOf("victim", api::kEvicted), "Preempted");
  Release("victim");
  executor_.RunFor(1s);
  EXPECT_TRUE(Is("high", api::kAdmitted));
}

// Another client's write meanwhile, here a note on the pods, changes nothing.
TEST_F(SoonDone, VictimWhoseStatusChangesIsEvictedOnce) {
  SetConditionOf("victim", api::kPodsReady, true, "PodsReady");
  executor_.RunFor(10s);
  EXPECT_TRUE(Is("victim", api::kEvicted));
  EXPECT_THAT(EventReasons("victim"), testing::Contains("Preempted").Times(1));
}

TEST_F(SoonDone, VictimStaysIfThePreemptorHasLeft) {
  api_.Remove(PathOf("high"));
  executor_.RunFor(20s);
  EXPECT_FALSE(Is("victim", api::kEvicted));
  PutWorkload("next", 4, {{"priority", 9}});
  executor_.RunFor(1s);
  EXPECT_TRUE(Is("victim", api::kEvicted)) << "has run for longer than the others";
}

TEST_F(SoonDone, VictimStaysIfTheQueueIsGone) {
  api_.Remove(std::string(kKueueRoot) + "clusterqueues/cq");
  executor_.RunFor(20s);
  EXPECT_FALSE(Is("victim", api::kEvicted));
}

// A new controller does not know the past runs: it preempts at once.
TEST_F(SoonDone, ARestartLosesNoPreemption) {
  Crash();
  Boot();
  executor_.RunFor(10s);
  EXPECT_TRUE(Is("victim", api::kEvicted));
}

}  // namespace
}  // namespace berth::admission
