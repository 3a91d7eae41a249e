#include "view/screens/setup_options.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "api/labels.h"
#include "base/dns_names.h"
#include "base/strings.h"

namespace berth::view {
namespace {

using api::Amount;

constexpr std::size_t kMostOfLabel = 63;
constexpr std::size_t kMostOfSubdomain = 253;
constexpr Amount kMostGpus = 1'000'000;
constexpr Amount kDefaultCpus = 8;
constexpr Amount kMilli = 1000;
constexpr Amount kGibi = 1LL << 30;
constexpr Amount kMemoryPerCpu = 4 * kGibi;
constexpr char kGpuWord[] = "gpu";
constexpr char kKarpenterPoolLabel[] = "karpenter.sh/nodepool";
constexpr char kAzurePrefix[] = "kubernetes.azure.com/";
constexpr std::array<const char*, 3> kResources{"cpu", "memory", kGpuWord};
constexpr std::array<std::string_view, 4> kSystemNamespaces{"kube-system", "kube-public",
                                                            "kube-node-lease", "kueue-system"};
constexpr std::array<SetupCapacity, 4> kCapacities{SetupCapacity::kFixed, SetupCapacity::kDws,
                                                   SetupCapacity::kSpot, SetupCapacity::kKarpenter};

Error Invalid(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

std::string Quoted(std::string_view word) { return "\"" + std::string(word) + "\""; }

// The part of a label's key behind its domain, or a label's value: "gke-nodepool", "Tesla_T4".
bool IsLabelWord(std::string_view word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !word.empty() && word.size() <= kMostOfLabel && is_plain(word.front()) &&
         is_plain(word.back()) && std::all_of(word.begin(), word.end(), [&](char c) {
           return is_plain(c) || c == '-' || c == '_' || c == '.';
         });
}

// "nvidia.com/gpu", or without a domain "pool".
bool IsQualifiedName(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return IsLabelWord(name);
  const std::string_view domain = name.substr(0, slash);
  return domain.size() <= kMostOfSubdomain && IsDnsSubdomain(domain) &&
         IsLabelWord(name.substr(slash + 1));
}

Status CheckDnsLabel(std::string_view name, const char* what) {
  if (name.size() <= kMostOfLabel && IsDnsLabel(name)) return OkStatus();
  return Invalid(Quoted(name) + " is no name of a " + what +
                 ": write at most 63 lower-case letters, digits and '-', such as team-red");
}

Result<Amount> ParseGpuCount(std::string_view word) {
  const auto count = ParseInt64(word);
  if (count && *count >= 0 && *count <= kMostGpus) return *count;
  return Invalid("gpu: " + Quoted(word) + " is no number of GPUs: write a whole number from 0 to " +
                 std::to_string(kMostGpus));
}

bool IsResource(std::string_view word) {
  return std::find(kResources.begin(), kResources.end(), word) != kResources.end();
}

// "8 cpu", "32Gi memory".
std::string Show(const std::string& resource, Amount amount) {
  return AmountText(resource, amount) + " " + resource;
}

// What one part of a division has at least, where there is enough for all parts.
Amount UnitOf(const std::string& resource, Amount whole, Amount parts) {
  if (resource == "cpu" && whole / kMilli >= parts) return kMilli;
  if (resource == "memory" && whole / kGibi >= parts) return kGibi;
  return 1;
}

class Planner {
 public:
  explicit Planner(const SetupOptions& options) : options_(options) {}

  Result<FirstSetup> Plan() {
    BERTH_CHECK_OK(TakeTeams());
    BERTH_CHECK_OK(Share("cpu", options_.cpu, "--cpu"));
    BERTH_CHECK_OK(Share("memory", options_.memory, "--memory"));
    BERTH_CHECK_OK(Share(kGpuWord, options_.gpus.count, "--gpu"));
    BERTH_CHECK_OK(CheckQuotas());
    setup_.gpu_resource = options_.gpus.resource;
    setup_.has_gpus = std::any_of(setup_.teams.begin(), setup_.teams.end(),
                                  [](const auto& team) { return team.quota.at(kGpuWord) > 0; });
    setup_.borrow = options_.borrow && setup_.teams.size() > 1;
    setup_.capacity = options_.capacity;
    setup_.namespace_name = options_.namespace_name;
    BERTH_CHECK_OK(TakeFlavors());
    return std::move(setup_);
  }

 private:
  Status TakeTeams() {
    if (options_.teams.empty()) {
      return Invalid("--team: name a team, such as --team red=cpu=8,memory=32Gi, or --team red");
    }
    if (options_.teams.size() > kMostSetupTeams) {
      return Invalid("--team: at most " + std::to_string(kMostSetupTeams) + " teams");
    }
    std::set<std::string> names;
    for (const SetupTeam& team : options_.teams) {
      if (!names.insert(team.name).second) {
        return Invalid("--team: the team " + team.name + " comes twice");
      }
    }
    setup_.teams = options_.teams;
    return OkStatus();
  }

  // Gives the teams that name no quota of the resource their part of `whole`.
  Status Share(const std::string& resource, std::optional<Amount> whole, const std::string& flag) {
    Amount named = 0;
    std::vector<SetupTeam*> open;
    for (SetupTeam& team : setup_.teams) {
      const auto found = team.quota.find(resource);
      if (found == team.quota.end()) {
        open.push_back(&team);
      } else {
        named = api::AddAmounts(named, found->second);
      }
    }
    if (!whole) {
      for (SetupTeam* team : open) team->quota[resource] = DefaultOf(resource, *team);
      return OkStatus();
    }
    if (named > *whole) {
      return Invalid(flag + ": the quotas of --team are " + Show(resource, named) +
                     ", the machines have " + Show(resource, *whole) +
                     ": raise the one, or lower the other");
    }
    const Amount rest = *whole - named;
    if (open.empty() && rest > 0) {
      return Invalid(flag + ": no team has " + Show(resource, rest) + " of " +
                     Show(resource, *whole) + ": raise a quota of --team, or leave " + flag +
                     " out");
    }
    Divide(resource, rest, open);
    return OkStatus();
  }

  static Amount DefaultOf(const std::string& resource, const SetupTeam& team) {
    if (resource == "cpu") return kDefaultCpus * kMilli;
    if (resource != "memory") return 0;
    const Amount milli = team.quota.at("cpu");
    const Amount cpus = milli / kMilli + (milli % kMilli == 0 ? 0 : 1);
    return api::MultiplyAmounts(cpus, kMemoryPerCpu);
  }

  // The first teams get what is left of the equal parts.
  static void Divide(const std::string& resource, Amount whole,
                     const std::vector<SetupTeam*>& teams) {
    if (teams.empty()) return;
    const auto parts = static_cast<Amount>(teams.size());
    const Amount unit = UnitOf(resource, whole, parts);
    const Amount units = whole / unit;
    for (std::size_t i = 0; i < teams.size(); ++i) {
      const bool has_more = static_cast<Amount>(i) < units % parts;
      teams[i]->quota[resource] = (units / parts + (has_more ? 1 : 0)) * unit;
    }
    teams.front()->quota[resource] += whole % unit;
  }

  Status CheckQuotas() const {
    for (const SetupTeam& team : setup_.teams) {
      for (const auto& [resource, least] :
           {std::pair<std::string, Amount>("cpu", kSampleCpu), {"memory", kSampleMemory}}) {
        const Amount quota = team.quota.at(resource);
        if (quota >= least) continue;
        return Invalid("--team " + team.name + ": the quota is " + Show(resource, quota) +
                       ": at least " + Show(resource, least) + ", what the sample Job requests");
      }
    }
    return OkStatus();
  }

  // The pool at `place`, or `usual`; label and name of a pool that is not named.
  SetupPool PoolAt(std::size_t place, const char* label, const char* usual) const {
    SetupPool pool = place < options_.pools.size() ? options_.pools[place] : SetupPool{"", usual};
    if (pool.label.empty()) pool.label = label;
    return pool;
  }

  Status TakeFlavors() {
    const std::size_t pools = options_.pools.size();
    const bool is_spot = options_.capacity == SetupCapacity::kSpot;
    if (is_spot && pools == 1) {
      return Invalid(
          "--pool: spot needs two pools: first that of spot machines, then that of "
          "machines on demand");
    }
    if (pools > (is_spot ? 2 : 1)) {
      return Invalid(std::string("--pool: capacity ") + ToString(options_.capacity) +
                     " has at most " + (is_spot ? "two pools" : "one pool"));
    }
    switch (options_.capacity) {
      case SetupCapacity::kFixed:
        setup_.flavors.push_back({.name = "default-flavor", .about = "The nodes of the cluster."});
        if (pools > 0) setup_.flavors[0].nodes = PoolAt(0, api::kGkeNodePoolLabel, "");
        break;
      case SetupCapacity::kDws:
        setup_.flavors.push_back({"dws", PoolAt(0, api::kGkeNodePoolLabel, "dws-pool"),
                                  "The machines of a node pool with queued provisioning.", ""});
        break;
      case SetupCapacity::kSpot: TakeSpotFlavors(); break;
      case SetupCapacity::kKarpenter:
        setup_.flavors.push_back({"karpenter", PoolAt(0, kKarpenterPoolLabel, "default"),
                                  "The nodes of a NodePool of Karpenter.", ""});
        break;
    }
    return OkStatus();
  }

  void TakeSpotFlavors() {
    SetupFlavor spot{"spot", PoolAt(0, api::kGkeNodePoolLabel, "spot-pool"),
                     "Spot machines cost less, and the cloud may take them back.", ""};
    const bool is_azure = spot.nodes->label.starts_with(kAzurePrefix);
    const bool is_gke = spot.nodes->label == api::kGkeNodePoolLabel;
    if (is_azure) spot.tolerated = std::string(kAzurePrefix) + "scalesetpriority";
    if (is_gke) spot.tolerated = "cloud.google.com/gke-spot";
    setup_.flavors.push_back(std::move(spot));
    setup_.flavors.push_back({"on-demand", PoolAt(1, api::kGkeNodePoolLabel, "on-demand-pool"),
                              "Machines on demand are the fallback.", ""});
  }

  const SetupOptions& options_;
  FirstSetup setup_;
};

}  // namespace

const char* ToString(SetupCapacity capacity) {
  switch (capacity) {
    case SetupCapacity::kFixed: return "fixed";
    case SetupCapacity::kDws: return "dws";
    case SetupCapacity::kSpot: return "spot";
    case SetupCapacity::kKarpenter: return "karpenter";
  }
  return "";
}

Result<SetupCapacity> ParseSetupCapacity(const std::string& word) {
  for (const SetupCapacity capacity : kCapacities) {
    if (word == ToString(capacity)) return capacity;
  }
  return Invalid(Quoted(word) + " is no capacity: write fixed, dws, spot or karpenter");
}

Status CheckSetupNamespace(const std::string& name) {
  BERTH_CHECK_OK(CheckDnsLabel(name, "namespace"));
  const auto* end = kSystemNamespaces.end();
  if (std::find(kSystemNamespaces.begin(), end, name) == end) return OkStatus();
  return Invalid(Quoted(name) + " is a namespace of the system, in which no job is queued");
}

Result<SetupTeam> ParseSetupTeam(const std::string& word) {
  SetupTeam team{.name = word.substr(0, word.find('='))};
  BERTH_CHECK_OK(CheckDnsLabel(team.name, "team"));
  BERTH_CHECK_OK(CheckSetupNamespace(team.name));
  if (team.name.size() == word.size()) return team;
  for (const std::string_view part :
       Split(std::string_view(word).substr(team.name.size() + 1), ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || !IsResource(part.substr(0, equals))) {
      return Invalid(team.name + ": " + Quoted(part) +
                     " is no quota: write RESOURCE=AMOUNT with cpu, memory or gpu, such as "
                     "cpu=8,memory=32Gi,gpu=2");
    }
    const std::string resource(part.substr(0, equals));
    const std::string amount(part.substr(equals + 1));
    const auto parsed =
        resource == kGpuWord ? ParseGpuCount(amount) : ParseSetupAmount(resource, amount);
    if (!parsed) return Annotate(parsed.error(), team.name);
    if (!team.quota.emplace(resource, *parsed).second) {
      return Invalid(team.name + ": " + resource + " comes twice");
    }
  }
  return team;
}

Result<Amount> ParseSetupAmount(const std::string& resource, const std::string& word) {
  const auto amount = api::ParseAmount(resource, word);
  if (amount && *amount > 0) return *amount;
  return Invalid(resource + ": " + Quoted(word) +
                 " is no amount above 0: write a quantity such as " +
                 (resource == "cpu" ? "8 or 500m" : "32Gi"));
}

Result<SetupGpus> ParseSetupGpus(const std::string& word) {
  SetupGpus gpus;
  const std::size_t equals = word.rfind('=');
  if (equals != std::string::npos) gpus.resource = word.substr(0, equals);
  if (gpus.resource.find('/') == std::string::npos || !IsQualifiedName(gpus.resource)) {
    return Invalid("gpu: " + Quoted(gpus.resource) +
                   " is no resource of GPUs: write COUNT, or RESOURCE=COUNT such as "
                   "nvidia.com/gpu=16");
  }
  BERTH_TRY(gpus.count,
            ParseGpuCount(equals == std::string::npos ? word : word.substr(equals + 1)));
  return gpus;
}

Result<SetupPool> ParseSetupPool(const std::string& word) {
  SetupPool pool;
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos) pool.label = word.substr(0, equals);
  pool.value = equals == std::string::npos ? word : word.substr(equals + 1);
  const bool has_label = equals == std::string::npos || IsQualifiedName(pool.label);
  if (has_label && IsLabelWord(pool.value)) return pool;
  return Invalid("pool: " + Quoted(word) +
                 " is no node pool: write NAME, or LABEL=NAME such as "
                 "cloud.google.com/gke-nodepool=gpu-pool");
}

Result<FirstSetup> PlanSetup(const SetupOptions& options) { return Planner(options).Plan(); }

const std::string& NamespaceOf(const FirstSetup& setup, const SetupTeam& team) {
  return setup.namespace_name.empty() ? team.name : setup.namespace_name;
}

const std::string& ResourceOf(const FirstSetup& setup, const std::string& name) {
  return name == kGpuWord ? setup.gpu_resource : name;
}

std::string AmountText(const std::string& name, api::Amount amount) {
  return name == kGpuWord ? std::to_string(amount) : api::FormatAmount(name, amount);
}

std::string CommandOf(const FirstSetup& setup) {
  std::string command = "berth init";
  Amount gpus = 0;
  for (const SetupTeam& team : setup.teams) {
    command += " --team " + team.name;
    const char* separator = "=";
    for (const char* resource : kResources) {
      if (std::string_view(resource) == kGpuWord && !setup.has_gpus) continue;
      const Amount quota = team.quota.at(resource);
      command += separator + std::string(resource) + "=" + AmountText(resource, quota);
      separator = ",";
    }
    gpus = api::AddAmounts(gpus, team.quota.at(kGpuWord));
  }
  if (setup.has_gpus && setup.gpu_resource != kSetupGpu) {
    command += " --gpu " + setup.gpu_resource + "=" + std::to_string(gpus);
  }
  if (setup.teams.size() > 1 && !setup.borrow) command += " --no-borrow";
  if (setup.capacity != SetupCapacity::kFixed) {
    command += std::string(" --capacity ") + ToString(setup.capacity);
  }
  for (const SetupFlavor& flavor : setup.flavors) {
    if (flavor.nodes) command += " --pool " + flavor.nodes->label + "=" + flavor.nodes->value;
  }
  if (!setup.namespace_name.empty()) command += " --namespace " + setup.namespace_name;
  return command;
}

}  // namespace berth::view
