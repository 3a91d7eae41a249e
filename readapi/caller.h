// readapi/caller.h — requests that are answered with the rights of the caller's own token: the API
// server decides what is read and written for them.
//
// Threads: data. Errors: none.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::readapi {

inline constexpr char kCapacityPath[] = "/api/v1/capacity";
inline constexpr char kTopologyPath[] = "/api/v1/topology";
inline constexpr char kWhatIfPath[] = "/api/v1/whatif";
inline constexpr char kActionsPath[] = "/api/v1/actions";

struct CallerRequest {
  enum class Kind : std::uint8_t {
    kCapacity,  // pools, prices, stock, open requests: as `berth capacity -o json`
    kTopology,  // levels, nodes, who is where, where gangs would fit
    kCost,      // of one Workload
    kWhatIf,    // two forecasts; nothing is written
    kAction,    // one write
  };
  Kind kind = Kind::kCapacity;
  std::string token;
  // The caller may name the Workloads of these; empty: of all.
  std::vector<std::string> namespaces;
  std::string namespace_name;  // kCost: of the Workload
  std::string name;
  std::string body;  // kWhatIf, kAction: JSON
  friend auto operator<=>(const CallerRequest&, const CallerRequest&) = default;
};

}  // namespace berth::readapi
