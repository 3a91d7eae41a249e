#include "checks/check_kinds.h"

#include <algorithm>
#include <array>

#include "api/multikueue.h"
#include "base/assert.h"
#include "checks/controller_names.h"

namespace berth::checks {
namespace {

constexpr char kKueue[] = "kueue.x-k8s.io";
constexpr char kAutoscaling[] = "autoscaling.x-k8s.io";
constexpr char kKarpenter[] = "karpenter.sh";
constexpr char kPolicies[] = "provisioning.berth.dev";
constexpr char kVersion[] = "v1beta2";

constexpr const char* kListWatch[] = {"list", "watch"};
constexpr const char* kList[] = {"list"};
constexpr const char* kUpdate[] = {"update"};

// Capacity that a ProvisioningRequest asks for.
constexpr ParametersKind kRequestParameters[] = {
    {kKueue, kVersion, "ProvisioningRequestConfig", "provisioningrequestconfigs"}};
constexpr const char* kRequestReasons[] = {
    "BudgetExceeded",    "CapacityAdvice",
    "CapacityExpiring",  "FailedCreate",
    "LeaseRefused",      "OverprovisionedZones",
    "PodsLate",          "PrewarmIdle",
    "PrewarmImpossible", "ProvisioningRequestCreated",
    "RaceSurplus",
};
constexpr const char* kRequestVerbs[] = {"get", "list", "watch", "create", "delete"};
constexpr const char* kTemplateVerbs[] = {"list", "watch", "create", "patch", "delete"};
constexpr Right kRequestRights[] = {
    {"", "nodes", kListWatch},
    {"", "podtemplates", kTemplateVerbs},
    {kAutoscaling, "provisioningrequests", kRequestVerbs},
    {kAutoscaling, "provisioningrequests/finalizers", kUpdate},
    {kKueue, "provisioningrequestconfigs", kListWatch},
    {kPolicies, "provisioningpolicies", kListWatch},
};

// Capacity that an autoscaler brings for pending pods.
constexpr const char* kReactiveReasons[] = {
    "BudgetExceeded",      "CapacityAdvice",     "NodesExpireEarly",
    "NodesMayBeDisrupted", "PlaceholderRefused",
};
constexpr Right kReactiveRights[] = {
    {"", "events", kList},
    {"", "pods", kListWatch},
    {kKarpenter, "nodeclaims", kListWatch},
    {kKarpenter, "nodepools", kListWatch},
    {kPolicies, "provisioningpolicies", kListWatch},
};

constexpr std::array kKinds{
    CheckKind{.controller_name = kProvisioningCheckController,
              .folder = "provisioning",
              .parameters_kinds = kRequestParameters,
              .capacity = Capacity::kRequested,
              .adoption = Adoption::kTakenOver,
              .reasons = kRequestReasons,
              .rights = kRequestRights},
    CheckKind{.controller_name = kReactiveCheckController,
              .folder = "provisioning",
              .parameters_kinds = {},
              .capacity = Capacity::kPendingPods,
              .adoption = Adoption::kStays,
              .reasons = kReactiveReasons,
              .rights = kReactiveRights},
};

// Kueue's checks that have no row.
constexpr ParametersKind kMultiKueueKinds[] = {
    {kKueue, kVersion, "MultiKueueCluster", "multikueueclusters"},
    {kKueue, kVersion, "MultiKueueConfig", "multikueueconfigs"}};
constexpr std::array kMissing{MissingCheck{.controller_name = api::kMultiKueueController,
                                           .feature = "MultiKueue",
                                           .configuration_field = "multiKueue",
                                           .kinds = kMultiKueueKinds}};

const auto* FindNamed(const auto& rows, std::string_view controller_name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
    return row.controller_name == controller_name;
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::span<const CheckKind> CheckKinds() { return kKinds; }

const CheckKind* FindCheckKind(std::string_view controller_name) {
  return FindNamed(kKinds, controller_name);
}

const CheckKind& CheckKindWith(Capacity capacity) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(), [capacity](const CheckKind& row) {
    return row.capacity == capacity;
  });
  BERTH_ASSERT(found != kKinds.end());
  return *found;
}

Capacity CapacityOf(std::string_view controller_name) {
  const CheckKind* row = FindCheckKind(controller_name);
  return row == nullptr ? Capacity::kNone : row->capacity;
}

bool IsParametersKind(std::string_view kind) {
  return std::any_of(kKinds.begin(), kKinds.end(), [kind](const CheckKind& row) {
    return std::any_of(row.parameters_kinds.begin(), row.parameters_kinds.end(),
                       [kind](const ParametersKind& each) { return each.kind == kind; });
  });
}

std::string ParametersText(const CheckKind& kind) {
  std::string text;
  for (const ParametersKind& each : kind.parameters_kinds) {
    if (!text.empty()) text += " or ";
    text += each.kind;
  }
  return text;
}

std::span<const MissingCheck> MissingChecks() { return kMissing; }

const MissingCheck* FindMissingCheck(std::string_view controller_name) {
  return FindNamed(kMissing, controller_name);
}

}  // namespace berth::checks
