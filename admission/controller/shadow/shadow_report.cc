#include "admission/controller/shadow/shadow_report.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

constexpr ShadowSubject kShadowSubjects[] = {ShadowSubject::kAdmission, ShadowSubject::kPreemption};
constexpr ShadowResult kShadowResults[] = {ShadowResult::kSame, ShadowResult::kDiffers,
                                           ShadowResult::kOnlyBerth, ShadowResult::kOnlyIncumbent};

constexpr char kShadowComparisons[] = "berth_shadow_comparisons_total";
constexpr char kShadowOvertaken[] = "berth_shadow_overtaken_total";
constexpr char kShadowUnjudged[] = "berth_shadow_unjudged_total";
constexpr char kShadowOpen[] = "berth_shadow_open_decisions";
constexpr char kShadowAgreement[] = "berth_shadow_agreement_ratio";
constexpr char kShadowDelay[] = "berth_shadow_incumbent_delay_seconds";

double ShadowSeconds(Duration span) { return std::chrono::duration<double>(span).count(); }

nlohmann::json ShownInShadow(const api::Admission& admission) {
  nlohmann::json sets = nlohmann::json::array();
  for (const api::PodSetAssignment& set : admission.pod_set_assignments) {
    sets.push_back({{"name", set.name}, {"count", set.count}, {"flavors", set.flavors}});
  }
  return {{"clusterQueue", admission.cluster_queue}, {"podSets", std::move(sets)}};
}

nlohmann::json ShownInShadow(const ShadowSide& side) {
  nlohmann::json out = {{"verdict", side.verdict}};
  if (side.at) out["at"] = FormatTime(*side.at);
  if (side.admission) out["admission"] = ShownInShadow(*side.admission);
  if (!side.preempted.empty()) out["preempted"] = side.preempted;
  if (!side.reason.empty()) out["reason"] = side.reason;
  if (!side.message.empty()) out["message"] = side.message;
  return out;
}

nlohmann::json ShownInShadow(const ShadowComparison& comparison) {
  nlohmann::json out = {{"subject", ToString(comparison.subject)},
                        {"result", ToString(comparison.result)},
                        {"workload", comparison.workload.ToString()},
                        {"uid", comparison.uid},
                        {"berth", ShownInShadow(comparison.berth)},
                        {"incumbent", ShownInShadow(comparison.incumbent)}};
  if (!comparison.rule.empty()) out["rule"] = comparison.rule;
  return out;
}

std::string ShadowLine(const ShadowSide& side) {
  std::string text = side.verdict;
  if (side.admission) {
    text += " in " + side.admission->cluster_queue;
    for (const api::PodSetAssignment& set : side.admission->pod_set_assignments) {
      text += " " + set.name + "x" + std::to_string(set.count);
      for (const auto& [resource, flavor] : set.flavors) text += " " + resource + "=" + flavor;
    }
  }
  if (!side.preempted.empty()) text += " preempting " + Join(side.preempted, ", ");
  if (!side.reason.empty()) text += " (" + side.reason + ")";
  return text;
}

}  // namespace

const char* ToString(ShadowSubject subject) {
  return subject == ShadowSubject::kAdmission ? "admission" : "preemption";
}

const char* ToString(ShadowResult result) {
  switch (result) {
    case ShadowResult::kSame: return "same";
    case ShadowResult::kDiffers: return "differs";
    case ShadowResult::kOnlyBerth: return "onlyBerth";
    case ShadowResult::kOnlyIncumbent: return "onlyIncumbent";
  }
  return "";
}

bool SameShares(const api::Admission& one, const api::Admission& other) {
  return one.cluster_queue == other.cluster_queue &&
         std::equal(one.pod_set_assignments.begin(), one.pod_set_assignments.end(),
                    other.pod_set_assignments.begin(), other.pod_set_assignments.end(),
                    [](const api::PodSetAssignment& a, const api::PodSetAssignment& b) {
                      return a.name == b.name && a.count == b.count && a.flavors == b.flavors;
                    });
}

ShadowReport::ShadowReport(kube::Metrics& metrics, Duration window)
    : metrics_(metrics), window_(window) {
  for (const ShadowSubject subject : kShadowSubjects) {
    for (const ShadowResult result : kShadowResults) {
      metrics_.Increment(kShadowComparisons,
                         {{"subject", ToString(subject)}, {"result", ToString(result)}}, 0);
    }
  }
  metrics_.Increment(kShadowOvertaken, {}, 0);
  metrics_.Increment(kShadowUnjudged, {}, 0);
  metrics_.SetGauge(kShadowOpen, {}, 0);
}

std::uint64_t ShadowReport::Add(ShadowComparison comparison) {
  const std::lock_guard lock(mutex_);
  ++counts_.by_kind[{comparison.subject, comparison.result}];
  metrics_.Increment(kShadowComparisons, {{"subject", ToString(comparison.subject)},
                                          {"result", ToString(comparison.result)}});
  metrics_.SetGauge(kShadowAgreement, {}, counts_.agreement().value_or(0));
  if (comparison.berth.at && comparison.incumbent.at) {
    const Duration delay = *comparison.incumbent.at - *comparison.berth.at;
    metrics_.Observe(kShadowDelay, {}, std::max(0.0, ShadowSeconds(delay)));
  }
  const std::uint64_t number = next_number_++;
  if (comparison.result == ShadowResult::kSame) {
    agreements_.push_back({number, std::move(comparison)});
    if (agreements_.size() > kMaxAgreements) agreements_.pop_front();
    return number;
  }
  differences_.push_back({number, std::move(comparison)});
  if (differences_.size() > kMaxDifferences) {
    differences_.pop_front();
    ++dropped_;
  }
  return number;
}

void ShadowReport::Follow(std::uint64_t number, ShadowSide incumbent) {
  const std::lock_guard lock(mutex_);
  const auto found = std::lower_bound(
      differences_.begin(), differences_.end(), number,
      [](const Numbered& each, std::uint64_t wanted) { return each.number < wanted; });
  if (found == differences_.end() || found->number != number) return;
  ShadowSide& known = found->comparison.incumbent;
  for (std::string& victim : incumbent.preempted) {
    if (std::find(known.preempted.begin(), known.preempted.end(), victim) == known.preempted.end())
      known.preempted.push_back(std::move(victim));
  }
  incumbent.preempted = std::move(known.preempted);
  known = std::move(incumbent);
}

void ShadowReport::AddOvertaken() {
  const std::lock_guard lock(mutex_);
  ++counts_.overtaken;
  metrics_.Increment(kShadowOvertaken, {});
}

void ShadowReport::AddUnjudged() {
  const std::lock_guard lock(mutex_);
  ++counts_.unjudged;
  metrics_.Increment(kShadowUnjudged, {});
}

void ShadowReport::SetOpen(std::size_t decisions) {
  const std::lock_guard lock(mutex_);
  counts_.open = decisions;
  metrics_.SetGauge(kShadowOpen, {}, static_cast<double>(decisions));
}

std::int64_t ShadowReport::Counts::Of(ShadowResult result) const {
  std::int64_t sum = 0;
  for (const auto& [kind, count] : by_kind) sum += kind.second == result ? count : 0;
  return sum;
}

std::optional<double> ShadowReport::Counts::agreement() const {
  std::int64_t all = 0;
  for (const auto& [kind, count] : by_kind) all += count;
  if (all == 0) return std::nullopt;
  return static_cast<double>(Of(ShadowResult::kSame)) / static_cast<double>(all);
}

ShadowReport::Counts ShadowReport::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::string ShadowReport::JsonText(WallTime now) const {
  const std::lock_guard lock(mutex_);
  nlohmann::json counts = nlohmann::json::object();
  for (const ShadowSubject subject : kShadowSubjects) {
    for (const ShadowResult result : kShadowResults) {
      const auto found = counts_.by_kind.find({subject, result});
      counts[ToString(subject)][ToString(result)] =
          found == counts_.by_kind.end() ? 0 : found->second;
    }
  }
  const auto newest_first = [](const std::deque<Numbered>& kept) {
    nlohmann::json out = nlohmann::json::array();
    for (auto each = kept.rbegin(); each != kept.rend(); ++each) {
      out.push_back(ShownInShadow(each->comparison));
    }
    return out;
  };
  const std::optional<double> agreement = counts_.agreement();
  const nlohmann::json report = {
      {"at", FormatTime(now)},
      {"windowSeconds", ShadowSeconds(window_)},
      {"agreement", agreement ? nlohmann::json(*agreement) : nlohmann::json()},
      {"counts", std::move(counts)},
      {"overtaken", counts_.overtaken},
      {"unjudged", counts_.unjudged},
      {"open", counts_.open},
      {"olderDifferences", dropped_},
      {"differences", newest_first(differences_)},
      {"agreements", newest_first(agreements_)}};
  return api::FormatIndentedJson(report, 1) + "\n";
}

std::vector<std::string> ShadowReport::Lines(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (auto each = differences_.rbegin(); each != differences_.rend() && lines.size() < most;
       ++each) {
    const ShadowComparison& comparison = each->comparison;
    lines.push_back(comparison.workload.ToString() + ": Berth: " + ShadowLine(comparison.berth) +
                    "; the incumbent: " + ShadowLine(comparison.incumbent));
  }
  return lines;
}

}  // namespace berth::admission
