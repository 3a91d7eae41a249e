#include "view/screens/plan_screen.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/owner_key.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "checks/check_kinds.h"
#include "provisioning/check_settings.h"
#include "provisioning/money.h"
#include "provisioning/reactive.h"
#include "provisioning/request_state.h"
#include "view/screens/eta_screen.h"
#include "view/screens/find_named.h"

namespace berth::view {
namespace {

using provisioning::StepOutlook;
using Json = nlohmann::json;

std::string QueuesIn(const ClusterView& view, const std::string& namespace_name) {
  std::vector<std::string> names;
  for (const api::LocalQueue& queue : view.local_queues) {
    if (queue.meta.namespace_name == namespace_name) names.push_back(queue.meta.name);
  }
  return names.empty() ? "there are none" : "there are " + Join(names, ", ");
}

api::Amount ReservedOf(const api::ClusterQueue& queue, const std::string& flavor,
                       const std::string& resource) {
  for (const api::FlavorUsage& each : queue.status.flavors_reservation) {
    if (each.flavor != flavor) continue;
    for (const api::FlavorUsage::Resource& usage : each.resources) {
      if (usage.resource == resource) return usage.total;
    }
  }
  return 0;
}

// `copies` is that of the Workload.
std::vector<QuotaPlan> QuotaOf(const api::ClusterQueue& queue, const api::Workload& workload,
                               std::int64_t copies) {
  api::ResourceAmounts needed;
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    for (const auto& [resource, amount] : api::PodRequests(pods.pod_template.spec)) {
      needed[resource] =
          api::AddAmounts(needed[resource], api::MultiplyAmounts(amount, pods.count * copies));
    }
  }
  std::vector<QuotaPlan> plans;
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        const auto amount = needed.find(quota.resource);
        if (amount == needed.end()) continue;
        const api::Amount reserved = ReservedOf(queue, flavor.flavor, quota.resource);
        plans.push_back(
            {.flavor = flavor.flavor,
             .resource = quota.resource,
             .needed = amount->second,
             .free = std::max<api::Amount>(api::SubtractAmounts(quota.nominal_quota, reserved), 0),
             .nominal = quota.nominal_quota});
      }
    }
  }
  return plans;
}

// The requests that wait for capacity now, by class, but for those of one Workload.
std::map<std::string, std::vector<provisioning::StillWaiting>> WaitingOf(
    const ClusterView& view, const api::ProvisioningRequestConfig& config,
    const api::ProvisioningPolicy& policy, const api::Workload& but_for) {
  using provisioning::RequestState;
  std::map<std::string, std::vector<provisioning::StillWaiting>> waiting;
  for (const api::ProvisioningRequest& request : view.provisioning_requests) {
    const RequestState state = provisioning::StateOf(request);
    const bool waits = state == RequestState::kUnanswered || state == RequestState::kPending ||
                       state == RequestState::kAccepted;
    const auto owner = std::find_if(
        view.workloads.begin(), view.workloads.end(),
        [&request](const api::Workload& each) { return api::IsOwnedBy(request.meta, each.meta); });
    if (!waits || owner == view.workloads.end()) continue;
    if (!but_for.meta.uid.empty() && owner->meta.uid == but_for.meta.uid) continue;
    const std::string* name =
        api::FindValue(request.meta.annotations, api::kProvisioningStepAnnotation);
    std::string flavor;
    for (const api::ProvisioningStep& step : policy.steps) {
      if (name != nullptr && step.name == *name) flavor = step.flavor;
    }
    const auto key =
        provisioning::StockKeyOf(*owner, config, flavor, provisioning::FlavorsOf(*owner));
    if (!key) continue;
    waiting[request.provisioning_class_name].push_back(
        {*key, std::chrono::floor<std::chrono::seconds>(view.now - request.meta.creation_timestamp)
                   .count()});
  }
  return waiting;
}

provisioning::SpendMemory SpendOf(const ClusterView& view) {
  provisioning::SpendMemory spend;
  for (const SpendView& each : view.spend) spend.Merge(each.queue, each.spend);
  for (const MetersView& each : view.meters) spend.meters().Merge(each.queue, each.meters);
  return spend;
}

CheckPlan PlanCheck(const ClusterView& view, const api::ClusterQueue& queue,
                    const api::AdmissionCheckRule& rule, const PlannedJob& job) {
  CheckPlan plan{.check = rule.check};
  const api::AdmissionCheck* check = FindNamed(view.admission_checks, rule.check);
  if (check == nullptr) {
    plan.problem = "AdmissionCheck " + rule.check + " does not exist: its queue is inactive";
    return plan;
  }
  const checks::Capacity capacity = checks::CapacityOf(check->controller_name);
  plan.is_reactive = capacity == checks::Capacity::kPendingPods;
  if (capacity == checks::Capacity::kNone) {
    plan.problem = "answered by " + check->controller_name + ", nothing is known in advance";
    return plan;
  }
  const api::ProvisioningRequestConfig* config = &provisioning::ReactiveConfig();
  if (!plan.is_reactive) {
    const Result<std::string> name = provisioning::ConfigNameOf(*check);
    config = name ? FindNamed(view.provisioning_configs, *name) : nullptr;
    if (config == nullptr) {
      plan.problem =
          "the check is inactive: " +
          (name ? "ProvisioningRequestConfig " + *name + " does not exist" : name.error().message);
      return plan;
    }
  }
  plan.policy = provisioning::PolicyNameOf(*check, plan.is_reactive ? nullptr : config);
  const api::ProvisioningPolicy kueues_rules;
  const api::ProvisioningPolicy* policy =
      plan.policy.empty() ? &kueues_rules : FindNamed(view.provisioning_policies, plan.policy);
  if (policy == nullptr) {
    plan.problem = "the check is inactive: ProvisioningPolicy " + plan.policy + " does not exist";
    return plan;
  }
  const api::ProvisioningPolicy limited = provisioning::WithReactiveLimit(policy);
  if (plan.is_reactive) policy = &limited;
  provisioning::FlavorsByName flavors;
  for (const api::ResourceFlavor& flavor : view.flavors) flavors[flavor.meta.name] = flavor;
  provisioning::StockMemory stock;
  for (const StockView& each : view.stock) stock.Merge(each.provisioning_class, each.stock);
  const provisioning::SpendMemory spend = SpendOf(view);
  plan.steps = provisioning::OutlookOf({.workload = job.workload,
                                        .cluster_queue = queue,
                                        .rule = rule,
                                        .config = *config,
                                        .policy = *policy,
                                        .flavors = flavors,
                                        .stock = stock,
                                        .waiting = WaitingOf(view, *config, *policy, job.workload),
                                        .job_deadline = job.deadline,
                                        .waited_seconds = job.waited_seconds,
                                        .now = view.now,
                                        .spend = job.workload.meta.uid.empty() ? &spend : nullptr});
  if (plan.steps.empty()) plan.problem = "not needed: no pod asks for a managed resource";
  return plan;
}

std::string SpanCell(std::int64_t seconds) {
  if (seconds >= provisioning::kMostEtaSeconds) return "over 30d";
  return HumanDuration(std::chrono::seconds(seconds));
}

std::string WaitCell(const provisioning::Eta& eta) {
  return SpanCell(eta.p50_seconds) + " (" + SpanCell(eta.p10_seconds) + " to " +
         SpanCell(eta.p90_seconds) + ")";
}

std::string BasisCell(const provisioning::Eta& eta) {
  if (eta.basis == provisioning::Eta::Basis::kPrior) return "prior";
  return std::to_string(eta.outcomes) + (eta.outcomes == 1 ? " request" : " requests");
}

// "after spot has failed 3 times or waited 10m"
std::string AfterCell(const StepOutlook& before) {
  std::string text = "after " + before.step + " has failed " + std::to_string(before.max_attempts) +
                     (before.max_attempts == 1 ? " time" : " times");
  if (before.max_wait_seconds > 0) {
    text += " or waited " + HumanDuration(std::chrono::seconds(before.max_wait_seconds));
  }
  return text;
}

std::string RenderSteps(const std::vector<StepOutlook>& steps, const TextStyle& style) {
  TextTable table({{"STEP"},
                   {"FLAVOR"},
                   {"CLASS"},
                   {"NODES", Align::kRight},
                   {"USD/HOUR", Align::kRight},
                   {"USD", Align::kRight},
                   {"NODES COME IN"},
                   {"KNOWN FROM"},
                   {"ASKED FOR"}});
  const StepOutlook* before = nullptr;
  for (const StepOutlook& step : steps) {
    std::string asked = before == nullptr ? "" : AfterCell(*before);
    if (step.asks_first) asked = "first";
    if (step.veto) asked = "passed over: " + step.veto->message;
    table.AddRow({step.step, step.flavor.empty() ? "any" : step.flavor, step.provisioning_class,
                  std::to_string(step.nodes),
                  step.nano_dollars_rate ? provisioning::Dollars(*step.nano_dollars_rate) : "-",
                  step.cost ? provisioning::Dollars(step.cost->nano_dollars) : "-",
                  WaitCell(step.eta), BasisCell(step.eta), asked});
    if (!step.veto) before = &step;
  }
  return table.Render(style);
}

// What requests of a race cost at most whose nodes come in vain; empty: no race.
std::string RaceLine(const StepOutlook& step) {
  if (!step.race_waste || step.veto) return "";
  std::string line = "a race of step " + step.step + " wastes at most " +
                     HumanDuration(std::chrono::seconds(step.race_waste->node_seconds)) +
                     " of a node";
  if (step.nano_dollars_rate) {
    line += ", " + provisioning::Dollars(step.race_waste->nano_dollars) + " USD";
  }
  return line + "\n";
}

std::string InWorkloads(std::int64_t count) {
  return " in " + std::to_string(count) + " Workloads, each admitted by itself";
}

std::string StartLines(const PlannedStart& start) {
  std::string text = "\nstart by forecast: ";
  if (!start.p50) return text + "never: " + start.why + "\n";
  text += SpanText(start.p50) + "; in 8 of 10 cases from " + SpanText(start.p10) + " to " +
          SpanText(start.p90) + "\n";
  if (!start.deadline) return text;
  return text + "deadline " + FormatTime(*start.deadline) + ": kept in " +
         std::to_string(std::lround(100 * start.in_time)) + " of 100 cases\n";
}

Json StartJson(const PlannedStart& start) {
  const auto seconds = [](const std::optional<Duration>& span) {
    return span ? Json(WholeSeconds(*span)) : Json();
  };
  return {{"p10Seconds", seconds(start.p10)},
          {"p50Seconds", seconds(start.p50)},
          {"p90Seconds", seconds(start.p90)},
          {"reason", start.why.empty() ? Json() : Json(start.why)},
          {"deadline", start.deadline ? Json(FormatTime(*start.deadline)) : Json()},
          {"inTime", start.deadline ? Json(start.in_time) : Json()}};
}

std::string RenderPlan(const JobPlan& plan, const TextStyle& style) {
  std::string text = plan.kind + " " + plan.key.ToString() + ", " + std::to_string(plan.pods) +
                     (plan.pods == 1 ? " pod" : " pods") +
                     (plan.workloads == 1 ? "" : InWorkloads(plan.workloads)) + ": LocalQueue " +
                     plan.local_queue + ", ClusterQueue " + plan.cluster_queue + "\n";
  if (!plan.problem.empty()) text += plan.problem + "\n";
  TextTable table({{"FLAVOR"},
                   {"RESOURCE"},
                   {"NEEDS", Align::kRight},
                   {"FREE", Align::kRight},
                   {"QUOTA", Align::kRight}});
  for (const QuotaPlan& each : plan.quota) {
    table.AddRow({each.flavor, each.resource, ShowFinite(each.resource, each.needed),
                  ShowAmount(each.resource, each.free, style),
                  ShowAmount(each.resource, each.nominal, style)});
  }
  if (!table.empty()) text += "\n" + table.Render(style);
  for (const CheckPlan& check : plan.checks) {
    text += "\ncheck " + check.check;
    if (!check.policy.empty()) text += ", policy " + check.policy;
    text += check.problem.empty() ? ":\n" : ": " + check.problem + "\n";
    if (!check.steps.empty()) text += RenderSteps(check.steps, style);
    for (const StepOutlook& step : check.steps) text += RaceLine(step);
  }
  if (plan.start) text += StartLines(*plan.start);
  return text;
}

Json MoneyJson(const std::optional<std::int64_t>& nano_dollars) {
  return nano_dollars ? Json(provisioning::Dollars(*nano_dollars)) : Json();
}

Json StepOutlookJson(const StepOutlook& step) {
  const bool observed = step.eta.basis == provisioning::Eta::Basis::kObserved;
  Json out = {{"step", step.step},
              {"flavor", step.flavor},
              {"class", step.provisioning_class},
              {"nodes", step.nodes},
              {"usdPerHour", MoneyJson(step.nano_dollars_rate)},
              {"usd", step.cost ? MoneyJson(step.cost->nano_dollars) : Json()},
              {"runSeconds", step.cost ? Json(step.cost->seconds) : Json()},
              {"maxWaitSeconds", step.max_wait_seconds},
              {"maxAttempts", step.max_attempts},
              {"waitSeconds",
               {{"p10", step.eta.p10_seconds},
                {"p50", step.eta.p50_seconds},
                {"p90", step.eta.p90_seconds}}},
              {"basis", observed ? "observed" : "prior"},
              {"outcomes", step.eta.outcomes},
              {"asksFirst", step.asks_first},
              {"passedOver", Json()}};
  if (step.race_waste) {
    out["raceWaste"] = {
        {"nodeSeconds", step.race_waste->node_seconds},
        {"usd", step.nano_dollars_rate ? MoneyJson(step.race_waste->nano_dollars) : Json()}};
  }
  if (step.veto) {
    out["passedOver"] = {
        {"reason", step.veto->reason},
        {"message", step.veto->message},
        {"until", step.veto->until ? Json(FormatTime(*step.veto->until)) : Json()}};
  }
  return out;
}

Json PlanJson(const JobPlan& plan) {
  Json out = {{"kind", plan.kind},
              {"namespace", plan.key.namespace_name},
              {"name", plan.key.name},
              {"pods", plan.pods},
              {"workloads", plan.workloads},
              {"localQueue", plan.local_queue},
              {"clusterQueue", plan.cluster_queue},
              {"problem", plan.problem.empty() ? Json() : Json(plan.problem)},
              {"quota", Json::array()},
              {"checks", Json::array()}};
  for (const QuotaPlan& each : plan.quota) {
    out["quota"].push_back({{"flavor", each.flavor},
                            {"resource", each.resource},
                            {"unit", UnitOf(each.resource)},
                            {"needed", each.needed},
                            {"free", each.free},
                            {"nominal", each.nominal}});
  }
  for (const CheckPlan& check : plan.checks) {
    Json steps = Json::array();
    for (const StepOutlook& step : check.steps) steps.push_back(StepOutlookJson(step));
    out["checks"].push_back({{"name", check.check},
                             {"policy", check.policy.empty() ? Json() : Json(check.policy)},
                             {"problem", check.problem.empty() ? Json() : Json(check.problem)},
                             {"steps", std::move(steps)}});
  }
  if (plan.start) out["start"] = StartJson(*plan.start);
  return out;
}

}  // namespace

Result<JobPlan> MakePlan(const ClusterView& view, const PlannedJob& job) {
  const std::string& namespace_name = job.workload.meta.namespace_name;
  JobPlan plan{.kind = job.kind,
               .key = {namespace_name, job.name},
               .local_queue = job.workload.spec.queue_name};
  for (const api::PodSet& pods : job.workload.spec.pod_sets) plan.pods += pods.count * job.copies;
  plan.workloads = job.copies;
  if (plan.local_queue.empty()) {
    return Error{ErrorCode::kInvalid, job.kind + " " + plan.key.ToString() +
                                          " names no queue: set its label " +
                                          std::string(api::kQueueLabel) + ", or --queue (" +
                                          QueuesIn(view, namespace_name) + ")"};
  }
  const api::LocalQueue* local =
      FindLocalQueue(view, {namespace_name, job.workload.spec.queue_name});
  if (local == nullptr) {
    return Error{ErrorCode::kNotFound, "no LocalQueue \"" + plan.local_queue + "\" in namespace " +
                                           namespace_name + ": " + QueuesIn(view, namespace_name)};
  }
  plan.cluster_queue = local->cluster_queue;
  const api::ClusterQueue* queue = FindClusterQueue(view, local->cluster_queue);
  if (queue == nullptr) {
    plan.problem = IsKnown(view, "clusterqueues")
                       ? "ClusterQueue " + plan.cluster_queue + " does not exist"
                       : "no right to read ClusterQueues: its quota and checks are hidden";
    return plan;
  }
  if (local->stop_policy != api::StopPolicy::kNone) {
    plan.problem = "LocalQueue " + plan.local_queue + " is stopped";
  } else if (queue->spec.stop_policy != api::StopPolicy::kNone) {
    plan.problem = "ClusterQueue " + plan.cluster_queue + " is stopped";
  }
  plan.quota = QuotaOf(*queue, job.workload, job.copies);
  for (const api::AdmissionCheckRule& rule : queue->spec.admission_checks) {
    plan.checks.push_back(PlanCheck(view, *queue, rule, job));
  }
  return plan;
}

std::string RenderPlans(const ClusterView& view, const std::vector<JobPlan>& plans,
                        const TextStyle& style) {
  std::string text;
  for (const JobPlan& plan : plans) text += (text.empty() ? "" : "\n") + RenderPlan(plan, style);
  const std::vector<std::string> not_seen = NotSeen(view);
  if (!not_seen.empty()) text += "\n" + Join(not_seen, "\n") + "\n";
  return text;
}

Json PlansJson(const ClusterView& view, const std::vector<JobPlan>& plans) {
  Json jobs = Json::array();
  for (const JobPlan& plan : plans) jobs.push_back(PlanJson(plan));
  return {{"time", FormatTime(view.now)},
          {"jobs", std::move(jobs)},
          {"hidden", view.hidden},
          {"narrowed", view.narrowed}};
}

}  // namespace berth::view
