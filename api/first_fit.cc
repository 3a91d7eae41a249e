#include "api/first_fit.h"

#include <algorithm>
#include <numeric>

namespace berth::api {
namespace {

bool Take(ResourceAmounts& free, const ResourceAmounts& pod) {
  for (const auto& [resource, amount] : pod) {
    if (amount > free[resource]) return false;
  }
  for (const auto& [resource, amount] : pod) {
    free[resource] = SubtractAmounts(free[resource], amount);
  }
  return true;
}

// The size that pods are compared with: a further room, else the largest amounts of all rooms.
ResourceAmounts Measure(const Rooms& rooms) {
  if (rooms.another) return *rooms.another;
  ResourceAmounts most;
  for (const ResourceAmounts& free : rooms.free) {
    for (const auto& [resource, amount] : free) {
      most[resource] = std::max(most[resource], amount);
    }
  }
  return most;
}

// The part that a pod takes of the scarcest resource, in millionths.
std::int64_t ShareOf(const ResourceAmounts& pod, const ResourceAmounts& measure) {
  std::int64_t share = 0;
  for (const auto& [resource, amount] : pod) {
    const auto has = measure.find(resource);
    if (has == measure.end() || has->second == 0) continue;
    share =
        std::max(share, MultiplyAmounts(amount, 1000) / std::max<Amount>(has->second / 1000, 1));
  }
  return share;
}

std::vector<std::size_t> LargestFirst(const Rooms& rooms, const std::vector<Demand>& demands) {
  const ResourceAmounts measure = Measure(rooms);
  std::vector<std::int64_t> shares;
  for (const Demand& demand : demands) shares.push_back(ShareOf(demand.pod, measure));
  std::vector<std::size_t> order(demands.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&shares](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  return order;
}

}  // namespace

std::optional<std::vector<std::int64_t>> FirstFit(Rooms rooms, const std::vector<Demand>& demands) {
  std::vector<std::int64_t> pods(rooms.free.size(), 0);
  for (const std::size_t at : LargestFirst(rooms, demands)) {
    const Demand& demand = demands[at];
    const auto takes = [&](std::size_t room) {
      return (!rooms.allows || rooms.allows(at, room)) && Take(rooms.free[room], demand.pod);
    };
    std::size_t first = 0;  // an equal pod never fits before the last one's room
    for (std::int64_t pod = 0; pod < demand.count; ++pod) {
      while (first < pods.size() && !takes(first)) ++first;
      if (first == pods.size()) {
        if (!rooms.another || static_cast<std::int64_t>(pods.size()) >= rooms.most) {
          return std::nullopt;
        }
        rooms.free.push_back(*rooms.another);
        pods.push_back(0);
        if (!takes(first)) return std::nullopt;
      }
      ++pods[first];
    }
  }
  return pods;
}

}  // namespace berth::api
