#include "api/condition.h"

#include <algorithm>

#include "base/strings.h"

namespace berth::api {

const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type) {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Condition& c) { return c.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

bool IsTrue(const std::vector<Condition>& conditions, std::string_view type) {
  const Condition* condition = FindCondition(conditions, type);
  return condition != nullptr && condition->status == ConditionStatus::kTrue;
}

bool IsFalse(const std::vector<Condition>& conditions, std::string_view type) {
  const Condition* condition = FindCondition(conditions, type);
  return condition != nullptr && condition->status == ConditionStatus::kFalse;
}

bool SetCondition(std::vector<Condition>& conditions, Condition condition) {
  if (condition.message.size() > kMaxConditionMessageBytes) {
    condition.message.resize(TruncateUtf8(condition.message, kMaxConditionMessageBytes).size());
  }
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Condition& c) { return c.type == condition.type; });
  if (found == conditions.end()) {
    conditions.push_back(std::move(condition));
    return true;
  }
  if (found->status == condition.status) {
    condition.last_transition_time = found->last_transition_time;
  }
  const bool changed = found->status != condition.status || found->reason != condition.reason ||
                       found->message != condition.message;
  *found = std::move(condition);
  return changed;
}

}  // namespace berth::api
