// Goal: gates of admission and the hold of an object without pods are read alike everywhere.
// Method: annotations and conditions as users and controllers write them.
#include "api/holds.h"

#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/reasons.h"

namespace berth::api {
namespace {

TEST(HoldsTest, ReadsAdmissionGatesInTheirOrder) {
  using Gates = std::vector<std::string>;
  ObjectMeta meta;
  EXPECT_EQ(AdmissionGatesOf(meta), Gates{});
  std::string& text = meta.annotations[kAdmissionGatedByAnnotation];
  text = "example.com/b, example.com/a\t";
  EXPECT_EQ(AdmissionGatesOf(meta), (Gates{"example.com/b", "example.com/a"}));
  text = "a.io/x,,a.io/x";
  EXPECT_EQ(AdmissionGatesOf(meta), (Gates{"a.io/x", "", "a.io/x"}));
  text = "";
  EXPECT_EQ(AdmissionGatesOf(meta), Gates{""});
}

TEST(HoldsTest, AnEmptyAnnotationHoldsNothingBack) {
  Workload workload;
  EXPECT_FALSE(IsGated(workload));
  workload.meta.annotations[kAdmissionGatedByAnnotation] = "";
  EXPECT_FALSE(IsGated(workload));
  workload.meta.annotations[kAdmissionGatedByAnnotation] = "a.io/x";
  EXPECT_TRUE(IsGated(workload));
}

TEST(HoldsTest, AnObjectThatWantsNoPodsIsOnHold) {
  Workload workload;
  EXPECT_FALSE(IsOnHold(workload));
  const auto set = [&workload](ConditionStatus status, const char* reason) {
    SetCondition(workload.status.conditions,
                 {.type = kQuotaReserved, .status = status, .reason = reason});
  };
  set(ConditionStatus::kFalse, kPendingEvaluation);
  EXPECT_FALSE(IsOnHold(workload));
  set(ConditionStatus::kFalse, kOnHold);
  EXPECT_TRUE(IsOnHold(workload));
  set(ConditionStatus::kTrue, kOnHold);
  EXPECT_FALSE(IsOnHold(workload));
}

}  // namespace
}  // namespace berth::api
