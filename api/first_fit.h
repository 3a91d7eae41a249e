// api/first_fit.h — places pods on nodes by amounts: first fit, largest pods first.
//
//     rooms, demands --FirstFit--> the number of pods in each room
//
// Equal pods are placed in the order of the rooms, so that the answer is the same on every machine.
//
// Pure. Units: Amounts (quantity.h). Threads: none. Errors: none.
// Source: cluster-autoscaler's estimator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "api/quantity.h"

namespace berth::api {

struct Demand {
  ResourceAmounts pod;  // requests of one pod
  std::int64_t count = 0;
};

struct Rooms {
  std::vector<ResourceAmounts> free;  // tried in this order
  // Whether pods of the demand may go to the room; empty: every pod to every room.
  std::function<bool(std::size_t demand, std::size_t room)> allows;
  std::optional<ResourceAmounts> another;  // further rooms of this size are opened
  std::int64_t most = 0;  // limits the number of rooms where `another` is set, opened ones included
};

// The number of pods in each room, opened rooms included; nullopt: the pods do not fit.
std::optional<std::vector<std::int64_t>> FirstFit(Rooms rooms, const std::vector<Demand>& demands);

}  // namespace berth::api
