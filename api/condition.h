// api/condition.h — metav1.Condition and the rules for setting one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace berth::api {

enum class ConditionStatus : std::uint8_t { kTrue, kFalse, kUnknown };

struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;
  std::string message;
  WallTime last_transition_time{};
  std::int64_t observed_generation = 0;
  friend bool operator==(const Condition&, const Condition&) = default;
};

inline constexpr std::size_t kMaxConditionMessageBytes = 32768;

// The condition of `type`, or null.
const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type);
bool IsTrue(const std::vector<Condition>& conditions, std::string_view type);
bool IsFalse(const std::vector<Condition>& conditions, std::string_view type);

// Adds or replaces the condition of `condition.type`; the message is cut to the API's limit. A
// condition whose status does not change keeps its transition time. Returns whether any field but
// observed_generation changed.
bool SetCondition(std::vector<Condition>& conditions, Condition condition);

}  // namespace berth::api
