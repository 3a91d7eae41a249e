// forecast/run_members.h — the jobs of a view and of a ledger as members of a RunModel.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/workload.h"
#include "ledger/records.h"
#include "simulation/cluster_objects.h"
#include "simulation/forecast.h"
#include "simulation/run_model.h"
#include "view/screens/cluster_view.h"

namespace berth::forecast {

// Members, each with the request of a job like it.
struct RunMembers {
  std::vector<simulation::RunMember> members;
  std::unordered_map<std::string, std::size_t> of_workload;  // members, by NAMESPACE/NAME
  // By member; null: its pods are unknown.
  std::vector<std::shared_ptr<const simulation::JobShape>> shapes;
  std::vector<std::int32_t> priorities;  // by member
  // Every submission since this time is a member; earlier ones may be missing. Nullopt: unknown,
  // since nothing has ended.
  std::optional<std::int64_t> since;
};

// The longest time that the Workload's Job may run (activeDeadlineSeconds); nullopt: the Job has no
// such limit.
std::optional<std::int64_t> DeadlineOf(const view::ClusterView& view,
                                       const api::Workload& workload);

// `workloads` are those of the view. A job of the ledger that is in the view, too, is one member.
RunMembers RunMembersOf(const view::ClusterView& view,
                        const std::vector<std::shared_ptr<const api::Workload>>& workloads,
                        const std::vector<ledger::AttemptRecord>& attempts);

// The jobs that may be submitted again, in the queues of `cluster`.
simulation::ForecastArrivals ArrivalsOf(const simulation::RunModel& model,
                                        const RunMembers& members,
                                        const simulation::Cluster& cluster);

}  // namespace berth::forecast
