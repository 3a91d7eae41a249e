// Goal: the status after an eviction: quota released, run time added, Requeued by the reason.
#include "integrations/release.h"

#include <gtest/gtest.h>

#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using testing::At;

api::Workload Evicted(const std::string& reason) {
  api::Workload workload = testing::WorkloadFor(testing::GpuJob());
  testing::Admit(workload);
  testing::SetTrue(workload, api::kEvicted, reason, "because");
  return workload;
}

TEST(ReleaseTest, ReleasesTheQuotaAndAddsTheExecutionTime) {
  api::Workload workload = Evicted("AdmissionCheck");
  workload.status.accumulated_past_execution_time_seconds = 5;
  const api::WorkloadStatus status = StatusAfterRelease(workload, At(90));
  EXPECT_FALSE(status.admission.has_value());
  EXPECT_TRUE(api::IsFalse(status.conditions, api::kQuotaReserved));
  EXPECT_EQ(api::FindCondition(status.conditions, api::kQuotaReserved)->reason,
            "PendingEvaluation");
  EXPECT_EQ(api::FindCondition(status.conditions, api::kQuotaReserved)->message, "because");
  EXPECT_TRUE(api::IsFalse(status.conditions, api::kAdmitted));
  EXPECT_EQ(api::FindCondition(status.conditions, api::kAdmitted)->reason, "NoReservation");
  EXPECT_EQ(status.accumulated_past_execution_time_seconds, 95);
}

TEST(ReleaseTest, OnlyPreemptionAndNodeFailuresRequeueAtOnce) {
  for (const auto& [reason, at_once] :
       {std::pair{"Preempted", true}, std::pair{"NodeFailures", true},
        std::pair{"AdmissionCheck", false}, std::pair{"PodsReadyTimeout", false},
        std::pair{"ClusterQueueStopped", false}}) {
    const api::WorkloadStatus status = StatusAfterRelease(Evicted(reason), At(1));
    EXPECT_EQ(api::IsTrue(status.conditions, api::kRequeued), at_once) << reason;
    EXPECT_EQ(api::FindCondition(status.conditions, api::kRequeued)->reason, reason);
  }
}

TEST(ReleaseTest, ClockSetBackAddsNoExecutionTime) {
  EXPECT_EQ(
      StatusAfterRelease(Evicted("Preempted"), At(-50)).accumulated_past_execution_time_seconds, 0);
}

}  // namespace
}  // namespace berth::integrations
