#include "simulation/flavor_costs.h"

#include <algorithm>
#include <utility>

#include "provisioning/vetoes.h"
#include "simulation/run_report.h"

namespace berth::simulation {
namespace {

constexpr double kNanoUsd = 1e-9;
constexpr double kHourSeconds = 3600;

}  // namespace

FlavorCosts::FlavorCosts(const Cluster& cluster, std::size_t jobs) {
  for (const api::ResourceFlavor& flavor : cluster.flavors) {
    const provisioning::FlavorsByName named{{flavor.meta.name, flavor}};
    const auto price = provisioning::PriceOf({.flavor = flavor.meta.name}, &named);
    if (price) prices_[flavor.meta.name] = static_cast<double>(price->NanoValue()) * kNanoUsd;
  }
  if (prices_.empty()) return;
  open_.resize(jobs);
  costs_.resize(jobs);
}

double FlavorCosts::RateOf(const api::Admission& admission) const {
  double rate = 0;
  for (const api::PodSetAssignment& pods : admission.pod_set_assignments) {
    const double* dearest = nullptr;
    for (const auto& [resource, flavor] : pods.flavors) {
      const auto price = prices_.find(flavor);
      if (price == prices_.end()) continue;
      if (dearest == nullptr || *dearest < price->second) dearest = &price->second;
    }
    if (dearest == nullptr) return 0;
    rate += *dearest * pods.count;
  }
  return rate;
}

void FlavorCosts::End(std::size_t job, Duration at) {
  OpenRun& run = open_[job];
  costs_[job] += run.rate * SecondsOf(at - run.since) / kHourSeconds;
  run = {};
}

void FlavorCosts::Note(const WorldEvent& event) {
  if (prices_.empty() || event.kind == WorldEvent::Kind::kSubmitted) return;
  if (event.kind != WorldEvent::Kind::kStarted) return End(event.job, event.at);
  open_[event.job] = {event.admission == nullptr ? 0 : RateOf(*event.admission), event.at};
}

std::vector<double> FlavorCosts::Take(Duration end) {
  for (std::size_t job = 0; job < open_.size(); ++job) {
    if (open_[job].rate > 0) End(job, end);
  }
  return std::exchange(costs_, {});
}

}  // namespace berth::simulation
