// cli/forecast_commands.h — the options of `berth eta` and `berth what-if`, and their functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client_flags.h"
#include "cli/history_commands.h"
#include "cli/lint_command.h"
#include "cli/simulate.h"
#include "forecast/what_if_changes.h"

namespace berth::cli {

inline constexpr int kMostDraws = 1000;

// The source of the cluster's state, and the options of the simulation.
struct ForecastFlags {
  ClientFlags client;
  std::vector<std::string> from;  // files and folders of `kubectl get -o json`; empty: the API
  std::string now;                // the time of the files, RFC 3339; empty: the latest time in them
  std::string ledger;             // file; empty: the ledger beside the kubeconfig, if there is one
  std::string config;             // Kueue's Configuration file; empty: the defaults
  std::string decisions;          // kueue, berth; empty: the file's value
  bool pods = false;              // reads the pods on nodes, too
  int draws = 0;                  // 0: by the number of jobs
  std::uint64_t seed = 1;
};

struct EtaFlags {
  ForecastFlags forecast;
  std::string reference;  // job/x, KIND/x, workload/x, x
  bool all = false;       // every job that waits
  std::string scores;     // file of past forecasts (forecast/eta_scores.h); empty: none
  bool draw = false;      // true: ignores the forecasts that the controller keeps
};
int RunEta(const EtaFlags& flags);

struct WhatIfFlags {
  ForecastFlags forecast;
  std::vector<std::string> files;   // objects of queues and jobs, in the changed state
  bool recursive = false;           // reads the folders in folders of `files` and `submit`, too
  std::vector<std::string> submit;  // files of jobs
  forecast::WhatIfOptions changes;
};
inline constexpr int kMostTimes = 10'000;
inline constexpr int kExitWorseOff = 3;  // RunWhatIf: some job is worse off
int RunWhatIf(const WhatIfFlags& flags);

}  // namespace berth::cli
