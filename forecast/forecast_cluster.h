// forecast/forecast_cluster.h — the state of a cluster as the start of forecasts.
//
//     API ──ReadCluster─┐
//                       ├─▶ ClusterView ──MakeForecastCluster──▶ ForecastCluster
//     files ──ReadDump──┘        ledger: past runs ──▶
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "ledger/records.h"
#include "simulation/forecast.h"
#include "simulation/present_workloads.h"
#include "view/screens/cluster_view.h"

namespace berth::forecast {

struct ForecastCluster {
  view::ClusterView view;
  simulation::Cluster cluster;  // prepared (simulation/cluster_objects.h)
  std::vector<std::shared_ptr<const api::Workload>> workloads;
  simulation::RunModel runs;
  std::unordered_map<std::string, std::size_t> members;  // members of `runs`, by NAMESPACE/NAME
  simulation::ForecastArrivals arrivals;
  simulation::WorldOptions world;
  std::vector<std::string> notes;  // what the forecast leaves out
  std::string default_namespace;
  std::vector<ledger::AttemptRecord> attempts;  // the ledger's attempts
};

// The jobs of the cluster with the known facts of their runs and capacity. `not_queued` has the
// Workloads that no queue holds.
struct ForecastJobs {
  std::vector<simulation::ForecastJob> jobs;
  std::vector<simulation::NotQueued> not_queued;
};

// Adds the objects of the documents; kinds that a view does not have are left out.
Status AddDocuments(const std::vector<nlohmann::json>& documents, view::ClusterView& view);
// Reads lists and objects of `kubectl get -o json`, of kueue.x-k8s.io/v1beta1 and v1beta2, in any
// order. The time of the view is `now`; nullopt: the latest time in the metadata and conditions of
// all objects. kInvalid: an object that does not decode, or stands twice with different contents,
// with kind and name; no ClusterQueue at all.
Result<view::ClusterView> ReadDump(const std::vector<nlohmann::json>& documents,
                                   std::optional<WallTime> now = std::nullopt);

// `attempts` are the ledger's; finished Workloads of the view count, too.
ForecastCluster MakeForecastCluster(view::ClusterView view,
                                    std::vector<ledger::AttemptRecord> attempts);
// `cluster` with its view replaced by `view`.
ForecastCluster WithView(const ForecastCluster& cluster, view::ClusterView view);
ForecastJobs ForecastJobsOf(const ForecastCluster& cluster);
// `options` with the world, the runs and the arrivals of `cluster`, which must outlive the result,
// and with the past of its queues: set `cluster.world` first.
simulation::ForecastOptions ForecastOptionsOf(const ForecastCluster& cluster,
                                              simulation::ForecastOptions options = {});

// Whether job/x, KIND/x, workload/x or x names the Workload, in any namespace.
bool IsMeantBy(const std::string& reference, const api::Workload& workload);

}  // namespace berth::forecast
