#include "tests/simulation/faults/policy_play.h"

#include <algorithm>
#include <utility>

#include "api/quantity.h"
#include "local/cluster/fields.h"

namespace berth::sim {
namespace {

using local::Json;
using local::cluster::ArrayAt;
using local::cluster::ConditionIs;
using local::cluster::IntAt;
using local::cluster::StringAt;

constexpr char kPolicies[] = "provisioningpolicies.provisioning.berth.dev";
constexpr char kRequests[] = "provisioningrequests.autoscaling.x-k8s.io";

std::optional<std::int64_t> NanosAt(const Json& object, const char* field) {
  const std::string text = StringAt(object, {field});
  if (text.empty()) return std::nullopt;
  const auto amount = api::Quantity::Parse(text);
  return amount ? std::optional(amount->NanoValue()) : std::nullopt;
}

}  // namespace

PolicyPlay::Steps PolicyPlay::ReadSteps(const Json& policy) {
  Steps steps;
  const Json* spec = local::cluster::Find(policy, {"spec"});
  if (spec == nullptr) return steps;
  for (const Json& each : ArrayAt(*spec, {"steps"})) {
    Step& step = steps[StringAt(each, {"name"})];
    step.max_wait_seconds = IntAt(each, {"maxWaitSeconds"}, IntAt(*spec, {"maxWaitSeconds"}));
    step.nano_price = NanosAt(each, "pricePerHour");
    step.nano_price_limit = NanosAt(each, "maxPricePerHour");
    if (!step.nano_price_limit) step.nano_price_limit = NanosAt(*spec, "maxPricePerHour");
  }
  return steps;
}

PolicyPlay::Request PolicyPlay::ReadRequest(const std::string& name, const Json& object) {
  const Json* owner = local::cluster::ControllerRef(object);
  const bool over = ConditionIs(object, "Failed", "True") ||
                    ConditionIs(object, "BookingExpired", "True") ||
                    ConditionIs(object, "CapacityRevoked", "True");
  return {
      .owner_uid = owner == nullptr ? "" : StringAt(*owner, {"uid"}),
      .check = name.substr(0, name.rfind('-')),
      .step = local::cluster::AnnotationOf(object, "berth.dev/provisioning-step"),
      .created =
          local::cluster::TimeAt(object, {"metadata", "creationTimestamp"}).value_or(WallTime{}),
      .lives = !over && !local::cluster::IsDeleting(object),
      .granted = ConditionIs(object, "Provisioned", "True")};
}

void PolicyPlay::SeePolicy(const Json* object) {
  const SteadyTime now = invariants_.now();
  versions_.back().until = now;
  versions_.push_back({.steps = object == nullptr ? Steps{} : ReadSteps(*object)});
  while (versions_.size() > 1 && versions_.front().until + invariants_.staleness() < now) {
    versions_.pop_front();
  }
}

void PolicyPlay::CheckPrice(const Key& key, const Request& request) {
  const SteadyTime recent = invariants_.now() - invariants_.staleness();
  const bool lawful = std::any_of(versions_.begin(), versions_.end(), [&](const Version& version) {
    const auto step = version.steps.find(request.step);
    if (version.until < recent) return false;
    if (step == version.steps.end() || !step->second.nano_price_limit) return true;
    return step->second.nano_price.value_or(INT64_MAX) <= *step->second.nano_price_limit;
  });
  if (lawful) return;
  invariants_.Report("dearer-than-limit",
                     "ProvisioningRequest " + Show(key) + " is made in step " + request.step);
}

void PolicyPlay::See(const local::StoreEvent& event, bool /*by_story*/) {
  const local::ObjectKey& where = event.object->key();
  const bool gone = event.type == local::WatchEvent::Type::kDeleted;
  const local::Object object = event.object->json();
  if (where.resource == kPolicies) return SeePolicy(gone ? nullptr : &*object);
  if (where.resource != kRequests) return;
  const Key key{where.namespace_name, where.name};
  if (gone) {
    requests_.erase(key);
    return;
  }
  const bool is_new = !requests_.contains(key);
  const Request& request = requests_[key] = ReadRequest(where.name, *object);
  if (is_new) CheckPrice(key, request);
}

void PolicyPlay::Find(Findings& findings) const {
  FindLosers(findings);
  const Steps& steps = versions_.back().steps;
  for (const auto& [key, request] : requests_) {
    const auto step = steps.find(request.step);
    const WorkloadFacts* workload = invariants_.truth().Workload(request.owner_uid);
    if (!request.lives || request.granted || step == steps.end() || workload == nullptr ||
        !workload->reserved || workload->finished) {
      continue;
    }
    const std::int64_t limit = step->second.max_wait_seconds;
    const Duration waited = world_.clock().Now() - request.created;
    if (limit == 0 || waited <= std::chrono::seconds(limit)) continue;
    findings[{"waits-past-limit", Show(key)}] =
        "it may wait for " + std::to_string(limit) + " s in step " + request.step;
  }
}

void PolicyPlay::FindLosers(Findings& findings) const {
  std::map<std::pair<std::string, std::string>, const Key*> winners;  // Workload's UID, check
  for (const auto& [key, request] : requests_) {
    if (!request.lives || !request.granted) continue;
    const auto [first, is_first] = winners.try_emplace({request.owner_uid, request.check}, &key);
    if (!is_first) {
      findings[{"two-winners", Show(key)}] = Show(*first->second) + " has capacity, too";
    }
  }
  for (const auto& [key, request] : requests_) {
    const auto winner = winners.find({request.owner_uid, request.check});
    const WorkloadFacts* workload = invariants_.truth().Workload(request.owner_uid);
    if (!request.lives || request.granted || winner == winners.end() || workload == nullptr) {
      continue;
    }
    const bool is_ready = std::any_of(workload->checks.begin(), workload->checks.end(),
                                      [&asked = request.check, workload](const auto& check) {
                                        return asked == workload->key.second + "-" + check.first &&
                                               check.second == "Ready";
                                      });
    if (is_ready) {
      findings[{"loser-left", Show(key)}] = Show(*winner->second) + " has brought the capacity";
    }
  }
}

}  // namespace berth::sim
