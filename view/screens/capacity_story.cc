#include "view/screens/capacity_story.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "base/rfc3339.h"
#include "provisioning/money.h"
#include "provisioning/request_reasons.h"
#include "provisioning/request_state.h"
#include "provisioning/vetoes.h"
#include "view/screens/reason.h"
#include "view/screens/text.h"

namespace berth::view {
namespace {

constexpr std::size_t kShownOutcomes = 4;

// nullopt: the reason is no obstacle.
std::optional<CapacityAdvice> AdviceOn(const std::string& reason) {
  const provisioning::ReasonInfo& info = provisioning::Explain(reason);
  if (info.reason_class == provisioning::ReasonClass::kProgress) return std::nullopt;
  return CapacityAdvice{.reason = reason,
                        .reason_class = std::string(ReasonClassName(info.reason_class)),
                        .who = std::string(WhoActsName(info.who)),
                        .remedy = std::string(info.remedy)};
}

// "stockout, the cloud can act: wait: …"
std::string AdviceLine(const CapacityAdvice& advice) {
  const std::string who = advice.who == "nobody"  ? "nobody needs to act"
                          : advice.who == "user"  ? "you can act"
                          : advice.who == "admin" ? "an administrator can act"
                                                  : "only the cloud can act";
  return advice.reason + " (" + advice.reason_class + "), " + who + ": " + advice.remedy;
}

nlohmann::json AdviceJson(const CapacityAdvice& advice) {
  return {{"reason", advice.reason},
          {"class", advice.reason_class},
          {"who", advice.who},
          {"remedy", advice.remedy}};
}

// Says of each step that the check's message passes over who can act.
void AddVetoes(const api::AdmissionCheckState& check, Step& step) {
  for (const char* reason : provisioning::kVetoReasons) {
    if (check.message.find(std::string("(") + reason + "): ") == std::string::npos) continue;
    if (const auto advice = AdviceOn(reason)) step.lines.push_back(AdviceLine(*advice));
  }
}

std::string UsedLine(const std::string& name, const api::ProvisioningMemory::Step& used) {
  std::string line = "step " + name + ": " + std::to_string(used.attempts) +
                     (used.attempts == 1 ? " request" : " requests") + " in vain, waited " +
                     HumanDuration(std::chrono::seconds(used.waited_seconds));
  if (used.over) line += ", not asked again";
  return line;
}

std::string WasteLine(const api::ProvisioningMemory::RaceWaste& waste) {
  std::string line = "surplus nodes, of requests that lost a race: about " +
                     HumanDuration(std::chrono::seconds(waste.node_seconds)) + " of a node";
  if (waste.nano_dollars > 0) line += ", " + provisioning::Dollars(waste.nano_dollars) + " USD";
  return line;
}

}  // namespace

std::vector<std::string> RequestLines(const ClusterView& view, const api::Workload& workload,
                                      const api::ProvisioningRequest& request) {
  std::vector<std::string> lines{"ProvisioningRequest " + request.meta.name + ", class " +
                                 request.provisioning_class_name};
  for (const char* type :
       {"Accepted", "Provisioned", "BookingExpired", "CapacityRevoked", "Failed"}) {
    const api::Condition* condition = api::FindCondition(request.conditions, type);
    if (condition == nullptr) continue;
    const bool is_true = condition->status == api::ConditionStatus::kTrue;
    lines.push_back(std::string(is_true ? "" : "not ") + type + " " +
                    FormatTime(condition->last_transition_time) + " (" + condition->reason + ")");
    if (!condition->message.empty()) lines.push_back("the cloud says: " + condition->message);
  }
  if (request.conditions.empty()) {
    lines.push_back("no controller has answered for class " + request.provisioning_class_name);
  }
  const NodePoolView* pool = WantedPool(view, workload);
  if (pool != nullptr) {
    std::string line = "pool " + pool->name + ": " + std::to_string(pool->node_count);
    if (pool->max_nodes) line += " of " + std::to_string(*pool->max_nodes);
    line += " nodes";
    if (pool->stock) {
      line +=
          *pool->stock == 0 ? ", none in stock" : ", " + std::to_string(*pool->stock) + " in stock";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

CapacityAsked CapacityOf(const ClusterView& view, const api::Workload& workload,
                         const api::ProvisioningRequest& request) {
  CapacityAsked capacity{.request = request.meta.name,
                         .provisioning_class = request.provisioning_class_name};
  if (const std::string* step =
          api::FindValue(request.meta.annotations, api::kProvisioningStepAnnotation)) {
    capacity.policy_step = *step;
  }
  const api::Condition* why = provisioning::DecidingCondition(request);
  if (why != nullptr) capacity.advice = AdviceOn(why->reason);
  if (const NodePoolView* pool = WantedPool(view, workload); pool != nullptr) {
    capacity.pool = pool->name;
    capacity.nodes = pool->node_count;
    capacity.max_nodes = pool->max_nodes;
    capacity.stock = pool->stock;
  }
  return capacity;
}

void AddPolicy(const api::Workload& workload, const api::AdmissionCheckState& check,
               const api::ProvisioningRequest* request, Step& step) {
  if (step.capacity && !step.capacity->policy_step.empty()) {
    step.lines.push_back("asked for by step " + step.capacity->policy_step + " of the policy");
  }
  if (step.capacity && step.capacity->advice) {
    step.lines.push_back(AdviceLine(*step.capacity->advice));
  }
  AddVetoes(check, step);
  const std::string* text =
      api::FindValue(workload.meta.annotations, api::kProvisioningMemoryAnnotation);
  const auto memory =
      text == nullptr ? Result<api::MemoryByCheck>(api::MemoryByCheck{}) : api::DecodeMemory(*text);
  const auto found = memory ? memory->find(check.name) : api::MemoryByCheck::const_iterator();
  if (!memory || found == memory->end()) return;
  const api::ProvisioningMemory& known = found->second;
  // The cloud's words stand above; the check's own say which steps were passed over.
  if (request != nullptr && check.message.find("step ") != std::string::npos) {
    step.lines.push_back(check.message);
  }
  for (const auto& [name, used] : known.steps) step.lines.push_back(UsedLine(name, used));
  if (known.race_waste.node_seconds > 0) step.lines.push_back(WasteLine(known.race_waste));
  const auto& outcomes = known.outcomes;
  const std::size_t first = outcomes.size() - std::min(outcomes.size(), kShownOutcomes);
  for (std::size_t at = first; at < outcomes.size(); ++at) {
    const auto advice = AdviceOn(outcomes[at].reason);
    if (!advice) continue;
    step.tried.push_back({outcomes[at].step, outcomes[at].at, *advice});
    step.lines.push_back(FormatTime(outcomes[at].at) + " step " + outcomes[at].step + ": " +
                         AdviceLine(*advice));
  }
  for (const char* key : {api::kAvoidedFlavorsAnnotation, api::kReactiveAvoidedFlavorsAnnotation}) {
    if (const std::string* avoided = api::FindValue(workload.meta.annotations, key)) {
      step.lines.push_back("flavors that are passed over: " + *avoided);
    }
  }
  if (const std::string* end =
          api::FindValue(workload.meta.annotations, api::kExpiresAtAnnotation)) {
    step.lines.push_back("the cloud takes the capacity back at " + *end);
  }
}

nlohmann::json CapacityJson(const CapacityAsked& capacity) {
  nlohmann::json out = {{"provisioningRequest", capacity.request},
                        {"class", capacity.provisioning_class}};
  if (!capacity.policy_step.empty()) out["policyStep"] = capacity.policy_step;
  if (capacity.advice) out["advice"] = AdviceJson(*capacity.advice);
  if (capacity.pool.empty()) return out;
  out["nodePool"] = {
      {"name", capacity.pool},
      {"nodes", capacity.nodes},
      {"maxNodes", capacity.max_nodes ? nlohmann::json(*capacity.max_nodes) : nlohmann::json()},
      {"stock", capacity.stock ? nlohmann::json(*capacity.stock) : nlohmann::json()}};
  return out;
}

nlohmann::json TriedJson(const std::vector<CapacityTried>& tried) {
  nlohmann::json out = nlohmann::json::array();
  for (const CapacityTried& each : tried) {
    out.push_back(
        {{"step", each.step}, {"at", FormatTime(each.at)}, {"advice", AdviceJson(each.advice)}});
  }
  return out;
}

}  // namespace berth::view
