// Goal: room goes to parked workloads at once only where no workload with more right to it has come
// or preempted lately, by the effective priority. Method: one queue with the real controllers in
// virtual time.
#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

class Contenders : public AdmissionFixture {
 protected:
  Contenders() {
    Crash();
    options_.driver.scheduler.gates.priority_boost = true;
    Boot();
    PutQueues(4, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
    PutWorkload("low", 4);
    executor_.RunFor(100ms);
    PutWorkload("high", 4);
    executor_.RunFor(100ms);
  }
  // "high" preempts "low" with this boost of its priority 0, and has ended when "next" waits.
  void PlayPreemption(const std::string& boost) {
    Edit("high", [&boost](Json& object) {
      object["metadata"]["annotations"][api::kPriorityBoostAnnotation] = boost;
    });
    executor_.RunFor(100ms);
    Release("low");
    executor_.RunFor(100ms);
    ASSERT_TRUE(Is("high", api::kAdmitted));
    PutWorkload("next", 4, {{"priority", 5}});
    executor_.RunFor(100ms);
    Finish("high");
    executor_.RunFor(100ms);
  }
};

TEST_F(Contenders, WorkloadBelowABoostedPreemptorWaitsForTheBatch) {
  PlayPreemption("10");
  EXPECT_FALSE(Is("next", api::kQuotaReserved));
  executor_.RunFor(1s);
  EXPECT_TRUE(Is("next", api::kAdmitted));
}

TEST_F(Contenders, WorkloadAboveThePreemptorGetsTheRoomAtOnce) {
  PlayPreemption("3");
  EXPECT_TRUE(Is("next", api::kAdmitted));
}

}  // namespace
}  // namespace berth::admission
