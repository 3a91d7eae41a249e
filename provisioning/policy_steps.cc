#include "provisioning/policy_steps.h"

#include <algorithm>

#include "base/strings.h"
#include "provisioning/request_reasons.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningMemory;
using api::ProvisioningPolicy;
using api::ProvisioningStep;
using Next = ProvisioningMemory::Next;

constexpr std::size_t kMaxOutcomes = 8;
// The bytes of names, reasons and messages in the memory of one check. What else a step and an
// outcome take in the annotation is kStepBytes and kOutcomeBytes: all together stay below 4 KiB
// (dws.md 6.0).
constexpr std::size_t kMaxMemoryBytes = 3400;
constexpr std::size_t kStepBytes = 70;
constexpr std::size_t kOutcomeBytes = 64;
constexpr std::int32_t kMostRetries = 1'000'000;
constexpr std::size_t kMaxMessageBytes = 512;  // the annotation holds one for each check

// Failures that the same request meets again, however often a check repeats the request.
bool IsForGood(const std::string& reason) {
  const ReasonClass reason_class = Explain(reason).reason_class;
  return reason_class == ReasonClass::kConfig || reason_class == ReasonClass::kShape;
}

// Failures that end when a person acts: at the cloud's quota, at a configuration, at the job.
bool NeedsAPerson(const std::string& reason) {
  return IsForGood(reason) || Explain(reason).reason_class == ReasonClass::kQuota;
}

// Whether each zone of the step has had its turn: what ends one zone for good ends no other.
bool RoundIsOver(const ProvisioningStep& step, std::int32_t attempts) {
  return step.zones.size() <= 1 || static_cast<std::size_t>(attempts) % step.zones.size() == 0;
}

// The bytes of a text in JSON, at most.
std::size_t JsonBytes(const std::string& text) {
  const auto longer = std::count_if(text.begin(), text.end(), [](char each) {
    return each == '"' || each == '\\' || static_cast<unsigned char>(each) < 0x20;
  });
  constexpr std::size_t kEscape = 5;  // \u001f instead of one byte
  return text.size() + static_cast<std::size_t>(longer) * kEscape;
}

std::size_t BytesOf(const ProvisioningMemory& memory) {
  std::size_t bytes = JsonBytes(memory.message);
  for (const auto& [name, used] : memory.steps) bytes += JsonBytes(name) + kStepBytes;
  for (const auto& outcome : memory.outcomes) {
    bytes += JsonBytes(outcome.step) + JsonBytes(outcome.reason) + kOutcomeBytes;
  }
  return bytes;
}

// The newest outcome stays: the consequence of a failure refers to it.
void BoundMemory(ProvisioningMemory& memory) {
  memory.message = TruncateUtf8(memory.message, kMaxMessageBytes);
  while (memory.outcomes.size() > 1 && BytesOf(memory) > kMaxMemoryBytes) {
    memory.outcomes.erase(memory.outcomes.begin());
  }
  while (!memory.message.empty() && BytesOf(memory) > kMaxMemoryBytes) {
    memory.message = TruncateUtf8(memory.message, memory.message.size() / 2);
  }
}

}  // namespace

std::int64_t BackoffSeconds(const api::ProvisioningRequestConfig& config, std::int32_t failures) {
  std::int64_t delay = config.backoff_base_seconds;
  for (std::int32_t i = 0; i < failures && delay < config.backoff_max_seconds; ++i) delay *= 2;
  return std::min<std::int64_t>(delay, config.backoff_max_seconds);
}

const std::vector<ProvisioningStep>& StepsOf(const ProvisioningPolicy& policy) {
  static const std::vector<ProvisioningStep> kConfigAlone{{.name = "config"}};
  return policy.steps.empty() ? kConfigAlone : policy.steps;
}

api::ProvisioningRequestConfig WithStep(api::ProvisioningRequestConfig config,
                                        const ProvisioningStep& step) {
  if (!step.provisioning_class_name.empty()) {
    config.provisioning_class_name = step.provisioning_class_name;
  }
  for (const auto& [key, value] : step.parameters) config.parameters[key] = value;
  return config;
}

StepPlan::StepPlan(const ProvisioningPolicy& policy, const api::ProvisioningRequestConfig& config,
                   const ProvisioningMemory& memory, const std::vector<std::string>& flavors,
                   const Vetoes& vetoes, const std::string& asked)
    : policy_(policy),
      config_(config),
      memory_(memory),
      flavors_(flavors),
      vetoes_(vetoes),
      steps_(StepsOf(policy)),
      current_(Current(asked)),
      step_config_(current_ == nullptr ? config : WithStep(config, *current_)) {}

bool StepPlan::Fits(const ProvisioningStep& step) const {
  return step.flavor.empty() ||
         std::find(flavors_.begin(), flavors_.end(), step.flavor) != flavors_.end();
}

bool StepPlan::concerned() const {
  return std::any_of(steps_.begin(), steps_.end(), [this](const auto& step) { return Fits(step); });
}

std::int64_t StepPlan::MaxWait(const ProvisioningStep& step) const {
  return step.max_wait_seconds > 0 ? step.max_wait_seconds : policy_.max_wait_seconds;
}

std::int32_t StepPlan::MaxAttempts(const ProvisioningStep& step) const {
  if (step.max_attempts > 0) return step.max_attempts;
  const auto zones = static_cast<std::int32_t>(std::clamp<std::size_t>(step.zones.size(), 1, 16));
  return (std::clamp(config_.backoff_limit_count, 0, kMostRetries) + 1) * zones;
}

bool StepPlan::IsUsedUp(const ProvisioningStep& step) const {
  const auto found = memory_.steps.find(step.name);
  if (found == memory_.steps.end()) return false;
  const ProvisioningMemory::Step& used = found->second;
  const std::int64_t max_wait = MaxWait(step);
  return used.over || used.attempts >= MaxAttempts(step) ||
         (max_wait != 0 && used.waited_seconds >= max_wait);
}

// A veto in favor of a later step holds while that step is left. Steps that others are passed over
// for are under no such veto themselves.
const Veto* StepPlan::VetoOf(const ProvisioningStep& step) const {
  const auto veto = vetoes_.find(step.name);
  if (veto == vetoes_.end()) return nullptr;
  const std::string& better = veto->second.in_favor_of;
  if (better.empty()) return &veto->second;
  const bool left = std::any_of(steps_.begin(), steps_.end(), [&](const auto& each) {
    return each.name == better && !IsUsedUp(each) && !vetoes_.contains(each.name);
  });
  return left ? &veto->second : nullptr;
}

const ProvisioningStep* StepPlan::Find(const std::string& name) const {
  const auto found = std::find_if(steps_.begin(), steps_.end(), [&](const auto& step) {
    return step.name == name && Fits(step) && !IsUsedUp(step);
  });
  return found == steps_.end() ? nullptr : &*found;
}

std::vector<const ProvisioningStep*> StepPlan::Left() const {
  std::vector<const ProvisioningStep*> left;
  for (const ProvisioningStep& step : steps_) {
    if (Fits(step) && IsLeft(step)) left.push_back(&step);
  }
  return left;
}

std::int32_t StepPlan::AttemptsLeft(const ProvisioningStep& step) const {
  const auto used = memory_.steps.find(step.name);
  return MaxAttempts(step) - (used == memory_.steps.end() ? 0 : used->second.attempts);
}

const ProvisioningStep* StepPlan::Current(const std::string& asked) const {
  const ProvisioningStep* found = Find(asked);
  return found == nullptr ? FirstLeft(/*that_fits=*/true) : found;
}

const ProvisioningStep* StepPlan::FirstLeft(bool that_fits) const {
  const auto found = std::find_if(steps_.begin(), steps_.end(), [&](const auto& step) {
    return (!that_fits || Fits(step)) && IsLeft(step);
  });
  return found == steps_.end() ? nullptr : &*found;
}

std::optional<std::int64_t> StepPlan::SecondsLeft() const {
  const std::optional<std::int64_t> left = StepSecondsLeft();
  if (!left || current_->zones.size() <= 1) return left;
  const auto zones = static_cast<std::int64_t>(current_->zones.size());
  return std::min(*left, (MaxWait(*current_) + zones - 1) / zones);
}

std::optional<std::int64_t> StepPlan::StepSecondsLeft() const {
  const std::int64_t max_wait = current_ == nullptr ? 0 : MaxWait(*current_);
  if (max_wait == 0) return std::nullopt;
  const auto used = memory_.steps.find(current_->name);
  return max_wait - (used == memory_.steps.end() ? 0 : used->second.waited_seconds);
}

std::vector<std::string> StepPlan::FlavorsToAvoid() const {
  std::vector<std::string> flavors;
  const bool holds = policy_.when_exhausted == ProvisioningPolicy::WhenExhausted::kHold;
  if ((holds && !some_not_used_up()) || was_held()) return flavors;
  for (const ProvisioningStep& step : steps_) {
    const bool some_left = std::any_of(steps_.begin(), steps_.end(), [&](const auto& other) {
      return (other.flavor.empty() || other.flavor == step.flavor) && IsLeft(other);
    });
    if (!step.flavor.empty() && !some_left) flavors.push_back(step.flavor);
  }
  std::sort(flavors.begin(), flavors.end());
  flavors.erase(std::unique(flavors.begin(), flavors.end()), flavors.end());
  return flavors;
}

std::string StepPlan::PassedOver() const {
  std::vector<std::string> parts;
  for (const ProvisioningStep& step : steps_) {
    const Veto* veto = VetoOf(step);
    if (veto == nullptr || IsUsedUp(step)) continue;
    parts.push_back("step " + step.name + " (" + veto->reason + "): " + veto->message);
  }
  return Join(parts, "; ");
}

std::vector<std::string> StepPlan::VetoReasons() const {
  std::vector<std::string> reasons;
  for (const ProvisioningStep& step : steps_) {
    const Veto* veto = VetoOf(step);
    if (veto == nullptr || IsUsedUp(step)) continue;
    if (std::find(reasons.begin(), reasons.end(), veto->reason) == reasons.end()) {
      reasons.push_back(veto->reason);
    }
  }
  return reasons;
}

std::string StepPlan::GoingOn() const {
  const std::string over = PassedOver();
  return "Going on with step " + first_left()->name +
         (over.empty() ? "" : "; passed over: " + over);
}

bool StepPlan::never_fits() const {
  return std::all_of(steps_.begin(), steps_.end(), [this](const auto& step) {
    const auto veto = vetoes_.find(step.name);
    return veto != vetoes_.end() && veto->second.reason == kNeverFitsReason;
  });
}

std::optional<WallTime> StepPlan::FirstVetoEnd() const {
  std::optional<WallTime> first;
  for (const ProvisioningStep& step : steps_) {
    const Veto* veto = VetoOf(step);
    if (veto == nullptr || !veto->until || IsUsedUp(step)) continue;
    first = std::min(first.value_or(*veto->until), *veto->until);
  }
  return first;
}

bool StepPlan::passes_over_slow_steps() const {
  return std::any_of(steps_.begin(), steps_.end(), [this](const auto& step) {
    const Veto* veto = VetoOf(step);
    return veto != nullptr && !veto->in_favor_of.empty() && !IsUsedUp(step);
  });
}

bool StepPlan::waits_for_budget() const {
  return std::any_of(steps_.begin(), steps_.end(), [this](const auto& step) {
    const auto veto = vetoes_.find(step.name);
    return veto != vetoes_.end() && veto->second.reason == kBudgetReason && veto->second.until &&
           !IsUsedUp(step);
  });
}

bool StepPlan::was_held() const {
  return memory_.next == Next::kNothing && !memory_.steps.empty() && first_left() == nullptr;
}

bool StepPlan::some_not_used_up() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [this](const auto& step) { return !IsUsedUp(step); });
}

ProvisioningMemory StepPlan::Note(const FailedRequest& failed, std::int32_t retries) const {
  ProvisioningMemory memory = memory_;
  // A step that an edit of the policy took away counts for nothing.
  std::erase_if(memory.steps, [this](const auto& used) {
    return std::none_of(steps_.begin(), steps_.end(),
                        [&used](const auto& step) { return step.name == used.first; });
  });
  const std::string& step = StepThatAsked().name;
  memory.steps[step].waited_seconds += std::max<std::int64_t>(failed.waited_seconds, 0);
  memory.counted_attempt = failed.attempt;
  memory.passed_over = {};
  memory.counted_retries = retries;
  memory.outcomes.push_back({step, failed.reason, CutToSeconds(failed.at)});
  if (memory.outcomes.size() > kMaxOutcomes) memory.outcomes.erase(memory.outcomes.begin());
  return memory;
}

ProvisioningMemory StepPlan::Count(const FailedRequest& failed, std::int32_t retries,
                                   const Vetoes* then) const {
  ProvisioningMemory memory = Note(failed, retries);
  ProvisioningMemory::Step& used = memory.steps[StepThatAsked().name];
  ++used.attempts;
  used.over =
      used.over || (IsForGood(failed.reason) && RoundIsOver(StepThatAsked(), used.attempts));
  memory.asked_again = 0;
  Follow(failed, then == nullptr ? vetoes_ : *then, memory);
  BoundMemory(memory);
  return memory;
}

ProvisioningMemory StepPlan::AskAgain(const FailedRequest& lost, std::int32_t retries) const {
  ProvisioningMemory memory = Note(lost, retries);
  ++memory.asked_again;
  memory.next = Next::kAsk;
  memory.due = CutToSeconds(lost.at);
  memory.message = "Asking again in step " + StepThatAsked().name + ": " + lost.message;
  BoundMemory(memory);
  return memory;
}

const ProvisioningStep& StepPlan::StepThatAsked() const {
  if (current_ != nullptr) return *current_;
  return *std::find_if(steps_.begin(), steps_.end(),
                       [this](const auto& step) { return Fits(step); });
}

void StepPlan::Follow(const FailedRequest& failed, const Vetoes& then,
                      ProvisioningMemory& memory) const {
  const StepPlan after(policy_, config_, memory, flavors_, then);
  const ProvisioningStep* same_flavor = after.current();
  const ProvisioningStep* any = after.first_left();
  const std::string& asked = StepThatAsked().name;
  const std::string why = "step " + asked + ": " + failed.message;
  memory.due = CutToSeconds(failed.at);
  const auto rests_until = after.FirstVetoEnd();
  if (any == nullptr && rests_until) {
    memory.next = Next::kRetry;
    // An operator may raise the budget before the next day. The workload therefore waits for the
    // budget to change, not until a fixed time, and skips these flavors meanwhile.
    if (!after.waits_for_budget()) memory.due = std::max(memory.due, CutToSeconds(*rests_until));
    memory.message =
        "No step may request capacity after " + why + "; passed over: " + after.PassedOver();
    return;
  }
  if (any == nullptr) {
    using When = ProvisioningPolicy::WhenExhausted;
    const bool reject = policy_.when_exhausted == When::kReject ||
                        (policy_.reject_human_causes && NeedsAPerson(failed.reason));
    const bool hold = !reject && policy_.when_exhausted == When::kHold;
    memory.next = reject ? Next::kReject : hold ? Next::kNothing : Next::kRetry;
    memory.message = "No step is left after " + why;
    if (const std::string over = after.PassedOver(); !over.empty()) {
      memory.message += "; passed over: " + over;
    }
    if (hold) return;      // an edit of the policy leaves a step again
    memory.steps.clear();  // a Workload that comes back begins with the first step
    if (reject) return;
    memory.due += std::chrono::seconds(policy_.cycle_after_seconds);
    const StepPlan anew(policy_, config_, memory, flavors_, then);
    const auto end = anew.first_left() == nullptr ? anew.FirstVetoEnd() : std::nullopt;
    if (end && !anew.waits_for_budget()) memory.due = std::max(memory.due, CutToSeconds(*end));
    return;
  }
  if (same_flavor == nullptr) {
    memory.next = Next::kRetry;
    memory.message = "Going on with step " + any->name + " after " + why;
    return;
  }
  if (same_flavor->name != asked && !failed.revoked) {
    memory.next = Next::kAsk;
    memory.message = "Going on with step " + same_flavor->name + " after " + why;
    return;
  }
  memory.next = Next::kRetry;
  memory.message = "Retrying after " + why;
  if (failed.revoked) return;
  if (!RoundIsOver(*same_flavor, memory.steps[asked].attempts)) {
    memory.next = Next::kAsk;
    memory.message = "Going on in another zone after " + why;
    return;
  }
  const std::int32_t failures = memory.steps[asked].attempts;
  memory.due += std::chrono::seconds(BackoffSeconds(config_, failures - 1));
}

}  // namespace berth::provisioning
