// program/report_source.h — reports of the ledger for the read API: one at a time, on a thread of
// its own, which reads the file beside the thread that writes it.
//
//     Ask ─▶ the same report, less than kept_for ago? ─▶ done
//                └─▶ thread: LedgerReader ─ one attempt after the other ─▶ lines ─▶ text ─▶ done
//
// Threads: Ask from any; Stop by the owner. Errors: of `done`, as ReadSource::report.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "ledger/ledger_reader.h"
#include "net/io_pool.h"
#include "readapi/query.h"

namespace berth::program {

class ReportSource {
 public:
  using Done = std::function<void(Result<std::string>)>;

  // Attempts are read one by one. A report of this many takes seconds, and some 50 MB for the uids
  // of Workloads.
  static constexpr std::int64_t kMostAttempts = 500'000;

  // A period with more than `most_attempts` is refused.
  ReportSource(const Clock& clock, std::string file, std::int64_t most_attempts = kMostAttempts)
      : clock_(clock), file_(std::move(file)), most_attempts_(most_attempts) {}
  ~ReportSource() { Stop(); }
  ReportSource(const ReportSource&) = delete;
  ReportSource& operator=(const ReportSource&) = delete;

  void Ask(const readapi::ReportQuery& query, Done done);
  void Stop() { pool_.Stop(); }

 private:
  struct Kept {
    SteadyTime until{};
    std::string text;
  };

  Result<std::string> Make(const readapi::ReportQuery& query) const;
  // Calls `visit` for each attempt; refuses periods with more than most_attempts_.
  Status EachAttempt(ledger::LedgerReader& reader, const ledger::HistoryFilter& filter,
                     const std::function<void(const ledger::AttemptRecord&)>& visit) const;
  Result<std::string> MakeQueue(const readapi::ReportQuery& query, ledger::LedgerReader& reader,
                                ledger::HistoryFilter filter) const;
  Result<std::string> MakeCohort(const readapi::ReportQuery& query, ledger::LedgerReader& reader,
                                 const ledger::HistoryFilter& filter) const;
  Result<std::string> MakeStates(const readapi::ReportQuery& query, ledger::LedgerReader& reader,
                                 const ledger::HistoryFilter& filter) const;
  Result<std::string> MakeOverTime(const readapi::ReportQuery& query, ledger::LedgerReader& reader,
                                   const ledger::HistoryFilter& filter) const;
  Result<std::string> MakeCapacity(const readapi::ReportQuery& query, ledger::LedgerReader& reader,
                                   const ledger::HistoryFilter& filter) const;
  Result<std::string> MakeTurns(const readapi::ReportQuery& query,
                                ledger::LedgerReader& reader) const;
  std::optional<std::string> KeptText(const readapi::ReportQuery& query);

  const Clock& clock_;
  const std::string file_;
  const std::int64_t most_attempts_;
  std::mutex mutex_;
  std::map<readapi::ReportQuery, Kept> kept_;
  std::atomic<int> waiting_{0};
  net::IoPool pool_{1};
  std::unique_ptr<Executor> strand_ = pool_.MakeStrand();
};

}  // namespace berth::program
