// Goal: the table of admission checks answers for the controllers that Berth has, and for no other.
// Method: each question, with a name of the table and with a foreign one.
#include "checks/check_kinds.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "api/multikueue.h"
#include "checks/check_event.h"
#include "checks/controller_names.h"

namespace berth::checks {
namespace {

constexpr char kForeign[] = "example.com/unknown";

TEST(CheckKindsTest, FindsARowByItsController) {
  for (const CheckKind& row : CheckKinds()) {
    EXPECT_EQ(FindCheckKind(row.controller_name), &row);
    EXPECT_EQ(CapacityOf(row.controller_name), row.capacity);
  }
  EXPECT_EQ(FindCheckKind(kForeign), nullptr);
  EXPECT_EQ(FindCheckKind(""), nullptr);
  EXPECT_EQ(CapacityOf(kForeign), Capacity::kNone);
}

TEST(CheckKindsTest, EveryControllerIsInOneTable) {
  std::set<std::string> names;
  for (const CheckKind& row : CheckKinds()) {
    EXPECT_TRUE(names.insert(row.controller_name).second) << row.controller_name << ": twice";
  }
  for (const MissingCheck& row : MissingChecks()) {
    EXPECT_TRUE(names.insert(row.controller_name).second) << row.controller_name << ": twice";
    EXPECT_EQ(FindMissingCheck(row.controller_name), &row);
    EXPECT_STRNE(row.configuration_field, "");
  }
  EXPECT_EQ(FindMissingCheck(kForeign), nullptr);
}

TEST(CheckKindsTest, FindsARowByItsCapacity) {
  EXPECT_STREQ(CheckKindWith(Capacity::kRequested).controller_name, kProvisioningCheckController);
  EXPECT_STREQ(CheckKindWith(Capacity::kPendingPods).controller_name, kReactiveCheckController);
}

TEST(CheckKindsTest, KindsOfParametersAreKnownAndJoinedWithOr) {
  EXPECT_TRUE(IsParametersKind("ProvisioningRequestConfig"));
  EXPECT_FALSE(IsParametersKind("ProvisioningPolicy"));
  EXPECT_EQ(ParametersText(CheckKindWith(Capacity::kRequested)), "ProvisioningRequestConfig");
  EXPECT_EQ(ParametersText(CheckKindWith(Capacity::kPendingPods)), "");
  constexpr ParametersKind kTwo[] = {{"g", "v1", "A", "as"}, {"g", "v1", "B", "bs"}};
  EXPECT_EQ(ParametersText({.parameters_kinds = kTwo}), "A or B");
}

TEST(CheckEventTest, AChangeOfStateNamesBothStates) {
  const api::AdmissionCheckState before{.name = "c", .state = api::CheckState::kPending};
  api::AdmissionCheckState after{.name = "c", .state = api::CheckState::kReady};
  const CheckEvent event = StateEvent(before, after);
  EXPECT_EQ(event.reason, "AdmissionCheckUpdated");
  EXPECT_EQ(event.message, "Admission check c updated state from Pending to Ready");
  EXPECT_FALSE(event.warning);
  after.message = std::string(2 * kMaxEventBytes, 'x');
  EXPECT_EQ(StateEvent(before, after).message.size(), kMaxEventBytes);
}

}  // namespace
}  // namespace berth::checks
