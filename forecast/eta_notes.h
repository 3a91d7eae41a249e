// forecast/eta_notes.h — `berth eta` from the forecasts that the controller keeps on Workloads
// (program/eta_writer.h): reading them saves a second of draws.
//
// Threads: pure function. Errors: none.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "view/screens/cluster_view.h"
#include "view/screens/eta_screen.h"

namespace berth::forecast {

// A forecast is written anew after kEtaRefresh, if not earlier, by a round that takes some minutes.
inline constexpr Duration kFreshForecast = std::chrono::minutes(45);

// The jobs that a forecast is asked for.
struct ForecastQuestion {
  std::string reference;          // job/x, KIND/x, workload/x, x; without `all`
  bool all = false;               // every job that waits
  bool all_namespaces = false;    // asks for the jobs of every namespace
  std::string namespace_name;     // asks for jobs of this namespace; empty: every namespace with
                                  // `all`, else the default
  std::string default_namespace;  // the namespace of a job whose question names none

  bool Names(const api::Workload& workload) const;
};

// nullopt: no job of the question has a fresh forecast. Jobs that came after the last round have
// rows without a forecast. The rows share the view.
std::optional<view::EtaView> EtaFromNotes(const std::shared_ptr<const view::ClusterView>& view,
                                          const ForecastQuestion& question);

// The hits of the annotations of Workloads in this cluster that have started.
view::EtaHits ControllerHits(const view::ClusterView& view);

}  // namespace berth::forecast
