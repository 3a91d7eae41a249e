// view/screens/setup_options.h — what `berth init` is told of teams, machines and capacity, and the
// plan that follows: each team with its whole quota.
//
//     words of flags, answers ──Parse…──▶ SetupOptions ──PlanSetup──▶ FirstSetup ──▶ manifests, a day
//
// Units: api/quantity.h. Bounds: kMostSetupTeams.
// Threads: pure functions. Errors: kInvalid; the message names the field, the word and the form.
// The caller puts the name of the flag in front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/quantity.h"
#include "base/result.h"

namespace berth::view {

inline constexpr std::size_t kMostSetupTeams = 100;
inline constexpr char kSetupGpu[] = "nvidia.com/gpu";  // the resource where none is named
// What the sample Job requests; the quota of a team is at least as large.
inline constexpr api::Amount kSampleCpu = 100;                     // milli-CPU
inline constexpr api::Amount kSampleMemory = 100LL * 1024 * 1024;  // bytes

// How the machines of the jobs come.
enum class SetupCapacity : std::uint8_t {
  kFixed,      // the nodes exist
  kDws,        // queued provisioning of GKE brings all machines of a job
  kSpot,       // spot machines, then machines on demand
  kKarpenter,  // Karpenter brings nodes for pending pods
};

struct SetupTeam {
  std::string name;
  // By "cpu", "memory" and "gpu". In options: what the word names; in a FirstSetup: all of them.
  api::ResourceAmounts quota;
  friend bool operator==(const SetupTeam&, const SetupTeam&) = default;
};

struct SetupGpus {
  std::string resource = kSetupGpu;
  std::optional<api::Amount> count;  // nullopt: what the teams name
};

// A label of the nodes of a pool.
struct SetupPool {
  std::string label;  // empty: the label of node pools that the capacity has
  std::string value;
  friend bool operator==(const SetupPool&, const SetupPool&) = default;
};

struct SetupOptions {
  std::vector<SetupTeam> teams;
  // What the teams without a quota of their own share; nullopt: see PlanSetup.
  std::optional<api::Amount> cpu;
  std::optional<api::Amount> memory;
  SetupGpus gpus;
  bool borrow = true;
  SetupCapacity capacity = SetupCapacity::kFixed;
  std::vector<SetupPool> pools;  // kSpot: the pool of spot machines, then the pool on demand
  std::string namespace_name;    // the namespace of each LocalQueue; empty: the name of its team
};

struct SetupFlavor {
  std::string name;
  std::optional<SetupPool> nodes;  // nullopt: any node
  std::string about;               // a sentence for the reader of the manifest
  std::string tolerated;           // the key of a taint of the nodes; empty: none
};

struct FirstSetup {
  std::vector<SetupTeam> teams;
  std::vector<SetupFlavor> flavors;  // in the order in which they are tried
  std::string gpu_resource;
  bool has_gpus = false;
  bool borrow = false;
  SetupCapacity capacity = SetupCapacity::kFixed;
  std::string namespace_name;  // the same as in the options
};

// "NAME", or "NAME=RESOURCE=AMOUNT,…" with the resources cpu, memory and gpu.
Result<SetupTeam> ParseSetupTeam(const std::string& word);
// `resource`: "cpu" or "memory".
Result<api::Amount> ParseSetupAmount(const std::string& resource, const std::string& word);
// "COUNT" or "RESOURCE=COUNT".
Result<SetupGpus> ParseSetupGpus(const std::string& word);
// "NAME" or "LABEL=NAME".
Result<SetupPool> ParseSetupPool(const std::string& word);
// A name that a namespace of jobs can have.
Status CheckSetupNamespace(const std::string& name);
Result<SetupCapacity> ParseSetupCapacity(const std::string& word);
const char* ToString(SetupCapacity capacity);  // "fixed", "dws", "spot", "karpenter"

// Divides what the machines have among the teams that name no quota of their own, in whole CPUs,
// GiB and GPUs where there are enough. Without a sum such a team has 8 CPUs, 4Gi for each of its
// CPUs, and no GPU. The messages of errors name the flags.
Result<FirstSetup> PlanSetup(const SetupOptions& options);

// The namespace of the LocalQueue of the team.
const std::string& NamespaceOf(const FirstSetup& setup, const SetupTeam& team);
// The resource of quotas and requests: the GPU resource of the setup for "gpu".
const std::string& ResourceOf(const FirstSetup& setup, const std::string& name);
// "500m", "32Gi", "2"; `name`: "cpu", "memory" or "gpu".
std::string AmountText(const std::string& name, api::Amount amount);
// The command line that makes the same manifests.
std::string CommandOf(const FirstSetup& setup);

}  // namespace berth::view
