// cli/ledger_workload.h — the jobs of a ledger as a workload for `berth simulate`.
//
// Threads: pure functions, but for ReadLedgerWorkload. Errors: as LedgerReader's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ledger/records.h"
#include "simulation/trace.h"

namespace berth::cli {

// Whether the text is a database of SQLite.
bool IsLedger(std::string_view text);
// A Workload becomes a job: submitted when it was created, it runs as long as its last attempt that
// ended by itself. Workloads without such an attempt are skipped and counted.
simulation::Trace TraceOfAttempts(const std::vector<ledger::AttemptRecord>& attempts);
Result<simulation::Trace> ReadLedgerWorkload(const std::string& path);

}  // namespace berth::cli
