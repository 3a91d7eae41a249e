#include "provisioning/outlook.h"

#include <algorithm>

#include "provisioning/gang.h"
#include "provisioning/policy_steps.h"

namespace berth::provisioning {
namespace {

using api::FlavorQuotas;
using api::ProvisioningStep;

// The flavors of the resource groups that the pods need, in order.
std::vector<std::string> FlavorsFor(const OutlookInput& input, const Gang& gang) {
  std::vector<std::string> flavors;
  for (const api::ResourceGroup& group : input.cluster_queue.spec.resource_groups) {
    const auto needs = [&](const api::ResourceName& resource) {
      const auto& managed = input.config.managed_resources;
      return managed.empty() ||
             std::find(managed.begin(), managed.end(), resource) != managed.end();
    };
    const bool concerned = std::any_of(gang.parts.begin(), gang.parts.end(), [&](const auto& part) {
      return std::any_of(
          group.covered_resources.begin(), group.covered_resources.end(),
          [&](const auto& resource) { return needs(resource) && part.pod.contains(resource); });
    });
    if (!concerned) continue;
    for (const FlavorQuotas& flavor : group.flavors) flavors.push_back(flavor.flavor);
  }
  return flavors;
}

api::ResourceAmounts RequestsOf(const api::Workload& workload) {
  api::ResourceAmounts total;
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    const std::int32_t least = pods.min_count.value_or(pods.count);
    for (const auto& [resource, amount] : api::PodRequests(pods.pod_template.spec)) {
      total[resource] = api::AddAmounts(total[resource], api::MultiplyAmounts(amount, least));
    }
  }
  return total;
}

// The most of the resource that the queue can ever give in the flavor; nullopt: a cohort may lend
// any amount.
std::optional<api::Amount> MostOf(const api::ClusterQueue& queue, const api::ResourceQuota& quota) {
  if (queue.spec.cohort_name.empty()) return quota.nominal_quota;
  if (!quota.borrowing_limit) return std::nullopt;
  return api::AddAmounts(quota.nominal_quota, *quota.borrowing_limit);
}

std::optional<Veto> ShortOf(const OutlookInput& input, const FlavorQuotas& flavor) {
  const api::ResourceAmounts total = RequestsOf(input.workload);
  for (const api::ResourceQuota& quota : flavor.resources) {
    const auto asked = total.find(quota.resource);
    const auto most = MostOf(input.cluster_queue, quota);
    if (asked == total.end() || !most || asked->second <= *most) continue;
    return Veto{.reason = kNoQuotaReason,
                .message = "asks for " + api::FormatAmount(quota.resource, asked->second) + " " +
                           std::string(quota.resource) + ", ClusterQueue " +
                           input.cluster_queue.meta.name + " can give at most " +
                           api::FormatAmount(quota.resource, *most) + " in flavor " +
                           flavor.flavor};
  }
  return std::nullopt;
}

std::optional<Veto> QuotaVeto(const OutlookInput& input, const std::string& flavor) {
  const api::ClusterQueue& queue = input.cluster_queue;
  const auto& concerned = input.rule.on_flavors;
  if (!concerned.empty() &&
      std::find(concerned.begin(), concerned.end(), flavor) == concerned.end()) {
    return Veto{.reason = kNoQuotaReason,
                .message = "check " + input.rule.check + " is not for flavor " + flavor +
                           " of ClusterQueue " + queue.meta.name};
  }
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const FlavorQuotas& each : group.flavors) {
      if (each.flavor == flavor) return ShortOf(input, each);
    }
  }
  return Veto{.reason = kNoQuotaReason,
              .message = "ClusterQueue " + queue.meta.name + " has no quota in flavor " + flavor};
}

Vetoes VetoesWithQuota(const OutlookInput& input, const VetoInput& of_policy) {
  Vetoes vetoes = VetoesOf(of_policy);
  for (const ProvisioningStep& step : StepsOf(input.policy)) {
    if (step.flavor.empty() || vetoes.contains(step.name)) continue;
    if (auto veto = QuotaVeto(input, step.flavor)) vetoes.emplace(step.name, *std::move(veto));
  }
  return vetoes;
}

Eta EtaOfStep(const OutlookInput& input, const ProvisioningStep& step,
              const std::vector<std::string>& flavors) {
  const api::ProvisioningRequestConfig config = WithStep(input.config, step);
  const std::string& flavor =
      step.flavor.empty() && !flavors.empty() ? flavors.front() : step.flavor;
  const auto key = StockKeyOf(input.workload, config, flavor, {flavor});
  const auto waiting = input.waiting.find(config.provisioning_class_name);
  return EtaOf(
      {.stock = input.stock,
       .provisioning_class = config.provisioning_class_name,
       .key = key.value_or(api::StockKey{}),
       .now = input.now,
       .waited_seconds = input.waited_seconds,
       .waiting = waiting == input.waiting.end() ? std::vector<StillWaiting>{} : waiting->second});
}

}  // namespace

std::vector<StepOutlook> OutlookOf(const OutlookInput& input) {
  const Gang gang = GangOf(input.workload, input.config);
  if (gang.parts.empty()) return {};
  const VetoInput of_policy{input.policy, input.config, input.workload,     &input.flavors,
                            &input.stock, input.now,    input.job_deadline, input.spend};
  const Vetoes vetoes = VetoesWithQuota(input, of_policy);
  const api::ProvisioningMemory nothing;
  const std::vector<std::string> none;
  const StepPlan plan(input.policy, input.config, nothing, none, vetoes);
  const std::vector<std::string> flavors = FlavorsFor(input, gang);
  std::vector<StepOutlook> steps;
  for (const ProvisioningStep& step : StepsOf(input.policy)) {
    StepOutlook& out = steps.emplace_back();
    out.step = step.name;
    out.flavor = step.flavor;
    out.provisioning_class = WithStep(input.config, step).provisioning_class_name;
    out.max_wait_seconds = plan.MaxWait(step);
    out.max_attempts = plan.MaxAttempts(step);
    out.nodes = NodesOf(step, gang);
    out.cost = CostOf(step, of_policy);
    std::optional<std::int64_t> node_price;
    if (const auto price = PriceOf(step, &input.flavors)) {
      node_price = price->NanoValue();
      out.nano_dollars_rate = api::MultiplyAmounts(*node_price, out.nodes);
    }
    if (MayRace(input.policy, step, out.provisioning_class)) {
      out.race_waste = WasteBound(*input.policy.race, out.nodes, node_price);
    }
    out.eta = EtaOfStep(input, step, flavors);
    if (const Veto* veto = plan.VetoOf(step)) out.veto = *veto;
    out.asks_first = plan.first_left() != nullptr && plan.first_left()->name == step.name;
  }
  return steps;
}

}  // namespace berth::provisioning
