// cli/simulate.h — the options of `berth simulate` and its function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client_flags.h"

namespace berth::cli {

enum class SimulateOutput : std::uint8_t { kTable, kJson, kYaml, kCsv };

struct SimulateFlags {
  std::vector<std::string> manifests;  // files and folders
  bool from_cluster = false;           // the queues of a cluster in place of manifests
  ClientFlags client;                  // the flags of that cluster
  std::string workload;                // cli/workload_source.h; "-" is standard input
  std::vector<std::string> mapped;     // ORIGIN=QUEUE: LocalQueues of a trace's jobs
  std::uint64_t seed = 1;              // the seed of a generated workload
  std::int64_t seeds = 0;              // the number of runs, with seeds from `seed` on; 0: one run
  std::vector<std::string> compare;    // other manifests; empty: one run
  std::vector<std::string> pools;      // files and folders of NodePools; empty: no nodes
  bool full = false;                   // plays every part of Berth, not the scheduler alone
  bool spread = false;                 // pods go to the emptiest nodes
  std::string queue;                   // LocalQueue of rows that name none; empty: the only one
  std::string config;                  // Kueue's Configuration file; empty: the defaults
  std::string decisions;               // kueue, berth; empty: the file's value
  std::string html;                    // file of the page with pictures; empty: none
  std::string events;                  // file of the events as JSON lines; empty: none
  SimulateOutput output = SimulateOutput::kTable;
  bool ascii = false;
};

// Returns the exit code, as every Run… of cli/commands.h.
int RunSimulate(const SimulateFlags& flags);

}  // namespace berth::cli
