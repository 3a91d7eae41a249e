#include "provisioning/ways/ask.h"

#include <algorithm>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "provisioning/asked_requests.h"
#include "provisioning/request_names.h"
#include "provisioning/ways/budget.h"
#include "provisioning/ways/expiry.h"
#include "provisioning/ways/request_parts.h"
#include "provisioning/zones.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

// Queued provisioning drops a request after this many seconds, also while Berth is away.
constexpr char kValidUntil[] = "ValidUntilSeconds";
constexpr std::int64_t kValidityMargin = 60;

bool HonoursValidity(const std::string& provisioning_class) {
  return provisioning_class == api::kQueuedProvisioningClass;
}

api::OwnerReference OwnerFor(const ProvisioningRequest& request) {
  return {.api_version = "autoscaling.x-k8s.io/v1",
          .kind = "ProvisioningRequest",
          .name = request.meta.name,
          .uid = request.meta.uid,
          .controller = true,
          .block_owner_deletion = true};
}

api::ObjectMeta MetaOf(const CheckSituation& check, const Branch& branch) {
  api::ObjectMeta meta;
  meta.namespace_name = check.workload.meta.namespace_name;
  meta.name = RequestName(check.workload.meta.name, check.input.name, branch.attempt);
  meta.labels = {{api::kManagedLabel, "true"}};
  api::StringMap& annotations = meta.annotations;
  if (branch.step != nullptr) annotations[api::kProvisioningStepAnnotation] = branch.step->name;
  if (!branch.zone.empty()) annotations[api::kProvisioningZoneAnnotation] = branch.zone;
  if (!check.first.empty()) {
    annotations[api::kDividedAnnotation] = std::to_string(check.groups.front().count);
  }
  if (branch.race != 0) annotations[api::kRaceAnnotation] = std::to_string(branch.race);
  meta.owner_references = {{.api_version = "kueue.x-k8s.io/v1beta2",
                            .kind = "Workload",
                            .name = check.workload.meta.name,
                            .uid = check.workload.meta.uid,
                            .controller = true,
                            .block_owner_deletion = true}};
  return meta;
}

// A step without zones may let the cloud look in all its zones at once.
bool SearchesZones(const CheckSituation& check, const Branch& branch,
                   const std::string& provisioning_class) {
  if (branch.step == nullptr) return false;
  const bool selects =
      std::any_of(check.groups.begin(), check.groups.end(), [](const PodSetGroup& group) {
        return group.pod_template.spec.node_selector.count(api::kZoneLabel) != 0;
      });
  return RacesInTheCloud(*branch.step, provisioning_class, selects, check.AboutSteps());
}

// How long the request may wait; nullopt: without limit. Requests of a race share no time.
std::optional<std::int64_t> SecondsFor(const CheckSituation& check, const Branch& branch) {
  if (branch.step == nullptr) return std::nullopt;
  if (branch.race == 0) return check.plan->SecondsLeft();
  const StepPlan plan(*check.input.policy, *check.input.config, check.memory, check.flavors,
                      check.vetoes, branch.step->name);
  std::optional<std::int64_t> left = plan.StepSecondsLeft();
  for (const Runner& each : check.runners) {
    const bool same = left && check.StepOf(*each.request) == branch.step;
    const WallTime begin = each.request->meta.creation_timestamp;
    if (same) left = std::min(*left, *plan.StepSecondsLeft() - SecondsBetween(begin, check.now));
  }
  return left ? std::optional(std::max<std::int64_t>(*left, 1)) : left;
}

// A parameter of the config or of the step has precedence over what the policy derives, and one of
// the Workload over all.
api::StringMap ParametersOf(const CheckSituation& check, const Branch& branch,
                            const api::ProvisioningRequestConfig& config) {
  const std::string& provisioning_class = config.provisioning_class_name;
  api::StringMap parameters = config.parameters;
  if (const auto run = RunToAskFor(check, provisioning_class)) {
    parameters.emplace(kMaxRunParameter, std::to_string(*run));
  }
  if (SearchesZones(check, branch, provisioning_class)) {
    parameters.emplace(kSearchStrategyParameter, kObtainability);
  }
  const auto left = SecondsFor(check, branch);
  if (left && HonoursValidity(provisioning_class)) {
    parameters.emplace(kValidUntil, std::to_string(*left + kValidityMargin));
  }
  const std::string_view prefix = api::kProvisioningParameterPrefix;
  for (const auto& [key, value] : check.workload.meta.annotations) {
    if (key.compare(0, prefix.size(), prefix) == 0) parameters[key.substr(prefix.size())] = value;
  }
  return parameters;
}

// Whether the request is the first of those that the check makes for one start of the Workload.
bool IsFirst(const CheckSituation& check, const Branch& branch) {
  return branch.part == nullptr || branch.part == &check.first ||
         (check.Splits() && branch.part == &check.parts.front());
}

}  // namespace

void Ask(const CheckSituation& check, Move& move) {
  // The step is that of an obsolete request: its veto takes effect once the request is gone.
  if (check.plan && check.VetoOf(*check.plan->current()) != nullptr) return;
  Branch branch{.attempt = check.NextAttempt()};
  if (check.plan) {
    branch.step = check.plan->current();
    branch.zone = NextZone(*branch.step, check.AboutSteps(), check.FailedAttempts(*branch.step));
  }
  if (check.Races() && !check.Splits() && check.first.empty()) branch.race = branch.attempt;
  if (auto wait = WaitForRoom(check, branch)) {
    move.Say(api::CheckState::kPending, "Waiting for one of " + std::to_string(wait->limit) +
                                            " open requests of class " +
                                            wait->lane.provisioning_class + " and flavor " +
                                            wait->lane.flavors + " (maxInFlight of the policy)");
    move.waits = std::move(wait);
    return;
  }
  if (move.Book(ChargesBefore(check, branch.step, branch.attempt))) return;
  if (check.Splits()) {
    AskForParts(check, std::move(branch), MissingParts(check), move);
  } else {
    if (!check.first.empty()) branch.part = &check.first;
    AskIn(check, branch, move);
  }
  if (move.state.state != api::CheckState::kPending) move.Say(api::CheckState::kPending, "");
}

void AskIn(const CheckSituation& check, const Branch& branch, Move& move) {
  const api::ProvisioningRequestConfig config =
      branch.step == nullptr ? *check.input.config : WithStep(*check.input.config, *branch.step);
  ProvisioningRequest request;
  request.meta = MetaOf(check, branch);
  request.provisioning_class_name = config.provisioning_class_name;
  request.parameters = ParametersOf(check, branch, config);
  const Part& groups = branch.part == nullptr ? check.groups : *branch.part;
  for (const PodSetGroup& group : groups) {
    request.pod_sets.push_back({TemplateName(request.meta.name, group.names.front()), group.count});
  }
  if (IsFirst(check, branch)) move.AddIfAny(BudgetWarning(check, branch.step));
  CreateTemplates(check, request.meta.name, branch.zone, nullptr, groups, move);
  const std::string name = request.meta.name;
  move.Add(CreateRequest{std::move(request), check.input.name, branch.attempt});
  move.Add(
      CheckEvent{"ProvisioningRequestCreated", "Created ProvisioningRequest: \"" + name + "\""});
}

void AskForParts(const CheckSituation& check, Branch branch, const std::vector<const Part*>& parts,
                 Move& move) {
  for (const Part* part : parts) {
    branch.part = part;
    AskIn(check, branch, move);
    ++branch.attempt;
  }
}

std::optional<FlowWait> WaitForRoom(const CheckSituation& check, const Branch& branch) {
  const Flow* flow = check.situation.flow;
  if (flow == nullptr || branch.step == nullptr) return std::nullopt;
  FlowWait wait{.lane = LaneOf(WithStep(*check.input.config, *branch.step).provisioning_class_name,
                               check.flavors),
                .limit = check.input.policy->max_in_flight};
  if (flow->MayAsk(wait, FlowPlaceOf(check.workload))) return std::nullopt;
  return wait;
}

void CreateTemplates(const CheckSituation& check, const std::string& request_name,
                     const std::string& zone, const ProvisioningRequest* owner, const Part& groups,
                     Move& move) {
  const std::vector<TemplateSeen>& known = check.situation.templates;
  for (const PodSetGroup& group : groups) {
    const std::string name = TemplateName(request_name, group.names.front());
    const auto seen = std::find_if(known.begin(), known.end(),
                                   [&name](const TemplateSeen& each) { return each.name == name; });
    if (owner == nullptr || seen == known.end()) {
      std::optional<api::OwnerReference> reference;
      if (owner != nullptr) reference = OwnerFor(*owner);
      api::PodTemplate pods = group.pod_template;
      if (!zone.empty()) pods.spec.node_selector[api::kZoneLabel] = zone;
      move.Add(CreateTemplate{name, request_name, std::move(pods), std::move(reference)});
    } else if (seen->controller_uid != owner->meta.uid) {
      move.Add(OwnTemplate{name, OwnerFor(*owner)});
    }
  }
}

void CompleteTemplates(const CheckSituation& check, const ProvisioningRequest& request,
                       const Part& groups, Move& move) {
  CreateTemplates(check, request.meta.name, ZoneOf(request), &request, groups, move);
}

}  // namespace berth::provisioning
