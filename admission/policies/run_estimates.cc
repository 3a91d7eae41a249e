#include "admission/policies/run_estimates.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "api/job_user.h"
#include "base/median.h"
#include "base/seed.h"

namespace berth::admission {
namespace {

using Runs = std::deque<std::int64_t>;

void AddTo(Runs& runs, std::int64_t seconds, std::size_t most) {
  if (runs.size() == most) runs.pop_front();
  runs.push_back(seconds);
}

// nullopt: fewer than `fewest` runs.
std::optional<std::int64_t> MedianOf(const Runs& runs, std::size_t fewest) {
  if (runs.size() < fewest) return std::nullopt;
  return berth::MedianOf(std::vector(runs.begin(), runs.end()));
}

// The formula stands in the header.
std::int64_t ShortenedMaximum(std::int64_t declared, const Runs& runs) {
  const auto maximum = static_cast<double>(declared);
  double sum = 0;
  for (const std::int64_t run : runs) {
    sum += std::log(static_cast<double>(std::clamp<std::int64_t>(run, 1, declared)) / maximum);
  }
  const auto count = static_cast<double>(runs.size() + RunEstimates::kRunsOfMaximum);
  return static_cast<std::int64_t>(maximum * std::exp(sum / count));
}

bool Differs(std::int64_t a, std::int64_t b) {
  return std::max(a, b) - std::min(a, b) > std::max(a, b) / 8;
}

}  // namespace

RunEstimates::Kind RunEstimates::KindOf(queue::ClusterQueueId queue,
                                        const queue::WorkloadInfo& info) {
  const api::Workload& object = *info.object;
  const std::int64_t declared = object.spec.maximum_execution_time_seconds.value_or(0);
  const std::string* user = api::FindValue(object.meta.annotations, api::kUserAnnotation);
  std::string text = object.meta.namespace_name + "/" + object.spec.queue_name + "/";
  text += std::to_string(info.shape) + "/" + std::to_string(declared);
  if (user != nullptr) text += "/" + *user;
  return {queue, info.shape, std::max<std::uint64_t>(SeedFrom(text), 1), declared};
}

std::optional<std::int64_t> RunEstimates::EstimateOf(const Group& group) {
  if (group.declared > 0) return ShortenedMaximum(group.declared, group.runs);
  return MedianOf(group.runs, kFewestRunsOfGroup);
}

RunEstimates::Group* RunEstimates::GroupFor(std::uint64_t number) {
  const auto found = groups_.find(number);
  if (found != groups_.end()) return &found->second;
  return groups_.size() < kMostGroups ? &groups_[number] : nullptr;
}

void RunEstimates::Add(const Kind& kind, std::int64_t seconds) {
  AddTo(by_queue_[kind.queue], seconds, kMostRuns);
  const std::pair key{kind.queue, kind.shape};
  if (by_shape_.size() < kMostShapes || by_shape_.contains(key)) {
    AddTo(by_shape_[key], seconds, kMostRuns);
  }
  Group* group = GroupFor(kind.group);
  if (group == nullptr) return;
  AddTo(group->runs, seconds, kMostRunsOfGroup);
  group->declared = kind.declared;
  ++group->ends;
  if (group->waiting.empty() || group->ends * kEstimatesOfAnEnd < group->waiting.size()) return;
  const auto estimate = EstimateOf(*group);
  if (estimate && Differs(*estimate, group->told)) changed_.insert(kind.group);
}

std::optional<std::int64_t> RunEstimates::SecondsOf(const Kind& kind) const {
  if (const auto group = groups_.find(kind.group); group != groups_.end()) {
    if (const auto estimate = EstimateOf(group->second)) return estimate;
  }
  if (kind.declared > 0) return kind.declared;
  if (const auto alike = by_shape_.find({kind.queue, kind.shape}); alike != by_shape_.end()) {
    if (const auto median = MedianOf(alike->second, kFewestRuns)) return median;
  }
  const auto all = by_queue_.find(kind.queue);
  return all == by_queue_.end() ? std::nullopt : MedianOf(all->second, kFewestRuns);
}

void RunEstimates::Await(std::uint64_t group, queue::WorkloadId workload) {
  if (Group* found = GroupFor(group)) found->waiting.insert(workload);
}

void RunEstimates::Leave(std::uint64_t group, queue::WorkloadId workload) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return;
  found->second.waiting.erase(workload);
  if (found->second.waiting.empty() && found->second.runs.empty()) groups_.erase(found);
}

std::vector<queue::WorkloadId> RunEstimates::TakeChanged() {
  std::vector<queue::WorkloadId> workloads;
  for (const std::uint64_t number : changed_) {
    const auto found = groups_.find(number);
    if (found == groups_.end()) continue;
    Group& group = found->second;
    workloads.insert(workloads.end(), group.waiting.begin(), group.waiting.end());
    group.told = *EstimateOf(group);
    group.ends = 0;
  }
  changed_.clear();
  return workloads;
}

}  // namespace berth::admission
