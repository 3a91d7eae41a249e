#include "cli/report_source.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/screens/history.h"
#include "ledger/queue_history.h"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds kKeptFor{20};
constexpr std::size_t kMostKept = 64;
constexpr int kMostWaiting = 8;
constexpr ledger::Seconds kDaySeconds = 86'400;

ledger::ReportBy GroupOf(const std::string& by) {
  if (by == "queue") return ledger::ReportBy::kQueue;
  if (by == "namespace") return ledger::ReportBy::kNamespace;
  if (by == "priority") return ledger::ReportBy::kPriority;
  return by == "cause" ? ledger::ReportBy::kCause : ledger::ReportBy::kClusterQueue;
}

// Hours, quarters of a day, days, weeks.
std::int64_t PartsOf(std::int64_t days) {
  constexpr std::int64_t kWeek = 7;
  constexpr std::int64_t kQuarter = 92;
  if (days == 1) return 24;
  if (days <= kWeek) return days * 4;
  return days <= kQuarter ? days : (days + kWeek - 1) / kWeek;
}

}  // namespace

std::optional<std::string> ReportSource::KeptText(const readapi::ReportQuery& query) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_,
                [now = clock_.SteadyNow()](const auto& each) { return now >= each.second.until; });
  const auto found = kept_.find(query);
  return found == kept_.end() ? std::nullopt : std::optional(found->second.text);
}

void ReportSource::Ask(const readapi::ReportQuery& query, Done done) {
  if (std::optional<std::string> kept = KeptText(query)) return done(*std::move(kept));
  if (waiting_.fetch_add(1) >= kMostWaiting) {
    waiting_.fetch_sub(1);
    return done(Error{ErrorCode::kTooManyRequests, "too many reports are being made"});
  }
  strand_->Post([this, query, done = std::move(done)] {
    waiting_.fetch_sub(1);
    if (std::optional<std::string> kept = KeptText(query)) return done(*std::move(kept));
    Result<std::string> text = Make(query);
    if (text) {
      const std::lock_guard lock(mutex_);
      if (kept_.size() < kMostKept) kept_[query] = {clock_.SteadyNow() + kKeptFor, *text};
    }
    done(std::move(text));
  });
}

Result<std::vector<ledger::AttemptRecord>> ReportSource::Attempts(
    ledger::LedgerReader& reader, const ledger::HistoryFilter& filter) const {
  BERTH_TRY(const std::int64_t count, reader.CountAttempts(filter));
  if (count > most_attempts_) {
    return Error{ErrorCode::kInvalid,
                 "the period has " + std::to_string(count) + " attempts, more than " +
                     std::to_string(most_attempts_) +
                     ": ask for fewer days, or use `berth report` beside the ledger"};
  }
  return reader.Attempts(filter);
}

// Names of other namespaces are for those who may know them.
Result<std::string> ReportSource::MakeTurns(const readapi::ReportQuery& query,
                                            ledger::LedgerReader& reader) const {
  ledger::HistoryFilter filter;
  filter.namespace_name = query.namespaces.front();
  filter.owner_kind = "workload";
  filter.name = query.name;
  HistoryView view;
  view.now = clock_.Now();
  BERTH_TRY(view.attempts, Attempts(reader, filter));
  const std::string own = filter.namespace_name + "/";
  for (ledger::AttemptRecord& attempt : view.attempts) {
    if (!query.names_all) attempt.message.clear();
    if (attempt.preemptor.empty()) continue;
    BERTH_TRY(const std::optional<std::string> name, reader.NameOf(attempt.preemptor));
    const bool is_shown = name && (query.names_all || name->starts_with(own));
    view.preemptors[attempt.preemptor] =
        is_shown ? *name
                 : (query.names_all ? attempt.preemptor : "a workload of another namespace");
  }
  return HistoryJson(view).dump() + "\n";
}

Result<std::string> ReportSource::Make(const readapi::ReportQuery& query) const {
  const ledger::Seconds now = ledger::ToSeconds(clock_.Now());
  const ledger::Period period{now - query.days * kDaySeconds, now};
  BERTH_TRY(ledger::LedgerReader reader, ledger::LedgerReader::Open(file_));
  if (query.of == readapi::ReportQuery::Of::kWorkload) return MakeTurns(query, reader);
  ledger::HistoryFilter filter;
  filter.since = period.from;
  if (!query.namespaces.empty()) filter.namespace_name = query.namespaces.front();
  if (query.of == readapi::ReportQuery::Of::kQueue) {
    BERTH_TRY(std::vector<ledger::AttemptRecord> attempts, Attempts(reader, filter));
    std::erase_if(attempts, [&](const auto& each) { return each.cluster_queue != query.name; });
    return QueueHistoryJson(query.name,
                            ledger::MakeQueueHistory(attempts, period, PartsOf(query.days)))
               .dump() +
           "\n";
  }
  BERTH_TRY(const auto attempts, Attempts(reader, filter));
  BERTH_TRY(const auto nodes, reader.NodeTimes(filter));
  const auto lines = ledger::MakeReport(attempts, nodes, GroupOf(query.by), "", period);
  return query.csv ? ReportCsv(lines, query.by) : ReportJson(lines, period, query.by).dump() + "\n";
}

}  // namespace berth::cli
