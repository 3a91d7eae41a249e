// local/cloud/step_context.h — the state that the parts of one step of the cloud share.
//
// Internal to cloud_step.cc, request_step.cc and scaling_step.cc.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "api/quantity.h"
#include "local/cloud/cloud_step.h"

namespace berth::local::cloud {

// The machines given out of one pool, effects of this step included.
struct PoolLedger {
  const NodePool* pool = nullptr;
  std::int64_t nodes = 0;
  std::map<std::string, std::int64_t> nodes_by_zone;
  std::int64_t promised = 0;  // machines promised to requests in the cloud's queue
  std::int64_t booting = 0;
  std::int64_t waiting_requests = 0;

  std::int64_t room() const { return pool->max_nodes - nodes - promised; }
  // INT64_MAX: unlimited stock.
  std::int64_t in_stock(const std::string& zone) const {
    const std::int64_t all =
        pool->stock ? std::max<std::int64_t>(*pool->stock - nodes, 0) : INT64_MAX;
    const auto stock = pool->stock_by_zone.find(zone);
    if (stock == pool->stock_by_zone.end()) return all;
    const auto used = nodes_by_zone.find(zone);
    const std::int64_t left = stock->second - (used == nodes_by_zone.end() ? 0 : used->second);
    return std::clamp<std::int64_t>(left, 0, all);
  }
  std::int64_t in_stock() const {
    std::int64_t sum = 0;
    for (const std::string& zone : pool->zones) sum = api::AddAmounts(sum, in_stock(zone));
    return pool->stock ? std::min(sum, std::max<std::int64_t>(*pool->stock - nodes, 0)) : sum;
  }
  // Returns the first of `zones` with `count` machines in stock, else the first. Precondition:
  // `zones` is not empty.
  const std::string& ZoneWith(std::int64_t count, const std::vector<std::string>& zones) const {
    const auto found = std::find_if(zones.begin(), zones.end(), [&](const std::string& zone) {
      return in_stock(zone) >= count;
    });
    return found == zones.end() ? zones.front() : *found;
  }
};

struct StepContext {
  const CloudView& view;
  const CloudTimes& times;
  WallTime now;
  std::map<std::string, PoolLedger> ledgers;  // by pool name
  CloudStep step;

  void LookAgain(WallTime at) {
    if (!step.look_again || at < *step.look_again) step.look_again = at;
  }
  template <typename Effect>
  void Do(Effect effect) {
    step.effects.emplace_back(std::move(effect));
  }
};

// Resize requests whose idle nodes must not be removed, each with the end of its booking.
using BookedRequests = std::map<std::string, WallTime>;

BookedRequests AdvanceRequests(StepContext& context);
void ScalePools(StepContext& context, const BookedRequests& booked);

// gke-<namespace, 20>-<name, 20>-<hash>: GKE's naming, a pure function of the request's name.
std::string ResizeRequestName(const cluster::ObjectKey& key);

}  // namespace berth::local::cloud
