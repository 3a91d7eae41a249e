// cli/forecast_source.h — where the flags of `berth eta` and `berth what-if` take the cluster from:
// the API with the caller's rights, or the lists of `kubectl get -o json`.
//
// Threads: one thread; calls block until the API answers. Nothing is written to the cluster.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/forecast_commands.h"
#include "forecast/forecast_cluster.h"
#include "view/screens/cluster_view.h"
#include "view/session.h"

namespace berth::cli {

// Reads the state that a forecast starts from. `default_namespace` is set to the namespace of jobs
// without one. Errors: those of Session and ReadDump; kInvalid with the flag.
Result<view::ClusterView> ReadForecastView(const ForecastFlags& flags,
                                           std::string& default_namespace);
// The Workloads and LocalQueues of the API alone, of `namespace_name` where `all` is false.
Result<view::ClusterView> ReadNotedView(view::Session& session, const ForecastFlags& flags,
                                        bool all, std::string& default_namespace);
// The view of ReadForecastView, from the one of ReadNotedView with the same arguments.
Result<view::ClusterView> ReadBesideNotes(view::Session& session, const ForecastFlags& flags,
                                          bool all, const std::string& default_namespace,
                                          view::ClusterView noted);
// Errors: those of LedgerReader; kInvalid with the flag.
Result<forecast::ForecastCluster> MakeForecastClusterOf(const ForecastFlags& flags,
                                                        view::ClusterView view,
                                                        const std::string& default_namespace);
// Reads the cluster (ReadForecastView) and builds its forecast (MakeForecastClusterOf).
Result<forecast::ForecastCluster> ReadForecastCluster(const ForecastFlags& flags);
// The number of draws: that of the flags, or by default one that is smaller for more jobs; at most
// kMostDraws.
int DrawsOf(const ForecastFlags& flags, std::size_t jobs);

}  // namespace berth::cli
