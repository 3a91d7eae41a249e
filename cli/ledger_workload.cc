#include "cli/ledger_workload.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "ledger/ledger_reader.h"

namespace berth::cli {

using simulation::Trace;
using simulation::TraceJob;

namespace {

// nullopt: none was declared, or more than a Workload can declare.
std::optional<std::int32_t> WalltimeOf(std::optional<ledger::Seconds> declared) {
  if (!declared || *declared < 1 || *declared > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*declared);
}

}  // namespace

bool IsLedger(std::string_view text) { return text.substr(0, 15) == "SQLite format 3"; }

Trace TraceOfAttempts(const std::vector<ledger::AttemptRecord>& attempts) {
  struct Known {
    TraceJob job;
    bool ended = false;
  };
  std::map<std::pair<ledger::Seconds, std::string>, Known> by_uid;
  for (const ledger::AttemptRecord& attempt : attempts) {
    Known& known = by_uid[{attempt.created, attempt.uid}];
    known.job.submit = std::chrono::seconds(std::max<ledger::Seconds>(attempt.created, 0));
    known.job.queue = attempt.namespace_name + "/" + attempt.local_queue;
    known.job.priority = std::to_string(attempt.priority);
    known.job.user = attempt.user;
    known.job.walltime = WalltimeOf(attempt.declared);
    if (attempt.outcome != ledger::kSucceeded && attempt.outcome != ledger::kFailed) continue;
    if (!attempt.admitted || !attempt.ended || *attempt.ended <= *attempt.admitted) continue;
    known.ended = true;
    known.job.failed = attempt.outcome == ledger::kFailed;
    known.job.run = std::chrono::seconds(*attempt.ended - *attempt.admitted);
    api::ResourceAmounts sums;
    for (const ledger::ResourceUse& use : attempt.resources) {
      if (use.resource == api::kGpusResource) continue;  // counted beside what pods ask for
      sums[use.resource] = api::AddAmounts(sums[use.resource], use.amount);
    }
    const auto pods = sums.find("pods");
    const api::Amount count = pods == sums.end() ? 1 : pods->second;
    if (pods != sums.end()) sums.erase(pods);
    const bool even = count >= 1 && count <= simulation::kMaxPods &&
                      std::all_of(sums.begin(), sums.end(),
                                  [count](const auto& each) { return each.second % count == 0; });
    known.job.pods = even ? static_cast<std::int32_t>(count) : 1;
    known.job.requests.clear();
    for (const auto& [resource, amount] : sums) {
      if (amount > 0) known.job.requests[resource] = amount / known.job.pods;
    }
  }
  Trace trace;
  trace.unit = simulation::TraceUnit::kJob;
  for (auto& [key, known] : by_uid) {
    if (!known.ended) {
      ++trace.skipped;
      continue;
    }
    known.job.line = static_cast<std::int64_t>(trace.jobs.size()) + 1;
    trace.jobs.push_back(std::move(known.job));
  }
  return trace;
}

Result<Trace> ReadLedgerWorkload(const std::string& path) {
  BERTH_TRY(ledger::LedgerReader reader, ledger::LedgerReader::Open(path));
  BERTH_TRY(const std::vector<ledger::AttemptRecord> attempts, reader.Attempts({}));
  return TraceOfAttempts(attempts);
}

}  // namespace berth::cli
