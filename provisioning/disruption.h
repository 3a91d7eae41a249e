// provisioning/disruption.h — the disruptions of nodes that a Karpenter NodePool may begin by
// itself (`spec.disruption`), within its budgets.
//
// A budget names a number or a share of the pool's nodes that may go at a time, the causes that it
// is for, and times at which it is in force. If there are several, the strictest counts; a pool
// without budgets has no limit. A share is rounded up: 10 % of one node is one node. A budget whose
// number or schedule cannot be read lets no node go, as in Karpenter. Budgets do not limit expiry
// or the loss of nodes.
//
// Units: schedules are in UTC. Threads: pure functions. Errors: none.
// Source: sigs.k8s.io/karpenter, pkg/apis/v1/nodepool_budgets.go.
#pragma once

#include <string>
#include <string_view>

#include "api/karpenter.h"

namespace berth::provisioning {

inline constexpr std::string_view kEmptyNodes = "Empty";
inline constexpr std::string_view kUnderusedNodes = "Underutilized";

// Whether some node may go for that cause now.
bool BudgetLetsGo(const api::KarpenterNodePool& pool, std::string_view cause, WallTime now);

// The budgets that are in force now for that cause: "10 %, 5 nodes"; empty: there is none.
std::string BudgetText(const api::KarpenterNodePool& pool, std::string_view cause, WallTime now);

// Whether the pool moves pods off nodes that are little used, and its budgets let it do so now.
bool MayEmptyNodes(const api::KarpenterNodePool& pool, WallTime now);

}  // namespace berth::provisioning
