#include "provisioning/request_reasons.h"

#include <algorithm>
#include <array>

namespace berth::provisioning {
namespace {

using enum ReasonClass;
using enum WhoActs;

constexpr std::string_view kWait = "wait: the request keeps its place until the machine is there";
constexpr std::string_view kOther =
    "try another zone, accelerator or pool, or wait with a bound (ValidUntilSeconds)";
constexpr std::string_view kRaise = "ask the cloud for more quota, or use less at once";
constexpr std::string_view kFixPool = "correct the node pool's settings at the cloud";
constexpr std::string_view kFixRights =
    "give the cluster's service account the rights the message names";
constexpr std::string_view kFixShape =
    "make the job smaller, or its node selector and tolerations fit a pool";
constexpr std::string_view kFixReservation =
    "correct the reservation the pool names, or use a pool without";
constexpr std::string_view kAgain = "nothing to do: it is asked for again";

constexpr std::array kReasons{
    // cluster-autoscaler.
    ReasonInfo{"Accepted", kProgress, kNobody, kWait},
    ReasonInfo{"CapacityIsFound", kProgress, kNobody, "nothing to do: there is room"},
    ReasonInfo{"CapacityIsProvisioned", kProgress, kNobody, "nothing to do: nodes are coming"},
    ReasonInfo{"CapacityIsNotFound", kStockout, kNobody,
               "wait for room, or check that one pool can host all pods of the request"},
    ReasonInfo{"FailedToCheckCapacity", kInternal, kNobody, kAgain},
    ReasonInfo{"FailedToCreatePods", kInternal, kNobody, kAgain},
    ReasonInfo{"FailedToBookCapacity", kInternal, kNobody, kAgain},
    ReasonInfo{"Expired", kTimeout, kUser, kOther},
    ReasonInfo{"CapacityReservationTimeExpired", kProgress, kNobody, "nothing to do"},
    ReasonInfo{"CapacityBookingConsumed", kProgress, kNobody, "nothing to do"},
    // Queued provisioning: states.
    ReasonInfo{"NotAccepted", kProgress, kNobody, kWait},
    ReasonInfo{"SuccessfullyQueued", kProgress, kNobody, kWait},
    ReasonInfo{"NotProvisioned", kProgress, kNobody, kWait},
    ReasonInfo{"Provisioned", kProgress, kNobody, "nothing to do: nodes are coming"},
    ReasonInfo{"BookingExpired", kProgress, kNobody, "nothing to do while the pods run"},
    ReasonInfo{"CapacityRevoked", kLimit, kUser,
               "ask for a longer run (maxRunDurationSeconds), or save state and start again"},
    // Reasons of the autoscaler, before it asks the cloud.
    ReasonInfo{"NoQueuedNodepoolAvailable", kConfig, kAdmin,
               "create a node pool with queued provisioning that the pods' node selector matches"},
    ReasonInfo{"ProvisioningRequestSingleZoneInfeasible", kShape, kUser,
               "request less: all pods must fit in one zone of one pool"},
    ReasonInfo{"ProvisioningRequestNotSchedulableInNodepool", kShape, kUser, kFixShape},
    ReasonInfo{"NodepoolSizeReached", kTransient, kAdmin,
               "wait for a node of the pool to become free, or raise the pool's maximum"},
    ReasonInfo{"ClusterNodeLimitExceeded", kTransient, kAdmin,
               "wait for nodes to go, or raise the cluster's node limit"},
    ReasonInfo{"OutOfResources", kTransient, kAdmin,
               "wait for nodes to go, or raise the cluster's resource limits"},
    ReasonInfo{"NodepoolInBackoff", kTransient, kNobody,
               "wait: the pool is in backoff after a failed scale-up"},
    ReasonInfo{"NodepoolNotReady", kTransient, kNobody, "wait: the pool is being made ready"},
    ReasonInfo{"CannotExecuteObtainabilityStrategy", kShape, kUser,
               "drop capacitySearchStrategy, or what the message names"},
    ReasonInfo{"ObtainabilityStrategyAndZoneIncompatible", kShape, kUser,
               "drop the zone from the node selector, or capacitySearchStrategy"},
    ReasonInfo{"InvalidArgumentMaxRunDurationParseError", kConfig, kUser,
               "write maxRunDurationSeconds as whole seconds"},
    ReasonInfo{"MissingPodTemplates", kInternal, kNobody, kAgain},
    // Reasons of the cloud.
    ReasonInfo{"ResourcePoolExhausted", kStockout, kCloud, kWait},
    ReasonInfo{"QueuingInfeasibleNoCapacity", kStockout, kUser, kOther},
    ReasonInfo{"ZoneNotSupported", kConfig, kAdmin,
               "use another zone: this one never has the machine"},
    ReasonInfo{"QuotaExceeded", kQuota, kAdmin, kRaise},
    ReasonInfo{"WaitTimeExceeded", kTimeout, kUser, kOther},
    ReasonInfo{"LimitExceeded", kLimit, kAdmin, kRaise},
    ReasonInfo{"IPSpaceExhausted", kConfig, kAdmin, "enlarge the pool's subnet or pod range"},
    ReasonInfo{"PermissionsError", kConfig, kAdmin, kFixRights},
    ReasonInfo{"PermissionDenied", kConfig, kAdmin, kFixRights},
    ReasonInfo{"ConditionNotMet", kConfig, kAdmin, kFixPool},
    ReasonInfo{"VMExternalIPAccessPolicyConstraint", kConfig, kAdmin,
               "use private nodes, or ask for an exception from the organisation's policy"},
    ReasonInfo{"InvalidArgument", kConfig, kAdmin, kFixPool},
    ReasonInfo{"UnsupportedOperation", kConfig, kAdmin, kFixPool},
    ReasonInfo{"InvalidMachineType", kConfig, kAdmin, kFixPool},
    ReasonInfo{"InvalidGpuType", kConfig, kAdmin, kFixPool},
    ReasonInfo{"InvalidReservation", kConfig, kAdmin, kFixReservation},
    ReasonInfo{"ReservationNotFound", kConfig, kAdmin, kFixReservation},
    ReasonInfo{"ReservationNotReady", kConfig, kAdmin, kFixReservation},
    ReasonInfo{"ReservationCapacityExceeded", kStockout, kAdmin, kFixReservation},
    ReasonInfo{"ReservationIncompatible", kConfig, kAdmin, kFixReservation},
    ReasonInfo{"InternalErrorFailedToQueue", kInternal, kNobody, kAgain},
    ReasonInfo{"InternalError", kInternal, kNobody, kAgain},
    ReasonInfo{"MissingResizeRequest", kInternal, kNobody, kAgain},
    ReasonInfo{"DuplicateResizeRequestName", kInternal, kNobody, kAgain},
    ReasonInfo{"InternalErrorResizeRequestWasBeingDeleted", kInternal, kNobody, kAgain},
    ReasonInfo{"InternalErrorResizeRequestGotCancelled", kInternal, kNobody, kAgain},
    ReasonInfo{"InternalErrorResizeRequestWasCreating", kInternal, kNobody, kAgain},
    ReasonInfo{"AcceptedRequestTimedOut", kTimeout, kNobody, kAgain},
    ReasonInfo{"RequestWasCancelled", kInternal, kNobody, kAgain},
    // Reasons of autoscalers that act on pending pods.
    ReasonInfo{"NodesDidNotCome", kStockout, kNobody,
               "nothing to do where another step follows; else look at the events of the pods"},
    ReasonInfo{"NodesBooting", kProgress, kNobody, "nothing to do: nodes are coming"},
    ReasonInfo{"NodesTakenBack", kStockout, kNobody,
               "nothing to do: the job is queued again in its old place"},
    ReasonInfo{"NodePoolLimitReached", kLimit, kAdmin,
               "wait for nodes of the NodePool to go, or raise its spec.limits"},
    ReasonInfo{"DisruptionBudgetKeepsNodes", kLimit, kAdmin,
               "raise spec.limits of the NodePool, or nodes in its spec.disruption.budgets"},
    ReasonInfo{"NodePoolNotFound", kConfig, kAdmin,
               "create the NodePool, or correct the node label of the flavor or of the job"},
    ReasonInfo{"NodePoolNotReady", kConfig, kAdmin,
               "correct what the condition Ready of the NodePool names, often its node class"},
    ReasonInfo{"InsufficientCapacityError", kStockout, kCloud, kOther},
    ReasonInfo{"NotTriggerScaleUp", kLimit, kAdmin,
               "correct what the message names: a maximum, a selector or a taint of the pools"},
    ReasonInfo{"FailedScaleUp", kStockout, kCloud, kOther},
    ReasonInfo{"NodeClaimNotLaunched", kInternal, kAdmin,
               "correct what the condition Launched of the NodeClaim names"},
    // Reasons of a ProvisioningPolicy.
    ReasonInfo{"WaitLimitReached", kTimeout, kNobody, "nothing to do: the next step is tried"},
    ReasonInfo{
        "GangPartial", kStockout, kCloud,
        "wait: all capacity is requested again; a longer holdSeconds of split keeps nodes longer"},
    ReasonInfo{"NoControllerAnswered", kConfig, kAdmin,
               "correct provisioningClassName, or install the autoscaler that serves the class"},
    ReasonInfo{"NeverFits", kShape, kUser,
               "ask for fewer or smaller pods; an admin may enlarge the pool, also in the policy"},
    ReasonInfo{"ZoneExcluded", kConfig, kAdmin,
               "correct zones of the policy's step, or the zone of the flavor or of the pods"},
    ReasonInfo{"OutOfStockRecently", kStockout, kNobody,
               "nothing to do: the step requests capacity again when its rest ends"},
    ReasonInfo{"SlowerThanNext", kStockout, kNobody,
               "nothing to do: a later step is expected to have nodes sooner (minEtaGainSeconds)"},
    ReasonInfo{"LostNodes", kTransient, kNobody, "nothing to do: the workload is queued again"},
    ReasonInfo{"PodsLate", kTransient, kUser,
               "read the scheduler's message: selectors, taints, or pods of others on the nodes"},
    ReasonInfo{"BootTimeout", kTransient, kCloud,
               "nothing to do: capacity is asked for again; look at the nodes that did not boot"},
    ReasonInfo{"CapacityEnds", kLimit, kUser,
               "nothing to do: the job begins again; a longer run (maxRunDurationSeconds) helps"},
    ReasonInfo{"Overtaken", kTransient, kNobody, kAgain},
    ReasonInfo{
        "BudgetExceeded", kLimit, kAdmin,
        "raise perWorkloadUSD or perLocalQueueUSDPerDay of the budget, or make the job smaller"},
    ReasonInfo{"RunTooLong", kLimit, kUser,
               "if the job is shorter, say so by the label kueue.x-k8s.io/max-exec-time-seconds"},
    ReasonInfo{"PriceLimitExceeded", kLimit, kAdmin,
               "raise maxPricePerHour of the policy or of its step, or correct the price"},
};
constexpr ReasonInfo kUnknown{"", kInternal, kAdmin,
                              "read the message: the reason is not one that is known"};

}  // namespace

const ReasonInfo& Explain(std::string_view reason) {
  const auto found = std::find_if(kReasons.begin(), kReasons.end(),
                                  [reason](const auto& each) { return each.reason == reason; });
  return found == kReasons.end() ? kUnknown : *found;
}

std::span<const ReasonInfo> AllReasons() { return kReasons; }

std::string_view ReasonClassName(ReasonClass reason_class) {
  switch (reason_class) {
    case kProgress: return "progress";
    case kStockout: return "stockout";
    case kTransient: return "transient";
    case kQuota: return "quota";
    case kConfig: return "config";
    case kShape: return "shape";
    case kLimit: return "limit";
    case kTimeout: return "timeout";
    case kInternal: return "internal";
  }
  return "";
}

std::string_view WhoActsName(WhoActs who) {
  switch (who) {
    case kNobody: return "nobody";
    case kUser: return "user";
    case kAdmin: return "admin";
    case kCloud: return "cloud";
  }
  return "";
}

}  // namespace berth::provisioning
