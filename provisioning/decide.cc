#include "provisioning/decide.h"

#include <algorithm>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "provisioning/names.h"
#include "provisioning/reasons.h"
#include "provisioning/request_state.h"

namespace berth::provisioning {
namespace {

using api::AdmissionCheckState;
using api::CheckState;
using api::ProvisioningRequest;

constexpr std::size_t kMaxEventBytes = 1024;
// Retries without counting for failures that Berth or the autoscaler caused.
constexpr std::int32_t kMaxUncounted = 3;

std::string_view StateName(CheckState state) {
  switch (state) {
    case CheckState::kPending: return "Pending";
    case CheckState::kReady: return "Ready";
    case CheckState::kRetry: return "Retry";
    case CheckState::kRejected: return "Rejected";
  }
  return "";
}

api::OwnerReference OwnerFor(const ProvisioningRequest& request) {
  return {.api_version = "autoscaling.x-k8s.io/v1",
          .kind = "ProvisioningRequest",
          .name = request.meta.name,
          .uid = request.meta.uid,
          .controller = true,
          .block_owner_deletion = true};
}

// base·2^failures, at most max.
std::int64_t BackoffSeconds(const api::ProvisioningRequestConfig& config, std::int32_t failures) {
  std::int64_t delay = config.backoff_base_seconds;
  for (std::int32_t i = 0; i < failures && delay < config.backoff_max_seconds; ++i) delay *= 2;
  return std::min<std::int64_t>(delay, config.backoff_max_seconds);
}

// Decides for one check.
class CheckDecider {
 public:
  CheckDecider(const Situation& situation, const CheckInput& input,
               const AdmissionCheckState& before, const DecideOptions& options, WallTime now,
               Decision& out)
      : workload_(*situation.workload),
        situation_(situation),
        input_(input),
        before_(before),
        state_(before),
        options_(options),
        now_(now),
        out_(out) {}

  void Run() {
    FollowConfig();
    Record();
  }

 private:
  bool admitted() const { return api::IsTrue(workload_.status.conditions, api::kAdmitted); }
  std::int32_t failures() const { return state_.retry_count.value_or(0); }
  void Add(Action action) { out_.actions.push_back(std::move(action)); }
  void Say(CheckState state, const std::string& message) {
    state_.state = state;
    state_.message = message;
  }

  void FollowConfig();
  void FindRequests();
  bool InSync(const ProvisioningRequest& request) const;
  bool IsOld(const ProvisioningRequest& request, std::int32_t attempt) const;
  void Ask();
  void CreateTemplates(const std::string& request_name, const ProvisioningRequest* owner);
  void FollowRequest(const ProvisioningRequest& request);
  void Failure(const ProvisioningRequest& request, const char* prefix);
  void Advise(const std::string& reason);
  void Wait(const ProvisioningRequest& request);
  void Record();

  const api::Workload& workload_;
  const Situation& situation_;
  const CheckInput& input_;
  const AdmissionCheckState& before_;
  AdmissionCheckState state_;
  const DecideOptions& options_;
  const WallTime now_;
  Decision& out_;
  std::vector<PodSetGroup> groups_;
  const ProvisioningRequest* current_ = nullptr;
  std::int32_t highest_attempt_ = 0;
};

void CheckDecider::FollowConfig() {
  if (input_.config == nullptr) {
    if (!(admitted() && before_.state == CheckState::kReady)) {
      Say(CheckState::kPending, "the check is not active");
    }
    return;
  }
  const FlavorsByName none;
  groups_ = RequiredPodSets(workload_, *input_.config,
                            situation_.flavors != nullptr ? *situation_.flavors : none);
  FindRequests();
  if (groups_.empty()) {
    if (state_.state != CheckState::kReady) {
      Say(CheckState::kReady, "the provisioning request is not needed");
      state_.pod_set_updates.clear();
    }
    return;
  }
  // The lifecycle acts on Retry and Rejected: the Workload is about to lose its quota.
  if (state_.state == CheckState::kRetry || state_.state == CheckState::kRejected) return;
  if (current_ != nullptr) {
    FollowRequest(*current_);
  } else if (state_.state != CheckState::kReady) {
    Ask();
  }
}

// The request with the highest attempt is current, if it still matches the config. The others are
// obsolete.
void CheckDecider::FindRequests() {
  highest_attempt_ = input_.last_attempt;
  std::int32_t best = 0;
  std::vector<const ProvisioningRequest*> ours;
  for (const ProvisioningRequest& request : situation_.requests) {
    const auto attempt = AttemptOf(request.meta.name, workload_.meta.name, input_.name);
    if (!attempt) continue;
    highest_attempt_ = std::max(highest_attempt_, *attempt);
    ours.push_back(&request);
    const bool settled = state_.state != CheckState::kPending;  // a settled check keeps its request
    if (request.meta.deletion_timestamp || *attempt <= best || groups_.empty() ||
        !(settled || (InSync(request) && !IsOld(request, *attempt)))) {
      continue;
    }
    best = *attempt;
    current_ = &request;
  }
  for (const ProvisioningRequest* request : ours) {
    if (request != current_ && !request->meta.deletion_timestamp) {
      Add(DeleteRequest{request->meta.name});
    }
  }
}

bool CheckDecider::InSync(const ProvisioningRequest& request) const {
  const api::ProvisioningRequestConfig& config = *input_.config;
  if (request.provisioning_class_name != config.provisioning_class_name) return false;
  for (const auto& [key, value] : config.parameters) {
    // A parameter of the Workload overrides the config's.
    if (workload_.meta.annotations.count(api::kProvisioningParameterPrefix + key) != 0) continue;
    const std::string* have = api::FindValue(request.parameters, key);
    if (have == nullptr || *have != value) return false;
  }
  if (request.pod_sets.size() != groups_.size()) return false;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (request.pod_sets[i].count != groups_[i].count ||
        request.pod_sets[i].pod_template_name !=
            TemplateName(request.meta.name, groups_[i].names.front())) {
      return false;
    }
  }
  return true;
}

// Whether the request belongs to a failure that is counted already: it existed before the check was
// reset, and is not deleted yet.
bool CheckDecider::IsOld(const ProvisioningRequest& request, std::int32_t attempt) const {
  if (failures() == 0) return false;
  if (attempt <= failures()) return true;
  const RequestState state = StateOf(request);
  const bool failed = state == RequestState::kFailed || state == RequestState::kBookingExpired;
  return failed && request.meta.creation_timestamp < before_.last_transition_time;
}

void CheckDecider::Ask() {
  const std::int32_t attempt = std::max(highest_attempt_, failures()) + 1;
  ProvisioningRequest request;
  request.meta.namespace_name = workload_.meta.namespace_name;
  request.meta.name = RequestName(workload_.meta.name, input_.name, attempt);
  request.meta.labels = {{api::kManagedLabel, "true"}};
  request.meta.owner_references = {{.api_version = "kueue.x-k8s.io/v1beta2",
                                    .kind = "Workload",
                                    .name = workload_.meta.name,
                                    .uid = workload_.meta.uid,
                                    .controller = true,
                                    .block_owner_deletion = true}};
  request.provisioning_class_name = input_.config->provisioning_class_name;
  request.parameters = input_.config->parameters;
  const std::string_view prefix = api::kProvisioningParameterPrefix;
  for (const auto& [key, value] : workload_.meta.annotations) {
    if (key.compare(0, prefix.size(), prefix) == 0) {
      request.parameters[key.substr(prefix.size())] = value;
    }
  }
  for (const PodSetGroup& group : groups_) {
    request.pod_sets.push_back({TemplateName(request.meta.name, group.names.front()), group.count});
  }
  // Templates first: an autoscaler fails a request with missing templates for good.
  CreateTemplates(request.meta.name, nullptr);
  const std::string name = request.meta.name;
  Add(CreateRequest{std::move(request), input_.name, attempt});
  Add(CheckEvent{"ProvisioningRequestCreated", "Created ProvisioningRequest: \"" + name + "\""});
  if (state_.state != CheckState::kPending) Say(CheckState::kPending, "");
}

// Creates missing templates, and moves those that the Workload owns to the request.
void CheckDecider::CreateTemplates(const std::string& request_name,
                                   const ProvisioningRequest* owner) {
  for (const PodSetGroup& group : groups_) {
    const std::string name = TemplateName(request_name, group.names.front());
    const auto seen = std::find_if(situation_.templates.begin(), situation_.templates.end(),
                                   [&name](const TemplateSeen& each) { return each.name == name; });
    if (seen == situation_.templates.end()) {
      std::optional<api::OwnerReference> reference;
      if (owner != nullptr) reference = OwnerFor(*owner);
      Add(CreateTemplate{name, group.pod_template, std::move(reference)});
    } else if (owner != nullptr && seen->controller_uid != owner->meta.uid) {
      Add(OwnTemplate{name, OwnerFor(*owner)});
    }
  }
}

void CheckDecider::FollowRequest(const ProvisioningRequest& request) {
  const RequestState state = StateOf(request);
  const api::Condition* why = DecidingCondition(request);
  switch (state) {
    case RequestState::kFailed: return Failure(request, "Retrying after failure: ");
    case RequestState::kCapacityRevoked:
      if (workload_.spec.active) Say(CheckState::kRejected, why->message);
      return;
    case RequestState::kBookingExpired:
      // The regular end of a booking that is in use.
      if (!admitted()) Failure(request, "Retrying after booking expired: ");
      return;
    case RequestState::kProvisioned:
      if (state_.state == CheckState::kReady) return;
      Say(CheckState::kReady, why->message);
      state_.pod_set_updates =
          PodSetUpdates(workload_, groups_, request, *input_.config, options_.updates);
      return;
    default: break;
  }
  if (state_.state == CheckState::kReady) return;
  CreateTemplates(request.meta.name, &request);
  Wait(request);
}

void CheckDecider::Failure(const ProvisioningRequest& request, const char* prefix) {
  const api::Condition& why = *DecidingCondition(request);
  const bool templates_missing =
      why.reason == "FailedToCreatePods" || why.reason == "MissingPodTemplates";
  const auto attempt = AttemptOf(request.meta.name, workload_.meta.name, input_.name);
  if (templates_missing && !admitted() && *attempt <= failures() + kMaxUncounted) {
    Add(DeleteRequest{request.meta.name});
    return Ask();
  }
  Advise(why.reason);
  if (failures() >= input_.config->backoff_limit_count)
    return Say(CheckState::kRejected, why.message);
  const std::int64_t delay = BackoffSeconds(*input_.config, failures());
  const auto passed =
      std::chrono::duration_cast<std::chrono::seconds>(now_ - why.last_transition_time).count();
  state_.requeue_after_seconds =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(delay - passed, 0, delay));
  Say(CheckState::kRetry, prefix + why.message);
}

// Adds the role that can act and the remedy: the cloud's message names the problem only.
void CheckDecider::Advise(const std::string& reason) {
  const ReasonInfo& info = Explain(reason);
  if (info.reason_class == ReasonClass::kProgress) return;
  Add(CheckEvent{"CapacityAdvice", input_.name + ": " + reason + " (" +
                                       std::string(ReasonClassName(info.reason_class)) +
                                       "): " + std::string(info.remedy)});
}

void CheckDecider::Wait(const ProvisioningRequest& request) {
  const api::Condition* why = DecidingCondition(request);
  if (why != nullptr) {
    // The reason that the cloud gives for the wait; "not accepted yet" carries no information.
    const bool telling =
        why->type == kProvisionedCondition ||
        (why->status == api::ConditionStatus::kFalse && why->reason != "NotAccepted");
    return Say(CheckState::kPending, telling ? why->message : "");
  }
  const Duration silent = now_ - request.meta.creation_timestamp;
  if (silent >= options_.answer_timeout) {
    return Say(CheckState::kPending,
               "no controller has answered for class \"" + request.provisioning_class_name + "\"");
  }
  const Duration wake = options_.answer_timeout - std::max(silent, Duration::zero());
  if (!out_.next_wake || wake < *out_.next_wake) out_.next_wake = wake;
  Say(CheckState::kPending, "");
}

void CheckDecider::Record() {
  // Left by an earlier reservation.
  if (state_.state != CheckState::kRetry) state_.requeue_after_seconds.reset();
  if (state_.state != CheckState::kReady) state_.pod_set_updates.clear();
  if (state_ == before_) return;
  if (state_.state != before_.state) {
    state_.last_transition_time = CutToSeconds(now_);
    std::string message = "Admission check " + state_.name + " updated state from " +
                          std::string(StateName(before_.state)) + " to " +
                          std::string(StateName(state_.state));
    if (!state_.message.empty()) message += " with message: " + state_.message;
    Add(CheckEvent{"AdmissionCheckUpdated", std::string(TruncateUtf8(message, kMaxEventBytes))});
  }
  out_.checks.push_back(state_);
}

// Deletes everything that asks for capacity.
Decision CleanUp(const Situation& situation) {
  Decision decision;
  for (const ProvisioningRequest& request : situation.requests) {
    if (!request.meta.deletion_timestamp) {
      decision.actions.emplace_back(DeleteRequest{request.meta.name});
    }
  }
  for (const TemplateSeen& each : situation.templates) {
    decision.actions.emplace_back(DeleteTemplate{each.name});
  }
  return decision;
}

bool NeedsCapacity(const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  return !workload.meta.deletion_timestamp && workload.spec.active &&
         workload.status.admission.has_value() && api::IsTrue(conditions, api::kQuotaReserved) &&
         !api::IsTrue(conditions, api::kFinished) && !api::IsTrue(conditions, api::kEvicted);
}

}  // namespace

Decision Decide(const Situation& situation, const DecideOptions& options, WallTime now) {
  if (!NeedsCapacity(*situation.workload)) return CleanUp(situation);
  Decision decision;
  for (const CheckInput& input : situation.checks) {
    const auto& states = situation.workload->status.admission_checks;
    const auto before =
        std::find_if(states.begin(), states.end(),
                     [&input](const AdmissionCheckState& each) { return each.name == input.name; });
    if (before == states.end()) continue;
    CheckDecider(situation, input, *before, options, now, decision).Run();
  }
  return decision;
}

}  // namespace berth::provisioning
