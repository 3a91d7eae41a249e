#include "provisioning/slow_steps.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "provisioning/expected_wait.h"
#include "provisioning/policy_steps.h"
#include "provisioning/zones.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningStep;
using std::chrono::seconds;

// What is expected of one request of a step.
struct Expected {
  Eta eta;
  WallTime last{};  // the end of the last outcome for these machines; 0: none is known
};

WallTime LastOutcome(const api::ClassStock& stock, const api::StockKey& key) {
  WallTime last{};
  for (const api::StockEntry& entry : stock) {
    const bool same = entry.key.flavor == key.flavor && entry.key.zone == key.zone &&
                      entry.key.shape == key.shape;
    if (!same) continue;
    for (const api::StockOutcome& outcome : entry.outcomes) {
      last = std::max(last, outcome.asked_at + seconds(outcome.wait_seconds));
    }
  }
  return last;
}

// nullopt: the step's machines are not known.
std::optional<Expected> ExpectedOf(const ProvisioningStep& step, const VetoInput& input) {
  const api::ProvisioningRequestConfig config = WithStep(input.config, step);
  std::vector<std::string> zones = PossibleZones(step, input);
  if (zones.empty()) zones.emplace_back();
  std::optional<Expected> best;
  for (const std::string& zone : zones) {
    const auto key =
        StockKeyOf(input.workload, config, step.flavor, FlavorsOf(input.workload), zone);
    if (!key) return std::nullopt;
    Expected expected{.eta = EtaOf({.stock = *input.stock,
                                    .provisioning_class = config.provisioning_class_name,
                                    .key = *key,
                                    .now = input.now,
                                    .waiting = {}}),
                      .last = LastOutcome(input.stock->Of(config.provisioning_class_name), *key)};
    if (!best || expected.eta.p50_seconds < best->eta.p50_seconds) best = expected;
  }
  return best;
}

std::optional<Veto> SlowVeto(const ProvisioningStep& step, const ProvisioningStep& following,
                             const VetoInput& input) {
  const auto expected = ExpectedOf(step, input);
  if (!expected || expected->eta.basis != Eta::Basis::kObserved) return std::nullopt;
  if (input.now >= expected->last + kOutlookLife) return std::nullopt;
  const auto other = ExpectedOf(following, input);
  if (!other) return std::nullopt;
  const std::int64_t gain = expected->eta.p50_seconds - other->eta.p50_seconds;
  if (gain <= step.min_eta_gain_seconds) return std::nullopt;
  const bool is_known = input.memory != nullptr && input.memory->passed_over != WallTime{};
  const WallTime since = is_known ? input.memory->passed_over : CutToSeconds(input.now);
  const WallTime until = std::min(expected->last + kOutlookLife, since + seconds(gain));
  if (input.now >= until) return std::nullopt;
  return Veto{.reason = kSlowerReason,
              .message = "is expected to wait " + std::to_string(expected->eta.p50_seconds) +
                         " s for nodes (n=" + std::to_string(expected->eta.outcomes) + "), step " +
                         following.name + " " + std::to_string(other->eta.p50_seconds) +
                         " s: more than minEtaGainSeconds (" +
                         std::to_string(step.min_eta_gain_seconds) + ") sooner",
              .until = until,
              .in_favor_of = following.name};
}

}  // namespace

void PassOverSlowSteps(const VetoInput& input, Vetoes& vetoes) {
  const std::vector<ProvisioningStep>& steps = StepsOf(input.policy);
  const bool any = std::any_of(steps.begin(), steps.end(),
                               [](const auto& step) { return step.min_eta_gain_seconds > 0; });
  if (!any || input.asked || input.stock == nullptr) return;
  const api::ProvisioningMemory nothing;
  const std::vector<std::string> no_flavors;
  const Vetoes others = vetoes;
  const StepPlan plan(input.policy, input.config, input.memory == nullptr ? nothing : *input.memory,
                      no_flavors, others);
  const ProvisioningStep* following = nullptr;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (!plan.IsLeft(*step)) continue;
    const auto veto = following == nullptr || step->min_eta_gain_seconds == 0
                          ? std::nullopt
                          : SlowVeto(*step, *following, input);
    if (veto) {
      vetoes.emplace(step->name, *veto);
    } else {
      following = &*step;
    }
  }
}

}  // namespace berth::provisioning
