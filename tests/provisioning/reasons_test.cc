// Goal: every known reason of autoscalers has a class and a remedy; unknown ones too.
#include <set>

#include <gtest/gtest.h>

#include "provisioning/late_pods.h"
#include "provisioning/node_supply.h"
#include "provisioning/policy_steps.h"
#include "provisioning/reactive.h"
#include "provisioning/request_reasons.h"
#include "provisioning/vetoes.h"

namespace berth::provisioning {
namespace {

TEST(ReasonsTest, EveryEntryIsComplete) {
  std::set<std::string_view> seen;
  for (const ReasonInfo& info : AllReasons()) {
    EXPECT_TRUE(seen.insert(info.reason).second) << info.reason << " stands twice";
    EXPECT_FALSE(info.remedy.empty()) << info.reason;
    EXPECT_FALSE(ReasonClassName(info.reason_class).empty());
    EXPECT_FALSE(WhoActsName(info.who).empty());
  }
}

// The reasons of cluster-autoscaler, of queued provisioning and of its cloud, of autoscalers that
// act on pending pods, and of policies.
constexpr const char* kReasonTables[] = {"Accepted",
                                         "CapacityIsFound",
                                         "CapacityIsProvisioned",
                                         "CapacityIsNotFound",
                                         "FailedToCheckCapacity",
                                         "FailedToCreatePods",
                                         "FailedToBookCapacity",
                                         "Expired",
                                         "CapacityReservationTimeExpired",
                                         "CapacityBookingConsumed",
                                         "NotAccepted",
                                         "MissingPodTemplates",
                                         "SuccessfullyQueued",
                                         "NotProvisioned",
                                         "Provisioned",
                                         "BookingExpired",
                                         "CapacityRevoked",
                                         "NoQueuedNodepoolAvailable",
                                         "ProvisioningRequestSingleZoneInfeasible",
                                         "ProvisioningRequestNotSchedulableInNodepool",
                                         "NodepoolSizeReached",
                                         "ClusterNodeLimitExceeded",
                                         "OutOfResources",
                                         "NodepoolInBackoff",
                                         "NodepoolNotReady",
                                         "CannotExecuteObtainabilityStrategy",
                                         "ResourcePoolExhausted",
                                         "QueuingInfeasibleNoCapacity",
                                         "ZoneNotSupported",
                                         "QuotaExceeded",
                                         "WaitTimeExceeded",
                                         "LimitExceeded",
                                         "IPSpaceExhausted",
                                         "PermissionsError",
                                         "PermissionDenied",
                                         "ConditionNotMet",
                                         "VMExternalIPAccessPolicyConstraint",
                                         "InvalidArgument",
                                         "UnsupportedOperation",
                                         "InvalidMachineType",
                                         "InvalidGpuType",
                                         "InvalidReservation",
                                         "ReservationNotFound",
                                         "ReservationNotReady",
                                         "ReservationCapacityExceeded",
                                         "ReservationIncompatible",
                                         "InternalErrorFailedToQueue",
                                         "InternalError",
                                         "MissingResizeRequest",
                                         "DuplicateResizeRequestName",
                                         "InternalErrorResizeRequestWasBeingDeleted",
                                         "InternalErrorResizeRequestGotCancelled",
                                         "InternalErrorResizeRequestWasCreating",
                                         "AcceptedRequestTimedOut",
                                         "RequestWasCancelled",
                                         kPoolLimitReason,
                                         kNodesKeptReason,
                                         kNoPoolReason,
                                         kPoolNotReadyReason,
                                         kNoCapacityReason,
                                         kNotLaunchedReason,
                                         kNoPoolFitsReason,
                                         kFailedScaleUpReason,
                                         kNodesBootReason,
                                         kNoNodesReason,
                                         kNodesTakenBackReason,
                                         kTimeoutReason,
                                         kNoAnswerReason,
                                         kOvertakenReason,
                                         kGangPartialReason,
                                         kCapacityEndsReason,
                                         kLostNodesReason,
                                         kBootTimeoutReason,
                                         "PodsLate"};

TEST(ReasonsTest, EveryReasonOfTheTablesHasAnEntry) {
  for (const char* reason : kReasonTables) EXPECT_EQ(Explain(reason).reason, reason);
  for (const char* reason : kVetoReasons) EXPECT_EQ(Explain(reason).reason, reason);
}

TEST(ReasonsTest, EachReasonHasItsClassAndAnUnknownOneIsInternal) {
  EXPECT_EQ(Explain("ResourcePoolExhausted").reason_class, ReasonClass::kStockout);
  EXPECT_EQ(Explain("NodepoolSizeReached").reason_class, ReasonClass::kTransient);
  EXPECT_EQ(Explain("QuotaExceeded").who, WhoActs::kAdmin);
  EXPECT_EQ(Explain("NoQueuedNodepoolAvailable").reason_class, ReasonClass::kConfig);
  EXPECT_EQ(Explain("SomethingNew").reason_class, ReasonClass::kInternal);
  EXPECT_EQ(Explain("SomethingNew").reason, "");
}

}  // namespace
}  // namespace berth::provisioning
