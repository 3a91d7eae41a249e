#include "simulation/tuning.h"

#include <utility>

#include "api/queue_policy.h"

namespace berth::simulation {
namespace {

double DestroyedOf(const Figures& figures, const std::string& resource) {
  const auto found = figures.destroyed.find(resource);
  return found == figures.destroyed.end() ? 0 : found->second;
}

bool IsAcceptable(const Figures& tried, const Figures& first, const std::string& resource) {
  return tried.unfinished <= first.unfinished && tried.wait_p99 <= kTolerance * first.wait_p99 &&
         DestroyedOf(tried, resource) <= kTolerance * DestroyedOf(first, resource);
}

}  // namespace

std::vector<PolicyTrial> PolicyTrials() {
  std::vector<PolicyTrial> trials = {{"as it is", {}, {}}};
  for (const char* order : {"Fifo", "ShortestFirst", "FairByUser"}) {
    for (const char* places : {"off", "auto"}) {
      PolicyTrial trial{std::string(order) + ", places " + places,
                        {{api::kOrderAnnotation, order}, {api::kReserveAfterAnnotation, places}},
                        {}};
      trials.push_back(trial);
      trial.name += ", patience 24h";
      trial.annotations[api::kPreemptionPatienceAnnotation] = "24h";
      trials.push_back(std::move(trial));
    }
  }
  return trials;
}

Cluster WithPolicy(Cluster cluster, const PolicyTrial& trial) {
  for (api::ClusterQueue& queue : cluster.cluster_queues) {
    for (const auto& [key, value] : trial.annotations) queue.meta.annotations[key] = value;
  }
  return cluster;
}

std::optional<std::size_t> ProposedTrial(const std::vector<PolicyTrial>& trials,
                                         const std::string& resource) {
  std::optional<std::size_t> best;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    const Figures& tried = trials[i].figures;
    if (!IsAcceptable(tried, trials[0].figures, resource)) continue;
    if (!best || tried.wait_mean < trials[*best].figures.wait_mean) best = i;
  }
  if (!best || trials[*best].figures.wait_mean >= kWorthwhile * trials[0].figures.wait_mean) {
    return std::nullopt;
  }
  return best;
}

}  // namespace berth::simulation
