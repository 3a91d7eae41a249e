#include "api/queue_policy.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/go_duration.h"
#include "base/strings.h"

namespace berth::api {
namespace {

Error Refuse(const char* annotation, const std::string& value, const std::string& allowed) {
  return {ErrorCode::kInvalid,
          std::string(annotation) + ": \"" + value + "\" is not one of: " + allowed};
}

constexpr Duration kLongest = std::chrono::hours(24 * 3650);  // longer durations count as this one

// A duration, or "off" for 0.
Status ReadDuration(const StringMap& annotations, const char* annotation,
                    std::optional<Duration>& found) {
  const std::string* text = FindValue(annotations, annotation);
  if (text == nullptr) return OkStatus();
  found = *text == "off" ? Duration::zero() : ParseGoDuration(*text);
  if (found && *found >= Duration::zero()) {
    found = std::min(*found, kLongest);
    return OkStatus();
  }
  return Refuse(annotation, *text, "off, a duration such as 30m");
}

Status ReadVictimRules(const StringMap& annotations, QueuePolicy& policy) {
  if (const std::string* victims = FindValue(annotations, kVictimsAnnotation)) {
    if (*victims == "Newest") {
      policy.victims = VictimChoice::kNewest;
    } else if (*victims == "LeastWorkLost") {
      policy.victims = VictimChoice::kLeastWorkLost;
    } else {
      return Refuse(kVictimsAnnotation, *victims, "Newest, LeastWorkLost");
    }
  }
  BERTH_CHECK_OK(
      ReadDuration(annotations, kPreemptionPatienceAnnotation, policy.preemption_patience));
  BERTH_CHECK_OK(ReadDuration(annotations, kPreemptMinRunAnnotation, policy.preempt_min_run));
  BERTH_CHECK_OK(ReadDuration(annotations, kReclaimMinRunAnnotation, policy.reclaim_min_run));
  BERTH_CHECK_OK(ReadDuration(annotations, kTimeSliceAnnotation, policy.time_slice));
  return ReadDuration(annotations, kLeastCheckpointAnnotation, policy.least_checkpoint);
}

}  // namespace

QueuePolicy QueuePolicy::Within(const QueuePolicy& wider) const {
  QueuePolicy made = *this;
  if (!made.order) made.order = wider.order;
  if (!made.reserve_after) made.reserve_after = wider.reserve_after;
  if (!made.reserve_count) made.reserve_count = wider.reserve_count;
  if (!made.least_slack) made.least_slack = wider.least_slack;
  if (!made.victims) made.victims = wider.victims;
  if (!made.preemption_patience) made.preemption_patience = wider.preemption_patience;
  if (!made.preempt_min_run) made.preempt_min_run = wider.preempt_min_run;
  if (!made.reclaim_min_run) made.reclaim_min_run = wider.reclaim_min_run;
  if (!made.time_slice) made.time_slice = wider.time_slice;
  if (!made.least_checkpoint) made.least_checkpoint = wider.least_checkpoint;
  return made;
}

Result<QueuePolicy> ReadQueuePolicy(const StringMap& annotations) {
  QueuePolicy policy;
  if (const std::string* order = FindValue(annotations, kOrderAnnotation)) {
    if (*order == "Fifo") {
      policy.order = QueueOrder::kFifo;
    } else if (*order == "ShortestFirst") {
      policy.order = QueueOrder::kShortestFirst;
    } else if (*order == "FairByUser") {
      policy.order = QueueOrder::kFairByUser;
    } else {
      return Refuse(kOrderAnnotation, *order, "Fifo, ShortestFirst, FairByUser");
    }
  }
  if (const std::string* after = FindValue(annotations, kReserveAfterAnnotation)) {
    using Rule = ReserveAfter::Rule;
    const std::optional<Duration> time = ParseGoDuration(*after);
    if (*after == "off") {
      policy.reserve_after = ReserveAfter{};
    } else if (*after == "auto") {
      policy.reserve_after = ReserveAfter{.rule = Rule::kAuto};
    } else if (time) {
      policy.reserve_after = ReserveAfter{Rule::kTime, std::min(*time, kLongest)};
    } else {
      return Refuse(kReserveAfterAnnotation, *after, "off, auto, a duration such as 72h");
    }
  }
  if (const std::string* count = FindValue(annotations, kReserveCountAnnotation)) {
    const auto number = ParseInt64(*count);
    if (!number || *number < 1 || *number > kMostReserved) {
      return Refuse(kReserveCountAnnotation, *count, "1 to " + std::to_string(kMostReserved));
    }
    policy.reserve_count = static_cast<int>(*number);
  }
  BERTH_CHECK_OK(ReadDuration(annotations, kDeadlinesAnnotation, policy.least_slack));
  BERTH_CHECK_OK(ReadVictimRules(annotations, policy));
  return policy;
}

}  // namespace berth::api
