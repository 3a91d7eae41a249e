// cli/eta_notes.h — `berth eta` from the forecasts that the controller keeps on Workloads
// (cli/eta_writer.h): what takes a second of draws is read.
//
// Threads: pure function. Errors: none.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/forecast.h"
#include "cli/screens/cluster_view.h"
#include "cli/screens/eta.h"

namespace berth::cli {

// A forecast is written anew after kEtaRefresh, if not earlier, by a round that takes some minutes.
inline constexpr Duration kFreshForecast = std::chrono::minutes(45);

// nullopt: no job that the flags mean has a fresh forecast. Jobs that came after the last round are
// rows without one. The rows share the view.
std::optional<EtaView> EtaFromNotes(const std::shared_ptr<const ClusterView>& view,
                                    const EtaFlags& flags, const std::string& default_namespace);

// What came of the annotations of Workloads that have started, in this cluster now.
EtaHits ControllerHits(const ClusterView& view);

// Whether the flags mean the Workload.
bool IsMeant(const api::Workload& workload, const EtaFlags& flags,
             const std::string& default_namespace);

}  // namespace berth::cli
