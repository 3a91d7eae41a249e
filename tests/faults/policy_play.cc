#include "tests/faults/policy_play.h"

#include <algorithm>
#include <utility>

#include "api/quantity.h"
#include "local/cluster/objects/fields.h"
#include "tests/faults/request_part.h"

namespace berth::sim {
namespace {

using local::Json;
using local::cluster::ArrayAt;
using local::cluster::ConditionIs;
using local::cluster::IntAt;
using local::cluster::StringAt;

constexpr char kPolicies[] = "provisioningpolicies.provisioning.berth.dev";
constexpr char kRequests[] = "provisioningrequests.autoscaling.x-k8s.io";
constexpr char kNodes[] = "nodes";
constexpr char kPods[] = "pods";
constexpr char kChain[] = "chain";  // the policy whose limits are compared
// activeDeadlineSeconds of the stories' jobs: a job without a deadline has no known cost.
constexpr std::int64_t kRunSeconds = 3000;
constexpr std::int64_t kSecondsPerHour = 3600;
constexpr std::int64_t kSecondsPerDay = 86400;

std::optional<std::int64_t> NanosAt(const Json& object, const char* field) {
  const std::string text = StringAt(object, {field});
  if (text.empty()) return std::nullopt;
  const auto amount = api::Quantity::Parse(text);
  return amount ? std::optional(amount->NanoValue()) : std::nullopt;
}

}  // namespace

PolicyPlay::Version PolicyPlay::ReadPolicy(const Json& policy) {
  Version version;
  const Json* spec = local::cluster::Find(policy, {"spec"});
  if (spec == nullptr) return version;
  for (const Json& each : ArrayAt(*spec, {"steps"})) {
    Step& step = version.steps[StringAt(each, {"name"})];
    step.max_wait_seconds = IntAt(each, {"maxWaitSeconds"}, IntAt(*spec, {"maxWaitSeconds"}));
    step.nano_price = NanosAt(each, "pricePerHour");
    step.nano_price_limit = NanosAt(each, "maxPricePerHour");
    if (!step.nano_price_limit) step.nano_price_limit = NanosAt(*spec, "maxPricePerHour");
  }
  version.race_width = IntAt(*spec, {"race", "width"}, 1);
  version.prewarms = local::cluster::Find(*spec, {"prewarm"}) != nullptr;
  const Json* budget = local::cluster::Find(*spec, {"budget"});
  if (budget == nullptr || StringAt(*budget, {"action"}, "Block") != "Block") return version;
  version.workload_budget = NanosAt(*budget, "perWorkloadUSD");
  version.day_budget = NanosAt(*budget, "perLocalQueueUSDPerDay");
  return version;
}

PolicyPlay::Request PolicyPlay::ReadRequest(const std::string& name, const Json& object) {
  const Json* owner = local::cluster::ControllerRef(object);
  const bool over = ConditionIs(object, "Failed", "True") ||
                    ConditionIs(object, "BookingExpired", "True") ||
                    ConditionIs(object, "CapacityRevoked", "True");
  std::int64_t pods = 0;
  for (const Json& each : ArrayAt(object, {"spec", "podSets"})) pods += IntAt(each, {"count"});
  return {
      .owner_uid = owner == nullptr ? "" : StringAt(*owner, {"uid"}),
      .check = name.substr(0, name.rfind('-')),
      .step = local::cluster::AnnotationOf(object, "berth.dev/provisioning-step"),
      .part = PartOf(object),
      .created =
          local::cluster::TimeAt(object, {"metadata", "creationTimestamp"}).value_or(WallTime{}),
      .pods = pods,
      .divided = IsDivided(object),
      .lives = !over && !local::cluster::IsDeleting(object),
      .granted = ConditionIs(object, "Provisioned", "True")};
}

PolicyPlay::QueueDay PolicyPlay::DayOf(const Request& request) {
  const auto seconds =
      std::chrono::floor<std::chrono::seconds>(request.created.time_since_epoch()).count();
  return {request.queue, seconds / kSecondsPerDay};
}

void PolicyPlay::SeePolicy(const Json* object) {
  const SteadyTime now = invariants_.now();
  versions_.back().until = now;
  versions_.push_back(object == nullptr ? Version{} : ReadPolicy(*object));
  while (versions_.size() > 1 && versions_.front().until + invariants_.staleness() < now) {
    versions_.pop_front();
  }
}

bool PolicyPlay::SomeRecent(const std::function<bool(const Version&)>& is_so) const {
  const SteadyTime recent = invariants_.now() - invariants_.staleness();
  return std::any_of(versions_.begin(), versions_.end(), [&](const Version& version) {
    return version.until >= recent && is_so(version);
  });
}

void PolicyPlay::CheckPrice(const Key& key, const Request& request) {
  const bool lawful = SomeRecent([&request](const Version& version) {
    const auto step = version.steps.find(request.step);
    if (step == version.steps.end() || !step->second.nano_price_limit) return true;
    return step->second.nano_price.value_or(INT64_MAX) <= *step->second.nano_price_limit;
  });
  if (lawful) return;
  invariants_.Report("dearer-than-limit",
                     "ProvisioningRequest " + Show(key) + " is made in step " + request.step);
}

void PolicyPlay::CheckWidth(const Key& key, const Request& request) {
  const auto waiting = std::count_if(requests_.begin(), requests_.end(), [&](const auto& each) {
    return each.second.lives && !each.second.granted && each.second.check == request.check &&
           each.second.owner_uid == request.owner_uid && each.second.part == request.part;
  });
  if (SomeRecent([waiting](const Version& version) { return version.race_width >= waiting; })) {
    return;
  }
  invariants_.Report("race-too-wide", "ProvisioningRequest " + Show(key) + " is made, and " +
                                          std::to_string(waiting) + " wait");
}

std::int64_t PolicyPlay::SpentBeside(const Key& key, const QueueDay& day) const {
  const auto gone = spent_.find(day);
  std::int64_t sum = gone == spent_.end() ? 0 : gone->second;
  for (const auto& [other, request] : requests_) {
    if (other != key && DayOf(request) == day && (request.lives || request.granted)) {
      sum += request.cost;
    }
  }
  return sum;
}

// Gives the request its cost where a budget was kept in every recent version.
void PolicyPlay::CheckBudget(const Key& key, Request& request) {
  std::optional<std::int64_t> price;
  const bool without = SomeRecent([&](const Version& version) {
    const auto step = version.steps.find(request.step);
    if (!version.day_budget || step == version.steps.end()) return true;
    price = step->second.nano_price;
    return !price;
  });
  if (without) return;
  request.cost = *price * request.pods * kRunSeconds / kSecondsPerHour;
  const std::int64_t spent = SpentBeside(key, DayOf(request));
  const bool lawful = SomeRecent([&](const Version& version) {
    return spent + request.cost <= *version.day_budget &&
           request.cost <= version.workload_budget.value_or(INT64_MAX);
  });
  if (lawful) return;
  invariants_.Report("over-budget", "ProvisioningRequest " + Show(key) + " costs " +
                                        std::to_string(request.cost) + " nano-dollars beside " +
                                        std::to_string(spent));
}

void PolicyPlay::SeeRequest(const Key& key, const Json* object) {
  const auto known = requests_.find(key);
  if (object == nullptr) {
    if (known == requests_.end()) return;
    if (known->second.granted) spent_[DayOf(known->second)] += known->second.cost;
    requests_.erase(known);
    return;
  }
  const bool is_new = known == requests_.end();
  Request seen = ReadRequest(key.second, *object);
  if (!is_new) {
    seen.queue = known->second.queue;
    seen.cost = known->second.cost;
  }
  Request& request = requests_[key] = std::move(seen);
  if (!is_new) return;
  if (const WorkloadFacts* workload = invariants_.truth().Workload(request.owner_uid)) {
    request.queue = workload->key.first + "/" + workload->queue;
  }
  CheckPrice(key, request);
  CheckWidth(key, request);
  CheckBudget(key, request);
}

void PolicyPlay::SeePod(const Key& key, const Json* object) {
  placeholders_.erase(key);
  const bool holds = object != nullptr &&
                     !local::cluster::AnnotationOf(*object, "berth.dev/placeholder-of").empty();
  const Json* owner = holds ? local::cluster::ControllerRef(*object) : nullptr;
  if (owner != nullptr) placeholders_[key] = StringAt(*owner, {"uid"});
}

void PolicyPlay::SeeNode(const std::string& name, const Json* object) {
  leases_.erase(name);
  standing_.erase(name);
  if (object != nullptr && !local::cluster::AnnotationOf(*object, "berth.dev/prewarm").empty()) {
    standing_.insert(name);
  }
  if (object == nullptr || local::cluster::LabelOf(*object, "berth.dev/lease").empty()) return;
  const std::string of = local::cluster::AnnotationOf(*object, "berth.dev/lease-of");
  const std::size_t slash = of.find('/');
  if (slash != std::string::npos) leases_[name] = {of.substr(0, slash), of.substr(slash + 1)};
}

void PolicyPlay::See(const local::StoreEvent& event, bool /*by_story*/) {
  const local::ObjectKey& where = event.object->key();
  const bool gone = event.type == local::WatchEvent::Type::kDeleted;
  const bool chain = where.resource == kPolicies && where.name == kChain;
  if (!chain && where.resource != kRequests && where.resource != kNodes &&
      where.resource != kPods) {
    return;
  }
  const local::Object object = event.object->json();
  const Json* now = gone ? nullptr : &*object;
  if (where.resource == kPolicies) return SeePolicy(now);
  if (where.resource == kNodes) return SeeNode(where.name, now);
  if (where.resource == kPods) return SeePod({where.namespace_name, where.name}, now);
  SeeRequest({where.namespace_name, where.name}, now);
}

void PolicyPlay::Find(Findings& findings) const {
  FindLosers(findings);
  FindLeases(findings);
  FindLeftovers(findings);
  const Steps& steps = versions_.back().steps;
  for (const auto& [key, request] : requests_) {
    const auto step = steps.find(request.step);
    const WorkloadFacts* workload = invariants_.truth().Workload(request.owner_uid);
    if (!request.lives || request.granted || step == steps.end() || workload == nullptr ||
        !workload->reserved || workload->finished) {
      continue;
    }
    // The pods of the first part run: later ones may wait.
    if (request.divided && HasCapacity(request)) continue;
    const std::int64_t limit = step->second.max_wait_seconds;
    const Duration waited = world_.clock().Now() - request.created;
    if (limit == 0 || waited <= std::chrono::seconds(limit)) continue;
    findings[{"waits-past-limit", Show(key)}] =
        "it may wait for " + std::to_string(limit) + " s in step " + request.step;
  }
}

void PolicyPlay::FindLeases(Findings& findings) const {
  for (const auto& [node, key] : leases_) {
    const auto workload = invariants_.truth().workloads().find(key);
    const bool is_used = workload != invariants_.truth().workloads().end() &&
                         workload->second.reserved && !workload->second.finished;
    if (!is_used) findings[{"lease-left", node}] = "it is leased to " + Show(key);
  }
}

// Whether some request of the same Workload and check has capacity.
bool PolicyPlay::HasCapacity(const Request& request) const {
  return std::any_of(requests_.begin(), requests_.end(), [&request](const auto& each) {
    return each.second.granted && each.second.lives && each.second.check == request.check &&
           each.second.owner_uid == request.owner_uid;
  });
}

void PolicyPlay::FindLeftovers(Findings& findings) const {
  for (const auto& [key, uid] : placeholders_) {
    const WorkloadFacts* workload = invariants_.truth().Workload(uid);
    if (workload == nullptr || !workload->reserved || workload->finished) {
      findings[{"placeholder-left", Show(key)}] = "its Workload holds no quota";
    }
  }
  if (versions_.back().prewarms) return;
  for (const std::string& node : standing_) {
    findings[{"node-kept", node}] = "the policy lets no node stand";
  }
}

void PolicyPlay::FindLosers(Findings& findings) const {
  // Workload's UID, check, pods
  std::map<std::tuple<std::string, std::string, std::string>, const Key*> winners;
  for (const auto& [key, request] : requests_) {
    if (!request.lives || !request.granted || request.divided) continue;
    const auto [first, is_first] =
        winners.try_emplace({request.owner_uid, request.check, request.part}, &key);
    if (!is_first) {
      findings[{"two-winners", Show(key)}] = Show(*first->second) + " has capacity, too";
    }
  }
  for (const auto& [key, request] : requests_) {
    const auto winner = winners.find({request.owner_uid, request.check, request.part});
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
