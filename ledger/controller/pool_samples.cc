#include "ledger/controller/pool_samples.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>  // lookup only
#include <utility>

#include "api/condition.h"
#include "api/pod_phase.h"
#include "api/pool_of_node.h"

namespace berth::ledger {
namespace {

constexpr std::chrono::minutes kFirstReport{1};  // a kubelet reports its node as not ready at first

bool IsBooting(const api::Node& node) {
  const api::Condition* ready = api::FindCondition(node.conditions, "Ready");
  return ready == nullptr ||
         (ready->status != api::ConditionStatus::kTrue &&
          ready->last_transition_time <= node.meta.creation_timestamp + kFirstReport);
}

// The nodes with pods that are work.
std::unordered_set<std::string_view> BusyNodes(const kube::ObjectStore<api::Pod>::Objects& pods) {
  std::unordered_set<std::string_view> busy;
  for (const auto& pod : pods) {
    if (!pod->spec.node_name.empty() && !api::HasEnded(*pod) && !api::IsDaemon(*pod)) {
      busy.insert(pod->spec.node_name);
    }
  }
  return busy;
}

}  // namespace

std::vector<PoolSampleRecord> PoolSamplesOf(const kube::ObjectStore<api::Node>::Objects& nodes,
                                            const kube::ObjectStore<api::Pod>::Objects* pods,
                                            WallTime now) {
  const auto busy = pods == nullptr ? std::unordered_set<std::string_view>() : BusyNodes(*pods);
  std::map<std::string, PoolSampleRecord> by_pool;
  for (const auto& node : nodes) {
    PoolSampleRecord& sample = by_pool[api::NodePoolOf(*node)];
    if (api::IsTrue(node->conditions, "Ready")) {
      sample.ready += kSampleSeconds;
      if (pods != nullptr && !busy.contains(node->meta.name)) sample.idle += kSampleSeconds;
    } else if (IsBooting(*node)) {
      sample.booting += kSampleSeconds;
    }
  }
  std::vector<PoolSampleRecord> samples;
  for (auto& [pool, sample] : by_pool) {
    sample.pool = pool;
    sample.from = ToSeconds(now);
    sample.span = kSampleSeconds;
    sample.seconds = kSampleSeconds;
    sample.idle_seconds = pods == nullptr ? 0 : kSampleSeconds;
    samples.push_back(std::move(sample));
  }
  std::stable_sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
    return a.ready + a.booting > b.ready + b.booting;
  });
  if (samples.size() > kMostSampledPools) samples.resize(kMostSampledPools);
  return samples;
}

}  // namespace berth::ledger
