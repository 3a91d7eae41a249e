// cli/forecast_cluster.h — the state of a cluster as the start of forecasts: from the API with the
// caller's rights, or from the lists of `kubectl get -o json`.
//
//     API ──ReadCluster─┐
//                       ├─▶ ClusterView ──MakeForecastCluster──▶ ForecastCluster
//     files ──ReadDump──┘        ledger: past runs ──▶
//
// Threads: pure functions, but for ReadForecastCluster. Nothing is written to the cluster.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/forecast.h"
#include "cli/screens/cluster_view.h"
#include "ledger/records.h"
#include "simulation/forecast.h"
#include "simulation/standing.h"

namespace berth::cli {

class Session;

struct ForecastCluster {
  ClusterView view;
  simulation::Cluster cluster;  // prepared
  std::vector<std::shared_ptr<const api::Workload>> workloads;
  simulation::RunHistory history;
  simulation::WorldOptions world;
  std::vector<std::string> notes;  // what the forecast leaves out
  std::string default_namespace;
  std::vector<ledger::AttemptRecord> attempts;  // of the ledger
};

// The jobs of the cluster with what is known of their runs and capacity; `not_queued` has the
// Workloads that no queue holds.
struct ForecastJobs {
  std::vector<simulation::ForecastJob> jobs;
  std::vector<simulation::NotQueued> not_queued;
};

// Adds the objects of the documents; kinds that a view does not have are left out.
Status AddDocuments(const std::vector<nlohmann::json>& documents, ClusterView& view);
// Reads lists and objects of `kubectl get -o json`, of kueue.x-k8s.io/v1beta1 and v1beta2. The time
// of the view is the last one that the Workloads name. kInvalid: an object that does not decode,
// with kind and name; no Workloads and no ClusterQueue at all.
Result<ClusterView> ReadDump(const std::vector<nlohmann::json>& documents);

// `attempts`: of the ledger; finished Workloads of the view count, too.
ForecastCluster MakeForecastCluster(ClusterView view, std::vector<ledger::AttemptRecord> attempts);
// `cluster` with another view in its place.
ForecastCluster WithView(const ForecastCluster& cluster, ClusterView view);
ForecastJobs ForecastJobsOf(const ForecastCluster& cluster);

// Whether job/x, KIND/x, workload/x or x names the Workload, in any namespace.
bool IsMeantBy(const std::string& reference, const api::Workload& workload);

// What a forecast starts from. `default_namespace` becomes that of jobs without one. Errors as
// Session's and ReadDump's; kInvalid with the flag.
Result<ClusterView> ReadForecastView(const ForecastFlags& flags, std::string& default_namespace);
// The Workloads and LocalQueues of the API alone, of `namespace_name` where `all` is false.
Result<ClusterView> ReadNotedView(Session& session, const ForecastFlags& flags, bool all,
                                  std::string& default_namespace);
// The view of ReadForecastView, from the one of ReadNotedView with the same arguments.
Result<ClusterView> ReadBesideNotes(Session& session, const ForecastFlags& flags, bool all,
                                    const std::string& default_namespace, ClusterView noted);
// Errors as LedgerReader's; kInvalid with the flag.
Result<ForecastCluster> MakeForecastClusterOf(const ForecastFlags& flags, ClusterView view,
                                              const std::string& default_namespace);
// Both.
Result<ForecastCluster> ReadForecastCluster(const ForecastFlags& flags);
// The draws of the flags; by default fewer in large clusters, kMostDraws at most.
int DrawsOf(const ForecastFlags& flags, std::size_t jobs);

}  // namespace berth::cli
