#include "simulation/node_charges.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>  // lookup only

#include "simulation/run_report.h"

namespace berth::simulation {
namespace {

constexpr double kLeastWeight = 1e-6;  // the weight of pods that request nothing

struct Stay {
  NodeId node = 0;
  Duration from{};
  Duration to{};
  std::size_t job = 0;
  std::int64_t pods = 0;
};

// The largest part of the node that the pods request.
double WeightOf(const Job& job, std::int64_t pods, const api::ResourceAmounts& allocatable) {
  double weight = kLeastWeight;
  const auto& requests = job.shape->pod_sets[0].pod_template.spec.containers[0].requests;
  for (const auto& [resource, amount] : requests) {
    const auto found = allocatable.find(resource);
    if (found == allocatable.end() || found->second <= 0) continue;
    weight = std::max(weight, static_cast<double>(amount) / static_cast<double>(found->second));
  }
  return weight * static_cast<double>(pods);
}

// The stays of all runs, by node and time.
std::vector<Stay> StaysOf(const std::vector<JobRun>& runs) {
  std::vector<Stay> stays;
  for (const JobRun& run : runs) {
    for (const auto& [node, pods] : run.nodes) {
      stays.push_back({node, run.placed, run.end, run.job, pods});
    }
  }
  std::sort(stays.begin(), stays.end(), [](const Stay& a, const Stay& b) {
    return std::tie(a.node, a.from, a.to, a.job) < std::tie(b.node, b.from, b.to, b.job);
  });
  return stays;
}

class Charger {
 public:
  Charger(const std::vector<Job>& jobs, const std::vector<NodePool>& pools)
      : jobs_(jobs), pools_(pools), charges_(jobs.size()) {}

  // `first` to `last`: all stays on the node.
  void Charge(const NodeLife& life, const Stay* first, const Stay* last) {
    std::vector<std::pair<const Stay*, double>> there;  // stays with their weights
    Duration at = life.made;
    std::size_t owner = first->job;  // pays for time without pods
    const Stay* next = first;
    while (next != last || !there.empty()) {
      Duration until = next != last ? next->from : Duration::max();
      for (const auto& [stay, weight] : there) until = std::min(until, stay->to);
      until = std::clamp(until, at, std::max(at, life.gone));
      Divide(life.pool, until - at, there, owner);
      at = until;
      // At the end of the node's life every stay is over.
      const bool is_over = at >= life.gone;
      std::erase_if(there, [&](const auto& each) {
        if (!is_over && each.first->to > at) return false;
        owner = each.first->job;
        return true;
      });
      for (; next != last && (is_over || next->from <= at); ++next) {
        owner = next->job;
        if (next->to <= at) continue;
        const double weight =
            WeightOf(jobs_[next->job], next->pods, pools_[life.pool].node.allocatable);
        there.emplace_back(next, weight);
      }
      if (is_over) there.clear();
    }
    Add(owner, life.pool, std::max(life.gone - at, Duration::zero()), 1);
  }

  Charges Take() { return std::move(charges_); }

 private:
  void Divide(std::size_t pool, Duration span,
              const std::vector<std::pair<const Stay*, double>>& there, std::size_t owner) {
    if (there.empty()) return Add(owner, pool, span, 1);
    double sum = 0;
    for (const auto& [stay, weight] : there) sum += weight;
    for (const auto& [stay, weight] : there) Add(stay->job, pool, span, weight / sum);
  }

  void Add(std::size_t job, std::size_t pool, Duration span, double share) {
    if (span == Duration::zero()) return;
    std::vector<NodeTime>& times = charges_[job];
    const auto known = std::find_if(times.begin(), times.end(),
                                    [pool](const NodeTime& time) { return time.pool == pool; });
    NodeTime& time = known != times.end() ? *known : times.emplace_back(NodeTime{.pool = pool});
    time.seconds += SecondsOf(span) * share;
  }

  const std::vector<Job>& jobs_;
  const std::vector<NodePool>& pools_;
  Charges charges_;
};

}  // namespace

Charges ChargesOf(const std::vector<Job>& jobs, const std::vector<NodePool>& pools,
                  const WorldResult& result, const std::vector<JobRun>& runs) {
  if (pools.empty()) return {};
  std::unordered_map<NodeId, const NodeLife*> lives;
  for (const NodeLife& life : result.nodes) lives[life.node] = &life;
  const std::vector<Stay> stays = StaysOf(runs);
  Charger charger(jobs, pools);
  for (std::size_t at = 0; at < stays.size();) {
    std::size_t end = at;
    while (end < stays.size() && stays[end].node == stays[at].node) ++end;
    const auto life = lives.find(stays[at].node);
    if (life != lives.end()) {
      charger.Charge(*life->second, stays.data() + at, stays.data() + end);
    }
    at = end;
  }
  return charger.Take();
}

}  // namespace berth::simulation
