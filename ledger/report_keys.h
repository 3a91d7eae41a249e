// ledger/report_keys.h — the lines of a report to which attempts and nodes belong, and their parts.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <string>

#include "ledger/accounts.h"
#include "ledger/records.h"

namespace berth::ledger {

// The length of [from, to] inside the period.
Seconds Inside(const Period& period, Seconds from, Seconds to);
// Whether the attempt was preempted or evicted.
bool IsLost(const AttemptRecord& attempt);
std::string KeyOf(const AttemptRecord& attempt, ReportBy by, const std::string& label);
// The key of a node whose Workload is not known.
std::string KeyOf(const NodeTimeRecord& node, ReportBy by);
// The price of so many seconds.
std::int64_t CostFor(std::int64_t hourly_nano, Seconds time);

}  // namespace berth::ledger
