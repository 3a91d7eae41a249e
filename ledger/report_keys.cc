#include "ledger/report_keys.h"

#include <algorithm>
#include <string_view>

#include "base/strings.h"

namespace berth::ledger {
namespace {

std::string LabelOf(const AttemptRecord& attempt, const std::string& key) {
  for (const std::string_view pair : Split(attempt.labels, ',')) {
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == key) {
      return std::string(pair.substr(equals + 1));
    }
  }
  return "";
}

}  // namespace

Seconds Inside(const Period& period, Seconds from, Seconds to) {
  return std::max<Seconds>(0, std::min(to, period.to) - std::max(from, period.from));
}

bool IsLost(const AttemptRecord& attempt) {
  return attempt.outcome == kPreempted || attempt.outcome == kEvicted;
}

std::string KeyOf(const AttemptRecord& attempt, ReportBy by, const std::string& label) {
  switch (by) {
    case ReportBy::kQueue: return attempt.namespace_name + "/" + attempt.local_queue;
    case ReportBy::kClusterQueue: return attempt.cluster_queue;
    case ReportBy::kNamespace: return attempt.namespace_name;
    case ReportBy::kPriority: return std::to_string(attempt.priority);
    case ReportBy::kLabel: return LabelOf(attempt, label);
    case ReportBy::kPreemptor: return attempt.preemptor;
    case ReportBy::kUser: return attempt.user;
    case ReportBy::kPool: return "";
    case ReportBy::kCause:
      return "end: " + (IsLost(attempt) ? attempt.outcome + " " + attempt.reason : attempt.outcome);
  }
  return "";
}

std::string KeyOf(const NodeTimeRecord& node, ReportBy by) {
  if (by == ReportBy::kQueue) return node.namespace_name + "/" + node.local_queue;
  if (by == ReportBy::kClusterQueue) return node.cluster_queue;
  return by == ReportBy::kNamespace ? node.namespace_name : "";
}

std::int64_t CostFor(std::int64_t hourly_nano, Seconds time) {
  return api::AddAmounts(api::MultiplyAmounts(hourly_nano, time / kHour),
                         api::MultiplyAmounts(hourly_nano, time % kHour) / kHour);
}

}  // namespace berth::ledger
