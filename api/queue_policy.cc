#include "api/queue_policy.h"

#include <string>

#include "base/go_duration.h"
#include "base/strings.h"

namespace berth::api {
namespace {

Error Refuse(const char* annotation, const std::string& value, const std::string& allowed) {
  return {ErrorCode::kInvalid,
          std::string(annotation) + ": \"" + value + "\" is not one of: " + allowed};
}

}  // namespace

QueuePolicy QueuePolicy::Within(const QueuePolicy& wider) const {
  QueuePolicy made = *this;
  if (!made.order) made.order = wider.order;
  if (!made.reserve_after) made.reserve_after = wider.reserve_after;
  if (!made.reserve_count) made.reserve_count = wider.reserve_count;
  return made;
}

Result<QueuePolicy> ReadQueuePolicy(const StringMap& annotations) {
  QueuePolicy policy;
  if (const std::string* order = FindValue(annotations, kOrderAnnotation)) {
    if (*order == "Fifo") {
      policy.order = QueueOrder::kFifo;
    } else if (*order == "ShortestFirst") {
      policy.order = QueueOrder::kShortestFirst;
    } else {
      return Refuse(kOrderAnnotation, *order, "Fifo, ShortestFirst");
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
      policy.reserve_after = ReserveAfter{Rule::kTime, *time};
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
  return policy;
}

}  // namespace berth::api
