#include "provisioning/vetoes.h"

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "api/topology_annotations.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "provisioning/money.h"
#include "provisioning/policy_steps.h"
#include "provisioning/run_duration.h"
#include "provisioning/slow_steps.h"
#include "provisioning/zones.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningStep;

std::string CountOf(std::int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::optional<Veto> ShapeVeto(const ProvisioningStep& step, const Gang& gang) {
  if (!step.pool) return std::nullopt;
  const NodesNeeded needed = LeastNodes(gang, step.pool->node);
  if (!needed.short_of.empty()) {
    return Veto{.reason = kNeverFitsReason,
                .message = "one pod asks for more " + needed.short_of + " than a node of pool " +
                           step.pool->name + " has (" +
                           api::FormatAmount(needed.short_of, step.pool->node.at(needed.short_of)) +
                           ")"};
  }
  if (needed.nodes <= step.pool->max_nodes) return std::nullopt;
  return Veto{.reason = kNeverFitsReason,
              .message = "needs " + CountOf(needed.nodes, "node") + ", pool " + step.pool->name +
                         " has at most " + std::to_string(step.pool->max_nodes)};
}

std::optional<Veto> RunVeto(const ProvisioningStep& step, const VetoInput& input) {
  if (step.max_run_seconds == 0) return std::nullopt;
  auto run = ExpectedRun(input.workload, input.job_deadline);
  if (!run) run = RunParameter(input.workload, api::ProvisioningRequestConfig());
  if (!run || *run <= step.max_run_seconds) return std::nullopt;
  return Veto{.reason = kRunLimitReason,
              .message = "the job may run for " + std::to_string(*run) + " s, the limit is " +
                         std::to_string(step.max_run_seconds)};
}

std::optional<Veto> PriceVeto(const ProvisioningStep& step, const VetoInput& input) {
  const auto& limit =
      step.max_price_per_hour ? step.max_price_per_hour : input.policy.max_price_per_hour;
  if (!limit) return std::nullopt;
  const auto price = PriceOf(step, input.flavors);
  if (!price) {
    return Veto{.reason = kPriceLimitReason,
                .message = std::string("its price is unknown: set pricePerHour of the step, or "
                                       "the annotation ") +
                           api::kPricePerHourAnnotation + " of its flavor"};
  }
  if (*price <= *limit) return std::nullopt;
  return Veto{.reason = kPriceLimitReason,
              .message = "a node costs " + Dollars(price->NanoValue()) +
                         " USD an hour, the limit is " + Dollars(limit->NanoValue())};
}

std::string CostText(const Cost& cost) {
  return "would cost " + Dollars(cost.nano_dollars) + " USD (" + CountOf(cost.nodes, "node") +
         " at " + Dollars(cost.nano_dollars_per_hour) + " USD an hour for " +
         std::to_string(cost.seconds) + " s)";
}

std::optional<Veto> WorkloadBudgetVeto(const Cost& cost, const VetoInput& input) {
  const auto& budget = input.policy.max_cost;
  if (!budget || cost.nano_dollars <= budget->NanoValue()) return std::nullopt;
  return Veto{.reason = kBudgetReason,
              .message = CostText(cost) + ", the budget is " + Dollars(budget->NanoValue())};
}

std::optional<Veto> DayBudgetVeto(const Cost& cost, const VetoInput& input) {
  const auto& budget = input.policy.max_cost_per_day;
  if (!budget || input.spend == nullptr) return std::nullopt;
  const std::string queue = QueueOf(input.workload);
  const std::int64_t day = DayOf(input.now);
  const std::int64_t spent = input.spend->SpentBy(queue, day, input.own_charges);
  if (api::AddAmounts(spent, cost.nano_dollars) <= budget->NanoValue()) return std::nullopt;
  Veto veto{.reason = kBudgetReason,
            .message = CostText(cost) + ", queue " + queue + " has " + Dollars(spent) + " of " +
                       Dollars(budget->NanoValue()) + " USD of the day in use"};
  if (cost.nano_dollars > budget->NanoValue()) return veto;  // no day is long enough
  veto.until = BeginOf(day + 1);
  veto.message += ", the next day begins at " + FormatTime(*veto.until);
  return veto;
}

// The step asks in zones in which the pods cannot run.
std::optional<Veto> ZoneVeto(const ProvisioningStep& step, const VetoInput& input) {
  if (step.zones.empty() || !PossibleZones(step, input).empty()) return std::nullopt;
  return Veto{.reason = kZoneReason,
              .message = "asks in " + Join(step.zones, ", ") +
                         ", but the pods or their flavor are bound to zone " +
                         Join(BoundZones(step, input), ", ")};
}

// A step with zones rests while all its zones do.
std::optional<Veto> RestVeto(const ProvisioningStep& step, const VetoInput& input) {
  std::vector<std::string> zones = PossibleZones(step, input);
  if (zones.empty()) zones.emplace_back();
  const api::StockEntry* entry = nullptr;  // whose rest ends first
  for (const std::string& zone : zones) {
    const api::StockEntry* rest = RestIn(zone, step, input);
    if (rest == nullptr) return std::nullopt;
    if (entry == nullptr || rest->rest_until < entry->rest_until) entry = rest;
  }
  if (entry == nullptr) return std::nullopt;
  return Veto{.reason = kRestsReason,
              .message = (zones.size() > 1 ? "all zones rest, " + entry->key.zone + " until "
                                           : std::string("rests until ")) +
                         FormatTime(entry->rest_until) + " after " +
                         CountOf(entry->strikes, "failure") + ", the last " + entry->reason,
              .until = entry->rest_until};
}

}  // namespace

std::optional<api::Quantity> PriceOf(const ProvisioningStep& step, const FlavorsByName* flavors) {
  if (step.price_per_hour) return step.price_per_hour;
  const auto flavor =
      flavors == nullptr ? FlavorsByName::const_iterator() : flavors->find(step.flavor);
  if (flavors == nullptr || flavor == flavors->end()) return std::nullopt;
  const std::string* text =
      api::FindValue(flavor->second.meta.annotations, api::kPricePerHourAnnotation);
  const auto price = text == nullptr ? Result<api::Quantity>(Error{}) : api::Quantity::Parse(*text);
  if (!price || price->negative()) return std::nullopt;
  return *price;
}

std::int64_t NodesOf(const ProvisioningStep& step, const Gang& gang) {
  if (!step.pool) return gang.pods();
  const NodesNeeded needed = LeastNodes(gang, step.pool->node);
  return needed.short_of.empty() ? needed.nodes : gang.pods();
}

std::optional<Veto> OverBudget(const ProvisioningStep& step, const VetoInput& input) {
  if (!input.policy.max_cost && !input.policy.max_cost_per_day) return std::nullopt;
  const auto cost = CostOf(step, input);
  if (!cost) {
    return Veto{.reason = kBudgetReason,
                .message = std::string("its cost is unknown: set pricePerHour of the step, and the "
                                       "label ") +
                           api::kMaxExecTimeLabel + " or " + kMaxRunParameter + " of the job"};
  }
  auto veto = WorkloadBudgetVeto(*cost, input);
  return veto ? veto : DayBudgetVeto(*cost, input);
}

std::optional<Cost> CostOf(const ProvisioningStep& step, const VetoInput& input) {
  const auto price = PriceOf(step, input.flavors);
  const api::ProvisioningRequestConfig config = WithStep(input.config, step);
  auto run = ExpectedRun(input.workload, input.job_deadline);
  if (!run) run = RunParameter(input.workload, config);
  // Too few runs are known: the longest that would be asked for. Without a cost a budget would keep
  // the first runs from ever being made.
  using Source = api::ProvisioningRunDuration::Source;
  const auto& rule = input.policy.run_duration;
  if (!run && rule && rule->source == Source::kHistory) run = rule->max_seconds;
  if (!price || !run) return std::nullopt;
  const Gang gang = GangOf(input.workload, config);
  Cost cost{
      .nodes = NodesOf(step, gang), .nano_dollars_per_hour = price->NanoValue(), .seconds = *run};
  // Tenths of a micro-dollar, so that a year of a thousand dear nodes stays in range.
  constexpr std::int64_t kNanoPerPart = 100;
  constexpr std::int64_t kSecondsPerHour = 3600;
  const std::int64_t parts = api::MultiplyAmounts(
      api::MultiplyAmounts(cost.nano_dollars_per_hour / kNanoPerPart, cost.nodes), cost.seconds);
  cost.nano_dollars = api::MultiplyAmounts(parts / kSecondsPerHour, kNanoPerPart);
  return cost;
}

bool MayDivide(const api::ProvisioningPolicy& policy, const api::Workload& workload) {
  if (!policy.split || policy.split->mode != api::ProvisioningSplit::Mode::kDivide) return false;
  const std::string* divisible =
      api::FindValue(workload.meta.annotations, api::kDivisibleAnnotation);
  return divisible != nullptr && *divisible == "true" && workload.spec.pod_sets.size() == 1 &&
         !api::AsksForTopology(workload.spec.pod_sets.front());
}

Vetoes VetoesOf(const VetoInput& input) {
  Vetoes vetoes;
  Gang gang = GangOf(input.workload, input.config);  // a step manages the same resources
  // One pod after the other may start.
  if (MayDivide(input.policy, input.workload)) {
    for (GangPart& part : gang.parts) part.count = 1;
  }
  for (const ProvisioningStep& step : StepsOf(input.policy)) {
    auto veto = ShapeVeto(step, gang);
    if (!veto) veto = ZoneVeto(step, input);
    if (!veto) veto = RunVeto(step, input);
    if (!veto) veto = PriceVeto(step, input);
    if (!veto && input.policy.budget_action == api::ProvisioningPolicy::BudgetAction::kBlock) {
      veto = OverBudget(step, input);
    }
    if (!veto) veto = RestVeto(step, input);
    if (veto) vetoes.emplace(step.name, *std::move(veto));
  }
  PassOverSlowSteps(input, vetoes);
  return vetoes;
}

}  // namespace berth::provisioning
