// admission/flavors/device_pool.h — the devices of the cluster (ResourceSlices) and their classes,
// for claims that select devices by expressions.
//
//     request ─selectors─▶ devices of the class that fit ─▶ enough? the most that one takes?
//
// Selectors are those of Kubernetes' dynamic resource allocation: CEL over `device`, with driver,
// attributes and capacity by domain. A domain that a device lacks is an empty map where the
// expression names it as attributes["…"] or capacity["…"].
//
// Threads: one. Errors: an expression that does not compile, or fails on a device.
// Source: Kubernetes dynamic-resource-allocation/cel; Kueue pkg/dra.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/device_claims.h"
#include "base/result.h"
#include "cel/program.h"

namespace berth::admission {

// Expressions that all have to be true of a device.
class DeviceSelectors {
 public:
  // An error names the index: "[1].cel.expression: …".
  static Result<DeviceSelectors> Compile(const std::vector<std::string>& expressions);

  // Takes the cost from `budget`.
  Result<bool> Match(const cel::Value& device, std::uint64_t& budget) const;

  // The domains that the expressions name.
  const std::set<std::string>& domains() const { return domains_; }

 private:
  std::vector<cel::Program> programs_;
  std::set<std::string> domains_;
};

class DevicePool {
 public:
  // Steps of one claim's expressions over all devices.
  static constexpr std::uint64_t kBudget = 20'000'000;

  void Set(const api::ResourceSlice& slice);
  void RemoveSlice(const std::string& name);
  void Set(const api::DeviceClass& device_class);
  void RemoveClass(const std::string& name);

  // Differs after each change.
  std::uint64_t version() const { return version_; }

  const api::DeviceClass* ClassNamed(const std::string& name) const;
  bool has_extended_resources() const { return !by_resource_.empty(); }
  // The class whose devices serve an extended resource: if there are several, the one created last,
  // then the first by name. Null: none does.
  const api::DeviceClass* ClassOf(const std::string& extended_resource) const;

  using Place = std::size_t;
  // A device and its place in the pool; valid until the next change.
  struct Found {
    Place place = 0;
    const api::Device* device = nullptr;
  };
  // The devices for which all of `selectors` are true, in a fixed order.
  struct Question {
    std::vector<const DeviceSelectors*> selectors;
    std::set<std::string> drivers;     // empty: all drivers
    bool complete_pools = false;       // only of pools all of whose slices are known
    std::optional<std::int64_t> most;  // Find stops at this number; nullopt: no limit
  };
  Result<std::vector<Found>> Find(const Question& question, const std::set<Place>& except,
                                  std::uint64_t& budget) const;

 private:
  struct Slice {
    api::ResourceSlice object;
    std::vector<cel::Value> values;  // the values of its devices
  };
  // Whether the slice is of its pool's newest generation, and all slices of that generation are
  // known.
  bool IsComplete(const api::ResourceSlice& slice) const;

  std::map<std::string, Slice> slices_;  // by name
  // The state of one pool of a driver: the newest generation and the number of its slices.
  struct PoolState {
    std::int64_t generation = 0;
    std::int64_t slices = 0;
  };
  mutable std::map<std::pair<std::string, std::string>, PoolState> pools_;  // by driver and name
  mutable std::uint64_t pools_version_ = 0;
  std::map<std::string, api::DeviceClass> classes_;
  std::map<std::string, std::set<std::string>> by_resource_;  // extended resource → classes
  std::uint64_t version_ = 1;
};

}  // namespace berth::admission
