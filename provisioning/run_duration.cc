#include "provisioning/run_duration.h"

#include <algorithm>

#include "api/labels.h"
#include "base/seconds.h"
#include "base/strings.h"
#include "provisioning/request_state.h"

namespace berth::provisioning {
namespace {

constexpr std::int64_t kBootSeconds = 600;
constexpr std::int64_t kRounding = 300;
constexpr std::int64_t kLongestRun = 365LL * 24 * 3600;  // keeps the arithmetic within int64

}  // namespace

std::optional<std::int64_t> ExpectedRun(const api::Workload& workload,
                                        std::optional<std::int64_t> job_deadline) {
  if (workload.spec.maximum_execution_time_seconds.value_or(0) > 0) {
    return *workload.spec.maximum_execution_time_seconds;
  }
  if (job_deadline.value_or(0) > 0) return job_deadline;
  return std::nullopt;
}

std::optional<std::int64_t> RunLimit(const api::ProvisioningPolicy* policy,
                                     const api::Workload& workload,
                                     std::optional<std::int64_t> job_deadline,
                                     std::optional<std::int64_t> past_run) {
  if (job_deadline.value_or(0) > 0) return job_deadline;
  using Source = api::ProvisioningRunDuration::Source;
  const bool asks = policy != nullptr && policy->run_duration &&
                    policy->run_duration->source == Source::kHistory &&
                    !RunParameter(workload, api::ProvisioningRequestConfig());
  return asks ? past_run : std::nullopt;
}

std::string ImagesOf(const api::Workload& workload) {
  std::string images;
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    const auto& containers = pods.pod_template.spec.containers;
    if (!containers.empty() && !containers.front().image.empty()) {
      images += containers.front().image + ",";
    }
  }
  return images;
}

std::optional<std::int64_t> RunParameter(const api::Workload& workload,
                                         const api::ProvisioningRequestConfig& config) {
  const std::string* text = api::FindValue(
      workload.meta.annotations, std::string(api::kProvisioningParameterPrefix) + kMaxRunParameter);
  if (text == nullptr) text = api::FindValue(config.parameters, kMaxRunParameter);
  const std::int64_t seconds = text == nullptr ? 0 : ParseInt64(*text).value_or(0);
  if (seconds <= 0) return std::nullopt;
  return seconds;
}

std::int64_t AskedRun(const api::ProvisioningPolicy::RunDuration& rule, std::int64_t expected) {
  const std::int64_t run = std::clamp<std::int64_t>(expected, 0, kLongestRun);
  const std::int64_t whole = (run * (100 + rule.margin_percent) + 99) / 100 + kBootSeconds;
  const std::int64_t bounded = std::max(std::min(whole, rule.max_seconds), rule.min_seconds);
  const std::int64_t rounded = (bounded + kRounding - 1) / kRounding * kRounding;
  return rounded > rule.max_seconds ? bounded : rounded;
}

std::optional<WallTime> ExpiryOf(const api::ProvisioningRequest& request) {
  const api::Condition* came = api::FindCondition(request.conditions, kProvisionedCondition);
  const std::string* text = api::FindValue(request.parameters, kMaxRunParameter);
  const std::int64_t seconds = text == nullptr ? 0 : ParseInt64(*text).value_or(0);
  if (came == nullptr || came->status != api::ConditionStatus::kTrue) return std::nullopt;
  if (seconds <= 0) return std::nullopt;
  return came->last_transition_time + BoundedSeconds(seconds);
}

}  // namespace berth::provisioning
