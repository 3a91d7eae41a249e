// What a check does for a Workload whose pods need machines of several pools, where the policy has
// `split: {mode: PerPodSet}`: pod sets of one flavor are a part, and each part has a request.
//
//     request of part 1 ─┐
//     request of part 2 ─┴─ all have their nodes ─▶ Ready;  one fails, or the others have not come
//                           within holdSeconds ─▶ all end, and the step has failed once
//
// The requests are the memory: the part of a request follows from its pod sets, and a Ready check
// names its requests in podSetUpdates.
#include <algorithm>
#include <set>

#include "api/labels.h"
#include "base/rfc3339.h"
#include "provisioning/check_decider.h"
#include "provisioning/names.h"
#include "provisioning/reasons.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

std::set<std::string> FlavorsOfPodSet(const api::Workload& workload, const std::string& name) {
  std::set<std::string> flavors;
  if (!workload.status.admission) return flavors;
  for (const api::PodSetAssignment& each : workload.status.admission->pod_set_assignments) {
    if (each.name != name) continue;
    for (const auto& [resource, flavor] : each.flavors) flavors.insert(flavor);
  }
  return flavors;
}

// The requests whose capacity the updates let the pods use.
std::set<std::string> NamedRequests(const std::vector<api::PodSetUpdate>& updates) {
  std::set<std::string> names;
  for (const api::PodSetUpdate& update : updates) {
    const std::string* name =
        api::FindValue(update.annotations, api::kConsumeProvisioningRequestAnnotation);
    if (name != nullptr) names.insert(*name);
  }
  return names;
}

bool IsFor(const ProvisioningRequest& request, const std::vector<PodSetGroup>& part) {
  return !request.pod_sets.empty() &&
         request.pod_sets.front().pod_template_name ==
             TemplateName(request.meta.name, part.front().names.front());
}

}  // namespace

// Pod sets that need the same flavors are one part.
void CheckDecider::SplitGroups() {
  using Mode = api::ProvisioningSplit::Mode;
  if (!plan_ || !input_.policy->split || input_.policy->split->mode != Mode::kPerPodSet) return;
  std::vector<std::set<std::string>> flavors;
  for (const PodSetGroup& group : groups_) {
    std::set<std::string> needed = FlavorsOfPodSet(workload_, group.names.front());
    const auto same = std::find(flavors.begin(), flavors.end(), needed);
    if (same != flavors.end()) {
      parts_[static_cast<std::size_t>(same - flavors.begin())].push_back(group);
      continue;
    }
    flavors.push_back(std::move(needed));
    parts_.push_back({group});
  }
  if (parts_.size() <= 1) parts_.clear();
}

// Where parts have requests of their own, a request for other pods has none.
const CheckDecider::Part& CheckDecider::GroupsOf(const ProvisioningRequest& request) const {
  static const Part kNone;
  if (!Splits()) return groups_;
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&request](const Part& each) { return IsFor(request, each); });
  return part == parts_.end() ? kNone : *part;
}

// Chooses the newest request of each part. For a check that is Ready, chooses the requests that its
// updates name, whatever the policy says by now. False: the Workload has one request.
bool CheckDecider::ChooseParts(const std::vector<Runner>& candidates) {
  if (state_.state == api::CheckState::kReady) {
    const std::set<std::string> named = NamedRequests(state_.pod_set_updates);
    if (named.size() <= 1) return false;
    for (const Runner& each : candidates) {
      if (named.contains(each.request->meta.name)) runners_.push_back(each);
    }
  } else {
    if (!Splits()) return false;
    for (const Part& part : parts_) {
      const auto newest =
          std::find_if(candidates.rbegin(), candidates.rend(),
                       [&part](const Runner& each) { return IsFor(*each.request, part); });
      if (newest != candidates.rend()) runners_.push_back(*newest);
    }
  }
  if (!runners_.empty()) current_ = runners_.front().request;
  return true;
}

std::vector<const CheckDecider::Part*> CheckDecider::MissingParts() const {
  std::vector<const Part*> missing;
  for (const Part& part : parts_) {
    const bool asked = std::any_of(runners_.begin(), runners_.end(), [&part](const Runner& each) {
      return IsFor(*each.request, part);
    });
    if (!asked) missing.push_back(&part);
  }
  return missing;
}

void CheckDecider::AskForParts(Branch branch, const std::vector<const Part*>& parts) {
  for (const Part* part : parts) {
    branch.part = part;
    AskIn(branch);
    ++branch.attempt;
  }
}

void CheckDecider::FollowParts() {
  if (state_.state == api::CheckState::kReady) return FollowPartsInUse();
  const ProvisioningRequest* waiting = nullptr;
  std::optional<WallTime> first;
  std::size_t came = 0;
  for (const Runner& each : runners_) {
    if (const auto end = FailureOf(each)) {
      return Count(*each.request, end->reason, end->message, end->at);
    }
    const auto granted = GrantedAt(*each.request);
    if (granted) {
      ++came;
      first = std::min(first.value_or(*granted), *granted);
    } else if (waiting == nullptr) {
      waiting = each.request;
    }
  }
  // One was deleted, or the controller ended before it was made.
  if (const auto missing = MissingParts(); !missing.empty()) {
    return AskForParts({.step = plan_->current(),
                        .zone = ZoneOf(*current_),
                        .attempt = NextAttempt(situation_, input_, memory_)},
                       missing);
  }
  if (waiting == nullptr) return JoinParts();
  for (const Runner& each : runners_) {
    if (GrantedAt(*each.request)) continue;
    CreateTemplates(each.request->meta.name, ZoneOf(*each.request), each.request,
                    GroupsOf(*each.request));
  }
  if (first) return HoldParts(*first, came, *waiting);
  Wait(*waiting);
}

// The nodes that came are kept for a while: the others may follow.
void CheckDecider::HoldParts(WallTime first, std::size_t came, const ProvisioningRequest& waiting) {
  const WallTime end = first + std::chrono::seconds(input_.policy->split->hold_seconds);
  const std::string held =
      std::to_string(came) + " of " + std::to_string(parts_.size()) + " groups of pods have nodes";
  if (now_ >= end) {
    return Count(waiting, kGangPartialReason,
                 held + ", the others had none within " +
                     std::to_string(input_.policy->split->hold_seconds) + " s",
                 now_);
  }
  WakeIn(end - now_);
  Say(api::CheckState::kPending, held + " and keep them until " + FormatTime(end));
}

// Each pod set gets the updates of its own request, in the order of the Workload.
void CheckDecider::JoinParts() {
  std::vector<api::PodSetUpdate> updates;
  for (const Runner& each : runners_) {
    for (api::PodSetUpdate& update :
         PodSetUpdates(workload_, GroupsOf(*each.request), *each.request, config(), Updates())) {
      updates.push_back(std::move(update));
    }
  }
  bool settles = false;
  for (const Runner& each : runners_) settles = SettlesCharge(*each.request) || settles;
  if (settles) return;
  Say(api::CheckState::kReady, DecidingCondition(*current_)->message);
  state_.pod_set_updates.clear();
  for (const api::PodSet& pods : workload_.spec.pod_sets) {
    for (api::PodSetUpdate& update : updates) {
      if (update.name == pods.name) state_.pod_set_updates.push_back(std::move(update));
    }
  }
}

// The newest first: the end of capacity that all parts share is emitted once.
void CheckDecider::FollowPartsInUse() {
  for (auto each = runners_.rbegin(); each != runners_.rend(); ++each) {
    if (state_.state != api::CheckState::kReady) return;
    FollowRequest(*each->request);
  }
}

}  // namespace berth::provisioning
