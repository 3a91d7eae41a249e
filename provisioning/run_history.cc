#include "provisioning/run_history.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "api/condition.h"
#include "api/last_run.h"
#include "api/reasons.h"
#include "base/nearest_rank.h"

namespace berth::provisioning {
namespace {

// Kubernetes draws names from these letters: there are no vowels, so that few words are of them.
constexpr std::string_view kDrawnLetters = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kDrawn = 5;

bool IsCounter(const std::string& part) {
  const bool digits = !part.empty() && std::all_of(part.begin(), part.end(), [](char each) {
    return each >= '0' && each <= '9';
  });
  return digits ||
         (part.size() == kDrawn && part.find_first_not_of(kDrawnLetters) == std::string::npos);
}

}  // namespace

std::string RunStemOf(const std::string& name) {
  std::string stem = name;
  for (std::size_t dash = stem.rfind('-'); dash != std::string::npos && dash > 0;
       dash = stem.rfind('-')) {
    if (!IsCounter(stem.substr(dash + 1))) break;
    stem.resize(dash);
  }
  return stem;
}

std::string RunHistory::PlaceOf(const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  const std::string& name = owner == nullptr ? workload.meta.name : owner->name;
  return workload.meta.namespace_name + "/" + workload.spec.queue_name + "/" +
         (owner == nullptr ? "" : owner->kind) + "/" + RunStemOf(name);
}

void RunHistory::Add(const api::Workload& workload) {
  const std::optional<Duration> run = api::LastRunOf(workload);
  if (!run) return;
  const auto& conditions = workload.status.conditions;
  if (api::FindCondition(conditions, api::kFinished)->reason != api::kSucceeded) return;
  const std::string name = PlaceOf(workload);
  Place& place = places_[name];
  place.runs.push_back(std::chrono::floor<std::chrono::seconds>(*run).count());
  if (place.runs.size() > kMostRuns) place.runs.pop_front();
  by_turn_.erase(place.added);
  place.added = ++turn_;
  by_turn_[place.added] = name;
  if (places_.size() <= kMostPlaces) return;
  const auto oldest = by_turn_.begin();
  places_.erase(oldest->second);
  by_turn_.erase(oldest);
}

std::optional<std::int64_t> RunHistory::Expected(const api::Workload& workload) const {
  const auto found = places_.find(PlaceOf(workload));
  if (found == places_.end() || found->second.runs.size() < kLeastRuns) return std::nullopt;
  const std::vector<std::int64_t> runs(found->second.runs.begin(), found->second.runs.end());
  return std::max<std::int64_t>(*QuantileOf(runs, 0.99), 1);
}

}  // namespace berth::provisioning
