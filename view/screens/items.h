// view/screens/items.h — one thing as JSON: the forms that `-o json` and the read API (/api/v1)
// share.
//
// Instants are RFC 3339. Callers add the values that depend on the moment of reading: ages,
// positions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "view/screens/cluster_view.h"
#include "view/screens/text.h"
#include "view/screens/usage.h"

namespace berth::view {

// The style of texts in JSON: times as instants.
inline constexpr TextStyle kJsonStyle{.absolute_times = true};

// "waiting", "reserved", "running", "stopping", "deactivated", "succeeded" or "failed"; "admitted"
// while it has no pod since all were refused.
std::string WorkloadStateOf(const ClusterView& view, const api::Workload& workload);
// The place of a running Workload, the result of a finished one, the reason of a waiting one.
std::string RemarkOf(const ClusterView& view, const api::Workload& workload,
                     const TextStyle& style);
std::string NameWithoutNamespace(const api::Workload& workload);

// The order by priority and time as one number: workloads that are tried first have smaller ones.
std::int64_t TurnNumber(std::int64_t priority, WallTime since);

// Keys: namespace, workload, name, kind, localQueue, clusterQueue, priority, state, cause,
// createdAt, waitingSince, turn, eta, requests, remark, reason (null: it does not wait).
nlohmann::json WorkloadItem(const ClusterView& view, const api::Workload& workload);
// The Cohorts above `cohort`, nearest first; `parent_of` returns "" for a Cohort without a parent.
// A cycle ends the list.
std::vector<std::string> ParentsOf(const std::string& cohort,
                                   const std::function<std::string(const std::string&)>& parent_of);
// Keys: name, cohort, parents, waiting, running, strategy, stopPolicy, inactive,
// fairWeightBillionths, weightedShare, resources, flavors.
nlohmann::json QueueItem(const QueueUse& use, const std::vector<std::string>& parents);
// Keys: name, parents, fairWeightBillionths, weightedShare, resources, flavors. `cohort`: null if
// queues name a Cohort that does not exist. `uses` comes from SumCohorts.
nlohmann::json CohortItem(const std::string& name, const api::Cohort* cohort,
                          const std::vector<std::string>& parents,
                          const std::map<std::string, ResourceUse>& uses);
// Keys: namespace, name, clusterQueue, waiting, running, stopPolicy.
nlohmann::json LocalQueueItem(const api::LocalQueue& local);
// Keys: namespace, name, class, state, createdAt, workload, message.
nlohmann::json CapacityRequestItem(const api::ProvisioningRequest& request);

}  // namespace berth::view
