#include "api/codec/provisioning_policy.h"

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/codec/parts.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

constexpr ResourceKind kProvisioningPolicy{"provisioning.berth.dev", "v1alpha1",
                                           "ProvisioningPolicy", "provisioningpolicies", false};

using WhenExhausted = ProvisioningPolicy::WhenExhausted;
constexpr Words<WhenExhausted, 3> kExhaustedWords{{{"Cycle", WhenExhausted::kCycle},
                                                   {"Hold", WhenExhausted::kHold},
                                                   {"Reject", WhenExhausted::kReject}}};
using OnRevoked = ProvisioningPolicy::OnRevoked;
constexpr Words<OnRevoked, 2> kRevokedWords{
    {{"Reject", OnRevoked::kReject}, {"Requeue", OnRevoked::kRequeue}}};
using Over = ProvisioningRace::Over;
using RunSource = ProvisioningRunDuration::Source;
constexpr Words<RunSource, 2> kSourceWords{
    {{"Job", RunSource::kJob}, {"History", RunSource::kHistory}}};
constexpr Words<Over, 2> kOverWords{{{"Zones", Over::kZones}, {"Steps", Over::kSteps}}};
using Stock = ProvisioningPolicy::Stock;
constexpr Words<Stock, 2> kStockWords{{{"Shared", Stock::kShared}, {"Ignored", Stock::kIgnored}}};
using ShapeRule = ProvisioningReuse::ShapeRule;
constexpr Words<ShapeRule, 2> kShapeWords{
    {{"WholeSet", ShapeRule::kWholeSet}, {"Any", ShapeRule::kAny}}};
using BudgetAction = ProvisioningPolicy::BudgetAction;
constexpr Words<BudgetAction, 2> kBudgetWords{
    {{"Block", BudgetAction::kBlock}, {"Warn", BudgetAction::kWarn}}};
using SplitMode = ProvisioningSplit::Mode;
constexpr Words<SplitMode, 2> kSplitWords{
    {{"PerPodSet", SplitMode::kPerPodSet}, {"Divide", SplitMode::kDivide}}};
using OnTrouble = ProvisioningPolicy::OnTrouble;
constexpr Words<OnTrouble, 2> kTroubleWords{
    {{"Wait", OnTrouble::kWait}, {"Requeue", OnTrouble::kRequeue}}};
using Next = ProvisioningMemory::Next;
constexpr Words<Next, 4> kNextWords{{{"Nothing", Next::kNothing},
                                     {"Ask", Next::kAsk},
                                     {"Retry", Next::kRetry},
                                     {"Reject", Next::kReject}}};
// Limits of a memory that is read: the annotation is bounded, whoever writes the annotation.
constexpr JsonLimits kMemoryLimits{.max_depth = 8, .max_values = 1024};

void ReadPool(const Reader& in, ProvisioningPool& pool) {
  in.Field("name").Get(pool.name);
  in.Field("maxNodes").Get(pool.max_nodes);
  in.Field("node").Get(pool.node);
}

void ReadRun(const Reader& in, ProvisioningPolicy::RunDuration& run) {
  in.Field("marginPercent").Get(run.margin_percent);
  in.Field("minSeconds").Get(run.min_seconds);
  in.Field("maxSeconds").Get(run.max_seconds);
  in.Field("source").Get(run.source, kSourceWords);
}

void ReadRace(const Reader& in, ProvisioningRace& race) {
  in.Field("width").Get(race.width);
  in.Field("over").Get(race.over, kOverWords);
  in.Field("staggerSeconds").Get(race.stagger_seconds);
  in.Field("keepSurplusSeconds").Get(race.keep_surplus_seconds);
}

void ReadReuse(const Reader& in, ProvisioningReuse& reuse) {
  in.Field("enabled").Get(reuse.enabled);
  in.Field("shapeRule").Get(reuse.shape_rule, kShapeWords);
  in.Field("minLifeSeconds").Get(reuse.min_life_seconds);
}

void ReadPrewarm(const Reader& in, ProvisioningPrewarm& prewarm) {
  in.Field("namespace").Get(prewarm.namespace_name);
  in.Field("localQueue").Get(prewarm.local_queue);
  in.Field("step").Get(prewarm.step);
  in.Field("minNodes").Get(prewarm.min_nodes);
  in.Field("schedule").Get(prewarm.schedule);
  in.Field("timeZone").Get(prewarm.time_zone);
  in.Field("durationSeconds").Get(prewarm.duration_seconds);
  in.Field("leadSeconds").Get(prewarm.lead_seconds);
  in.Field("maxIdleSeconds").Get(prewarm.max_idle_seconds);
}

void ReadPlaceholders(const Reader& in, ProvisioningPlaceholders& placeholders) {
  in.Field("priorityClassName").Get(placeholders.priority_class);
  in.Field("timeoutSeconds").Get(placeholders.timeout_seconds);
  in.Field("image").Get(placeholders.image);
}

void ReadSplit(const Reader& in, ProvisioningSplit& split) {
  in.Field("mode").Get(split.mode, kSplitWords);
  in.Field("holdSeconds").Get(split.hold_seconds);
  in.Field("maxNodesPerRequest").Get(split.max_nodes);
}

void ReadStep(const Reader& in, ProvisioningStep& step) {
  in.Field("name").Get(step.name);
  in.Field("flavor").Get(step.flavor);
  in.Field("provisioningClassName").Get(step.provisioning_class_name);
  in.Field("parameters").Get(step.parameters);
  in.Field("zones").Get(step.zones);
  in.Field("maxWaitSeconds").Get(step.max_wait_seconds);
  in.Field("maxAttempts").Get(step.max_attempts);
  if (const Reader pool = in.Field("pool"); pool.present()) ReadPool(pool, step.pool.emplace());
  in.Field("pricePerHour").Get(step.price_per_hour);
  in.Field("maxPricePerHour").Get(step.max_price_per_hour);
  in.Field("maxRunSeconds").Get(step.max_run_seconds);
  in.Field("minEtaGainSeconds").Get(step.min_eta_gain_seconds);
}

void ReadMemory(const Reader& in, ProvisioningMemory& memory) {
  in.Field("steps").EachMember("object", [&memory](const std::string& name, const Reader& item) {
    ProvisioningMemory::Step& step = memory.steps[name];
    item.Field("attempts").Get(step.attempts);
    item.Field("waitedSeconds").Get(step.waited_seconds);
    item.Field("over").Get(step.over);
  });
  in.Field("countedAttempt").Get(memory.counted_attempt);
  in.Field("countedRetries").Get(memory.counted_retries);
  in.Field("warnedAttempt").Get(memory.warned_attempt);
  in.Field("askedAgain").Get(memory.asked_again);
  in.Field("toldLate").Get(memory.told_late);
  in.Field("leaseFailed").Get(memory.lease_failed);
  in.Field("passedOver").Get(memory.passed_over);
  in.Field("next").Get(memory.next, kNextWords);
  in.Field("due").Get(memory.due);
  in.Field("message").Get(memory.message);
  const Reader waste = in.Field("raceWaste");
  waste.Field("nodeSeconds").Get(memory.race_waste.node_seconds);
  waste.Field("nanoUSD").Get(memory.race_waste.nano_dollars);
  waste.Field("attempts")
      .List(memory.race_waste.attempts,
            [](const Reader& item, std::int32_t& attempt) { item.Get(attempt); });
  in.Field("outcomes")
      .List(memory.outcomes, [](const Reader& item, ProvisioningMemory::Outcome& outcome) {
        item.Field("step").Get(outcome.step);
        item.Field("reason").Get(outcome.reason);
        item.Field("at").Get(outcome.at);
      });
}

Json EncodeOne(const ProvisioningMemory& memory) {
  Json steps = Json::object();
  for (const auto& [name, step] : memory.steps) {
    Json& out = steps[name] = {{"attempts", step.attempts}};
    if (step.waited_seconds != 0) out["waitedSeconds"] = step.waited_seconds;
    if (step.over) out["over"] = true;
  }
  Json outcomes = Json::array();
  for (const ProvisioningMemory::Outcome& outcome : memory.outcomes) {
    outcomes.push_back(
        {{"step", outcome.step}, {"reason", outcome.reason}, {"at", FormatTime(outcome.at)}});
  }
  Json out = {{"steps", std::move(steps)},
              {"countedAttempt", memory.counted_attempt},
              {"countedRetries", memory.counted_retries},
              {"next", WordOf(memory.next, kNextWords)},
              {"outcomes", std::move(outcomes)}};
  if (memory.warned_attempt != 0) out["warnedAttempt"] = memory.warned_attempt;
  if (memory.asked_again != 0) out["askedAgain"] = memory.asked_again;
  if (memory.race_waste != ProvisioningMemory::RaceWaste{}) {
    out["raceWaste"] = {{"nodeSeconds", memory.race_waste.node_seconds},
                        {"nanoUSD", memory.race_waste.nano_dollars},
                        {"attempts", memory.race_waste.attempts}};
  }
  if (memory.told_late != WallTime{}) out["toldLate"] = FormatTime(memory.told_late);
  if (memory.lease_failed != WallTime{}) out["leaseFailed"] = FormatTime(memory.lease_failed);
  if (memory.passed_over != WallTime{}) out["passedOver"] = FormatTime(memory.passed_over);
  if (memory.due != WallTime{}) out["due"] = FormatTime(memory.due);
  if (!memory.message.empty()) out["message"] = memory.message;
  return out;
}

}  // namespace

template <>
const ResourceKind& KindOf<ProvisioningPolicy>() {
  return kProvisioningPolicy;
}

template <>
Result<ProvisioningPolicy> Decode<ProvisioningPolicy>(const JsonSource& object) {
  return ReadAs<ProvisioningPolicy>(object, [](const Reader& in, ProvisioningPolicy& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("steps").List(out.steps, ReadStep);
    spec.Field("maxWaitSeconds").Get(out.max_wait_seconds);
    spec.Field("whenExhausted").Get(out.when_exhausted, kExhaustedWords);
    spec.Field("cycleAfterSeconds").Get(out.cycle_after_seconds);
    spec.Field("onRevoked").Get(out.on_revoked, kRevokedWords);
    spec.Field("maxPricePerHour").Get(out.max_price_per_hour);
    if (const Reader run = spec.Field("runDuration"); run.present()) {
      ReadRun(run, out.run_duration.emplace());
    }
    if (const Reader race = spec.Field("race"); race.present()) {
      ReadRace(race, out.race.emplace());
    }
    if (const Reader reuse = spec.Field("reuse"); reuse.present()) {
      ReadReuse(reuse, out.reuse.emplace());
    }
    if (const Reader placeholders = spec.Field("placeholders"); placeholders.present()) {
      ReadPlaceholders(placeholders, out.placeholders.emplace());
    }
    if (const Reader prewarm = spec.Field("prewarm"); prewarm.present()) {
      ReadPrewarm(prewarm, out.prewarm.emplace());
    }
    if (const Reader split = spec.Field("split"); split.present()) {
      ReadSplit(split, out.split.emplace());
    }
    spec.Field("latePodSeconds").Get(out.late_pod_seconds);
    spec.Field("bootTimeoutSeconds").Get(out.boot_timeout_seconds);
    spec.Field("evictBeforeSeconds").Get(out.evict_before_seconds);
    spec.Field("rejectHumanCauses").Get(out.reject_human_causes);
    spec.Field("onLate").Get(out.on_late, kTroubleWords);
    spec.Field("onLost").Get(out.on_lost, kTroubleWords);
    const Reader budget = spec.Field("budget");
    budget.Field("perWorkloadUSD").Get(out.max_cost);
    budget.Field("perLocalQueueUSDPerDay").Get(out.max_cost_per_day);
    budget.Field("action").Get(out.budget_action, kBudgetWords);
    const Reader metering = spec.Field("metering");
    metering.Field("enabled").Get(out.metering);
    spec.Field("stock").Get(out.stock, kStockWords);
    spec.Field("stuckAfterSeconds").Get(out.stuck_after_seconds);
    spec.Field("protectPods").Get(out.protect_pods);
    spec.Field("answerTimeoutSeconds").Get(out.answer_timeout_seconds);
    spec.Field("maxInFlight").Get(out.max_in_flight);
  });
}

std::string EncodeMemory(const MemoryByCheck& memory) {
  Json out = Json::object();
  for (const auto& [check, each] : memory) out[check] = EncodeOne(each);
  return FormatJson(out);
}

Result<MemoryByCheck> DecodeMemory(std::string_view text) {
  BERTH_TRY(const Json tree, ParseJson(text, kMemoryLimits));
  return ReadAs<MemoryByCheck>(tree, [](const Reader& in, MemoryByCheck& out) {
    in.EachMember("object", [&out](const std::string& check, const Reader& item) {
      ReadMemory(item, out[check]);
    });
  });
}

}  // namespace berth::api
