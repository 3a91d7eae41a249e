#include "simulation/run_forecast.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "api/object_meta.h"
#include "api/pod.h"
#include "base/strings.h"
#include "provisioning/run_duration.h"
#include "provisioning/survival.h"

namespace berth::simulation {
namespace {

using Sample = provisioning::Survival::Sample;

constexpr double kEnough = 10;  // weight of runs that need no others beside them
constexpr double kPriorWeight = 1;
constexpr std::int64_t kLongest = 365LL * 24 * 3600;
constexpr std::size_t kLevels = static_cast<std::size_t>(RunLevel::kPrior);
constexpr std::array<double, kLevels> kWeights{1, 1, 0.5, 0.25, 0.25, 0.1};

// Run times that 10, 30, 50, 70 and 90 of 100 jobs do not exceed where nothing is known, and the
// shares of the declared maximum.
constexpr std::array<std::int64_t, 5> kPrior{60, 600, 1800, 7200, 43200};
constexpr std::array<double, 5> kPriorShares{0.02, 0.1, 0.3, 0.7, 1};

bool HasDigit(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string RequestsText(const api::ResourceAmounts& requests) {
  std::string text;
  for (const auto& [resource, amount] : requests) {
    text += resource + "=" + std::to_string(amount) + ",";
  }
  return text;
}

// The group of the level in which the key is; empty: the key lacks what makes runs alike there.
std::string GroupOf(const RunKey& key, RunLevel level) {
  std::string start = ToString(level) + ("\n" + key.queue + "\n");
  switch (level) {
    case RunLevel::kName: return start + key.kind + "\n" + key.name;
    case RunLevel::kStem: return start + key.kind + "\n" + StemOf(key.name);
    case RunLevel::kImage:
      return key.image.empty() ? "" : start + key.image + "\n" + RequestsText(key.requests);
    case RunLevel::kRequests: return start + RequestsText(key.requests);
    case RunLevel::kDeclared: return key.declared ? start : "";
    case RunLevel::kQueue: return start;
    case RunLevel::kPrior: return "";
  }
  return "";
}

std::int64_t Bounded(double seconds, const RunKey& key) {
  const double most = static_cast<double>(std::min(key.declared.value_or(kLongest), kLongest));
  return std::llround(std::clamp(seconds, 0.0, most));
}

void AddPrior(const RunKey& key, std::vector<Sample>& samples) {
  for (std::size_t i = 0; i < kPrior.size(); ++i) {
    const double seconds = key.declared ? kPriorShares.at(i) * static_cast<double>(*key.declared)
                                        : static_cast<double>(kPrior.at(i));
    samples.push_back({Bounded(seconds, key), kPriorWeight / kPrior.size(), true});
  }
}

}  // namespace

const char* ToString(RunLevel level) {
  switch (level) {
    case RunLevel::kName: return "name";
    case RunLevel::kStem: return "stem";
    case RunLevel::kImage: return "image";
    case RunLevel::kRequests: return "requests";
    case RunLevel::kDeclared: return "declared";
    case RunLevel::kQueue: return "queue";
    case RunLevel::kPrior: return "prior";
  }
  return "";
}

std::string StemOf(const std::string& name) {
  std::string stem = name;
  for (std::size_t dash = stem.rfind('-'); dash != std::string::npos && dash > 0;
       dash = stem.rfind('-')) {
    if (!HasDigit(stem.substr(dash + 1))) break;
    stem.resize(dash);
  }
  return stem;
}

RunKey RunKeyOf(const api::Workload& workload, std::optional<std::int64_t> job_deadline) {
  RunKey key{.queue = workload.meta.namespace_name + "/" + workload.spec.queue_name,
             .name = workload.meta.name};
  if (const api::OwnerReference* owner = api::ControllerOf(workload.meta)) {
    key.kind = owner->kind;
    key.name = owner->name;
  }
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    for (const auto& [resource, amount] : api::PodRequests(pods.pod_template.spec)) {
      key.requests[resource] =
          api::AddAmounts(key.requests[resource], api::MultiplyAmounts(amount, pods.count));
    }
  }
  key.image = provisioning::ImagesOf(workload);
  key.declared = provisioning::ExpectedRun(workload, job_deadline);
  if (!key.declared) key.declared = provisioning::RunParameter(workload, {});
  return key;
}

double RunForecast::At(double share) const {
  const double place = std::clamp(share, 0.0, 1.0) * (kPoints - 1);
  const auto below = std::min(static_cast<std::size_t>(place), kPoints - 2);
  const double part = place - static_cast<double>(below);
  return seconds.at(below) + part * (seconds.at(below + 1) - seconds.at(below));
}

void RunHistory::Add(const PastRun& run) {
  const std::size_t number = runs_.size();
  runs_.push_back({std::clamp<std::int64_t>(run.seconds, 0, kLongest), run.key.declared.value_or(0),
                   run.ended});
  for (std::size_t i = 0; i < kLevels; ++i) {
    const std::string group = GroupOf(run.key, static_cast<RunLevel>(i));
    if (group.empty()) continue;
    Runs& runs = groups_[group];
    if (runs.size() == kMostRuns) runs.erase(runs.begin());
    runs.push_back(number);
  }
  made_.clear();
}

RunForecast RunHistory::Make(const RunKey& key, std::int64_t elapsed) const {
  RunForecast forecast;
  forecast.declared = key.declared;
  std::vector<Sample> samples;
  double known = 0;
  std::set<std::size_t> counted;
  for (std::size_t i = 0; i < kLevels && known < kEnough; ++i) {
    const auto level = static_cast<RunLevel>(i);
    const auto group = groups_.find(GroupOf(key, level));
    if (group == groups_.end()) continue;
    for (const std::size_t number : group->second) {
      if (!counted.insert(number).second) continue;  // an earlier level has the run, too
      const Known& run = runs_[number];
      double seconds = static_cast<double>(run.seconds);
      if (level == RunLevel::kDeclared) {
        seconds *= static_cast<double>(*key.declared) /
                   static_cast<double>(std::max<std::int64_t>(run.declared, 1));
      }
      samples.push_back({Bounded(seconds, key), kWeights.at(i), run.ended});
      if (!run.ended) continue;
      known += kWeights.at(i);
      ++forecast.runs;
      forecast.level = std::min(forecast.level, level);
    }
  }
  AddPrior(key, samples);
  const provisioning::Survival survival(std::move(samples));
  const std::int64_t most =
      std::max<std::int64_t>(std::min(key.declared.value_or(kLongest), kLongest) - elapsed, 0);
  constexpr double kLastShare = 0.995;
  for (std::size_t i = 0; i < RunForecast::kPoints; ++i) {
    const double share = std::min(static_cast<double>(i) / (RunForecast::kPoints - 1), kLastShare);
    forecast.seconds.at(i) =
        static_cast<double>(survival.Quantile(elapsed, std::max(share, 1 - kLastShare), most));
  }
  return forecast;
}

std::shared_ptr<const RunForecast> RunHistory::Of(const RunKey& key) const {
  // Most names are new: what tells forecasts apart is the groups that have runs.
  std::string text = std::to_string(key.declared.value_or(-1));
  for (std::size_t i = 0; i < kLevels; ++i) {
    const std::string group = GroupOf(key, static_cast<RunLevel>(i));
    if (groups_.find(group) != groups_.end()) text += "\n" + group;
  }
  std::shared_ptr<const RunForecast>& made = made_[text];
  if (made == nullptr) made = std::make_shared<RunForecast>(Make(key, 0));
  return made;
}

std::shared_ptr<const RunForecast> RunHistory::Left(const RunKey& key, std::int64_t elapsed) const {
  return std::make_shared<RunForecast>(Make(key, std::max<std::int64_t>(elapsed, 0)));
}

}  // namespace berth::simulation
