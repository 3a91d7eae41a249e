#include "tests/faults/policy_ends.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "tests/faults/request_part.h"

namespace berth::sim {
namespace {

using local::Json;
using local::cluster::ArrayAt;
using local::cluster::ConditionIs;
using local::cluster::StringAt;

constexpr char kEndsPolicies[] = "provisioningpolicies.provisioning.berth.dev";
constexpr char kEndsRequests[] = "provisioningrequests.autoscaling.x-k8s.io";
constexpr char kEndsWorkloads[] = "workloads.kueue.x-k8s.io";
constexpr char kEndsPods[] = "pods";
constexpr char kEndsChain[] = "chain";  // the name of the policy, and of its check
constexpr std::string_view kNoStepLeft = "No step is left";
// Failures of the stories' pools that end when a person acts.
constexpr std::array<std::string_view, 2> kHumanCauses{
    "NoQueuedNodepoolAvailable", "ProvisioningRequestNotSchedulableInNodepool"};

bool SaysNoStepIsLeft(const std::string& message) { return message.rfind(kNoStepLeft, 0) == 0; }

// The reason of the last failure in the memory of the check; empty: there is none.
std::string LastFailure(const Json& workload) {
  const std::string text = local::cluster::AnnotationOf(workload, "berth.dev/provisioning");
  const Json memory = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (memory.is_discarded() || !memory.is_object()) return "";
  const Json& outcomes = ArrayAt(memory, {kEndsChain, "outcomes"});
  return outcomes.empty() ? "" : StringAt(outcomes.back(), {"reason"});
}

std::string RequestName(const Key& key) { return key.first + "/" + key.second; }

}  // namespace

PolicyEnds::Version PolicyEnds::ReadPolicy(const Json& policy) {
  Version version;
  version.rejects = StringAt(policy, {"spec", "whenExhausted"}) == "Reject";
  version.rejects_human_causes =
      version.rejects || local::cluster::BoolAt(policy, {"spec", "rejectHumanCauses"});
  version.boot_seconds = local::cluster::IntAt(policy, {"spec", "bootTimeoutSeconds"});
  version.leave_seconds = local::cluster::IntAt(policy, {"spec", "evictBeforeSeconds"});
  return version;
}

PolicyEnds::Answer PolicyEnds::ReadAnswer(const Json& workload) {
  Answer answer;
  answer.uid = local::cluster::UidOf(workload);
  answer.last_failure = LastFailure(workload);
  for (const Json& check : ArrayAt(workload, {"status", "admissionChecks"})) {
    if (StringAt(check, {"name"}) != kEndsChain) continue;
    answer.state = StringAt(check, {"state"});
    answer.message = StringAt(check, {"message"});
    answer.since = local::cluster::TimeAt(check, {"lastTransitionTime"}).value_or(WallTime{});
  }
  return answer;
}

PolicyEnds::Capacity PolicyEnds::ReadCapacity(const Json& request) {
  Capacity capacity;
  const Json* owner = local::cluster::ControllerRef(request);
  capacity.owner_uid = owner == nullptr ? "" : StringAt(*owner, {"uid"});
  capacity.divided = IsDivided(request);
  capacity.came =
      ConditionIs(request, "Provisioned", "True") && !ConditionIs(request, "Failed", "True") &&
      !ConditionIs(request, "CapacityRevoked", "True") && !local::cluster::IsDeleting(request);
  const Json* provisioned = local::cluster::FindCondition(request, "Provisioned");
  const std::string run = StringAt(request, {"spec", "parameters", "maxRunDurationSeconds"});
  const auto seconds = ParseInt64(run);
  if (!capacity.came || !seconds || provisioned == nullptr) return capacity;
  const auto at = local::cluster::TimeAt(*provisioned, {"lastTransitionTime"});
  if (at) capacity.ends = *at + std::chrono::seconds(*seconds);
  return capacity;
}

void PolicyEnds::SeePolicy(const Json* object) {
  const SteadyTime now = invariants_.now();
  versions_.back().until = now;
  versions_.push_back(object == nullptr ? Version{} : ReadPolicy(*object));
  while (versions_.size() > 1 && versions_.front().until + invariants_.staleness() < now) {
    versions_.pop_front();
  }
  held_.clear();  // an edit may leave a step again
}

bool PolicyEnds::SomeRecent(const std::function<bool(const Version&)>& is_so) const {
  const SteadyTime recent = invariants_.now() - invariants_.staleness();
  return std::any_of(versions_.begin(), versions_.end(), [&](const Version& version) {
    return version.until >= recent && is_so(version);
  });
}

// Whether the Workload was held by the present version of the policy, known for long.
bool PolicyEnds::IsHeld(const std::string& uid) const {
  const auto held = held_.find(uid);
  if (held == held_.end()) return false;
  return std::none_of(versions_.begin(), std::prev(versions_.end()), [&](const Version& version) {
    return version.until + invariants_.staleness() >= held->second;
  });
}

void PolicyEnds::CheckAnswer(const Key& key, const Answer& answer) {
  const bool let_go = answer.state == "Retry" || answer.state == "Rejected";
  if (let_go && IsHeld(answer.uid)) {
    invariants_.Report("leaves-though-held",
                       "Workload " + Show(key) + ": " + answer.state + ": " + answer.message);
  }
  if (let_go) held_.erase(answer.uid);
  if (!SaysNoStepIsLeft(answer.message)) return;
  if (answer.state == "Pending") held_.try_emplace(answer.uid, invariants_.now());
  const bool human = std::find(kHumanCauses.begin(), kHumanCauses.end(), answer.last_failure) !=
                     kHumanCauses.end();
  if (answer.state == "Rejected" && !SomeRecent([](const Version& version) {
        return version.rejects || version.rejects_human_causes;
      })) {
    invariants_.Report("rejected-unasked", "Workload " + Show(key) + ": " + answer.message);
  }
  if (answer.state == "Retry" && human &&
      !SomeRecent([](const Version& version) { return !version.rejects_human_causes; })) {
    invariants_.Report("not-rejected", "Workload " + Show(key) + ": " + answer.message);
  }
}

void PolicyEnds::SeeWorkload(const Key& key, const Json* object) {
  if (object == nullptr) {
    answers_.erase(key);
    return;
  }
  const auto known = answers_.find(key);
  Answer now = ReadAnswer(*object);
  const bool is_new = known == answers_.end() || known->second.uid != now.uid ||
                      known->second.state != now.state || known->second.message != now.message;
  const Answer& kept = answers_[key] = std::move(now);
  if (is_new) CheckAnswer(key, kept);
}

void PolicyEnds::SeeRequest(const Key& key, const Json* object) {
  if (object == nullptr) {
    capacities_.erase(key);
    return;
  }
  Capacity capacity = ReadCapacity(*object);
  const auto [place, is_new] = capacities_.insert_or_assign(key, std::move(capacity));
  const bool of_chain = key.second.find(std::string("-") + kEndsChain + "-") != std::string::npos;
  if (is_new && of_chain && IsHeld(place->second.owner_uid)) {
    invariants_.Report("asks-though-held",
                       "ProvisioningRequest " + Show(key) + " is made after the last step");
  }
}

void PolicyEnds::SeePod(const Key& key, const Json* object) {
  waiting_.erase(key);
  if (object == nullptr || local::cluster::IsDeleting(*object) ||
      local::cluster::HasEnded(*object) || !StringAt(*object, {"spec", "nodeName"}).empty()) {
    return;
  }
  const std::string request =
      local::cluster::AnnotationOf(*object, "autoscaling.x-k8s.io/consume-provisioning-request");
  if (request.empty()) return;
  waiting_[key] = {
      request,
      local::cluster::TimeAt(*object, {"metadata", "creationTimestamp"}).value_or(WallTime{})};
}

void PolicyEnds::See(const local::StoreEvent& event, bool /*by_story*/) {
  const local::ObjectKey& where = event.object->key();
  const bool is_chain = where.resource == kEndsPolicies && where.name == kEndsChain;
  if (!is_chain && where.resource != kEndsRequests && where.resource != kEndsWorkloads &&
      where.resource != kEndsPods) {
    return;
  }
  const local::Object object = event.object->json();
  const Json* now = event.type == local::WatchEvent::Type::kDeleted ? nullptr : &*object;
  const Key key{where.namespace_name, where.name};
  if (is_chain) return SeePolicy(now);
  if (where.resource == kEndsWorkloads) return SeeWorkload(key, now);
  if (where.resource == kEndsPods) return SeePod(key, now);
  SeeRequest(key, now);
}

const PolicyEnds::Answer* PolicyEnds::AnswerOf(const Capacity& capacity) const {
  const WorkloadFacts* workload = invariants_.truth().Workload(capacity.owner_uid);
  if (workload == nullptr || !workload->reserved || workload->finished || workload->evicted) {
    return nullptr;
  }
  const auto answer = answers_.find(workload->key);
  return answer == answers_.end() || answer->second.state != "Ready" ? nullptr : &answer->second;
}

void PolicyEnds::FindSlowNodes(Findings& findings) const {
  const auto limit = std::chrono::seconds(versions_.back().boot_seconds);
  if (limit == std::chrono::seconds(0)) return;
  for (const auto& [key, pod] : waiting_) {
    const auto capacity = capacities_.find({key.first, pod.request});
    if (capacity == capacities_.end() || !capacity->second.came || capacity->second.divided) {
      continue;
    }
    const Answer* answer = AnswerOf(capacity->second);
    if (answer == nullptr) continue;
    if (world_.clock().Now() <= std::max(answer->since, pod.created) + limit) continue;
    findings[{"boots-too-long", Show(key)}] = "it has no node of " + RequestName(capacity->first) +
                                              " after " + std::to_string(limit.count()) + " s";
  }
}

void PolicyEnds::FindLateLeavers(Findings& findings) const {
  const auto before = std::chrono::seconds(versions_.back().leave_seconds);
  if (before == std::chrono::seconds(0)) return;
  const WallTime now = world_.clock().Now();
  for (const auto& [key, capacity] : capacities_) {
    if (!capacity.came || !capacity.ends || now >= *capacity.ends) continue;
    if (now <= *capacity.ends - before || AnswerOf(capacity) == nullptr) continue;
    findings[{"stays-to-the-end", RequestName(key)}] =
        "the policy leaves " + std::to_string(before.count()) + " s before the end";
  }
}

void PolicyEnds::Find(Findings& findings) const {
  FindSlowNodes(findings);
  FindLateLeavers(findings);
}

}  // namespace berth::sim
