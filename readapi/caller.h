// readapi/caller.h — requests that are answered with the rights of the caller: the rights of its
// token, or of the user that a trusted proxy names. The API server decides what is read and written
// for them.
//
// Threads: data. Errors: none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::readapi {

inline constexpr char kCapacityPath[] = "/api/v1/capacity";
inline constexpr char kTopologyPath[] = "/api/v1/topology";
inline constexpr char kLocationsPath[] = "/api/v1/locations";
inline constexpr char kWhatIfPath[] = "/api/v1/whatif";
inline constexpr char kActionsPath[] = "/api/v1/actions";

// The user that a trusted proxy names.
struct CallerUser {
  std::string name;
  std::vector<std::string> groups;
  friend auto operator<=>(const CallerUser&, const CallerUser&) = default;
};

struct CallerRequest {
  enum class Kind : std::uint8_t {
    kCapacity,   // pools, prices, stock, open requests: the form of `berth capacity -o json`
    kTopology,   // levels, nodes, Workloads on them, places for gangs
    kCost,       // the cost of one Workload
    kWhatIf,     // two forecasts; nothing is written
    kAction,     // one write
    kStory,      // the story of one Workload, as `berth why -o json`, with its pods
    kObjects,    // the manifests and events of one Workload and its job
    kLog,        // the end of the log of one pod
    kLocations,  // where some running Workloads run, by their pods
  };
  Kind kind = Kind::kCapacity;
  std::string token;               // empty: `user` is set
  std::optional<CallerUser> user;  // without a token
  // The caller may name the Workloads of these namespaces; empty: of all namespaces.
  std::vector<std::string> namespaces;
  std::string namespace_name;  // the namespace of the Workload of kCost, kStory, kObjects, kLog
  std::string name;
  std::vector<std::string> workloads;  // kLocations: NAMESPACE/NAME, sorted
  std::string pod;                     // kLog
  std::string container;               // kLog; empty: the default one
  // kWhatIf, kAction: JSON. kStory: the row of the Workload, so that a kept answer is of this row.
  std::string body;
  // kStory: Workloads before it in its ClusterQueue, of all namespaces; nullopt: it has no turn.
  std::optional<std::size_t> before;
  friend auto operator<=>(const CallerRequest&, const CallerRequest&) = default;
};

}  // namespace berth::readapi
