// local/cloud/step_context.h — the state that the parts of one step of the cloud share.
//
// Internal to cloud_step.cc, request_step.cc and scaling_step.cc.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "local/cloud/cloud_step.h"

namespace berth::local::cloud {

// The machines given out of one pool, effects of this step included.
struct PoolLedger {
  const NodePool* pool = nullptr;
  std::int64_t nodes = 0;
  std::int64_t promised = 0;  // to requests in the cloud's queue
  std::int64_t booting = 0;
  std::int64_t waiting_requests = 0;

  std::int64_t room() const { return pool->max_nodes - nodes - promised; }
  // INT64_MAX: unlimited stock.
  std::int64_t in_stock() const {
    return pool->stock ? std::max<std::int64_t>(*pool->stock - nodes, 0) : INT64_MAX;
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

// Resize requests whose idle nodes must not be removed,
using BookedRequests = std::map<std::string, WallTime>;  // with the end of the booking

BookedRequests AdvanceRequests(StepContext& context);
void ScalePools(StepContext& context, const BookedRequests& booked);

// gke-<namespace, 20>-<name, 20>-<hash>: GKE's naming, a pure function of the request's name.
std::string ResizeRequestName(const cluster::ObjectKey& key);

}  // namespace berth::local::cloud
