#include "program/report_source.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "ledger/capacity_history.h"
#include "ledger/queue_history.h"
#include "ledger/report_history.h"
#include "ledger/state_history.h"
#include "provisioning/request_reasons.h"
#include "view/screens/history_screen.h"

namespace berth::program {
namespace {

// Reports that many ask for take one hundredth of a core at most: each is kept a hundred times as
// long as it took to make, within these bounds.
constexpr int kKeptTimes = 100;
constexpr std::chrono::seconds kKeptAtLeast{1};
constexpr std::chrono::seconds kKeptAtMost{20};
constexpr std::size_t kMostKept = 64;
constexpr int kMostWaiting = 8;
constexpr std::size_t kMostCohortQueues = 256;  // about 2 MB of text
constexpr std::size_t kMostLinesOverTime = 12;
constexpr ledger::Seconds kDaySeconds = 86'400;

ledger::ReportBy GroupOf(const std::string& by) {
  if (by == "queue") return ledger::ReportBy::kQueue;
  if (by == "namespace") return ledger::ReportBy::kNamespace;
  if (by == "user") return ledger::ReportBy::kUser;
  if (by == "pool") return ledger::ReportBy::kPool;
  if (by == "team") return ledger::ReportBy::kLabel;
  if (by == "priority") return ledger::ReportBy::kPriority;
  return by == "cause" ? ledger::ReportBy::kCause : ledger::ReportBy::kClusterQueue;
}

bool IsStockout(const std::string& reason) {
  return provisioning::Explain(reason).reason_class == provisioning::ReasonClass::kStockout;
}

ledger::Period PeriodOf(const readapi::ReportQuery& query, WallTime at) {
  const ledger::Seconds now = ledger::ToSeconds(at);
  return {now - query.days * kDaySeconds, now};
}

// Hours, quarters of a day, days, weeks.
std::int64_t PartsOf(std::int64_t days) {
  constexpr std::int64_t kWeek = 7;
  constexpr std::int64_t kQuarter = 92;
  if (days == 1) return 24;
  if (days <= kWeek) return days * 4;
  return days <= kQuarter ? days : (days + kWeek - 1) / kWeek;
}

// Quarters of an hour of a day, hours of a week, else PartsOf().
std::int64_t StatePartsOf(std::int64_t days) {
  constexpr std::int64_t kWeek = 7;
  if (days == 1) return 96;
  return days <= kWeek ? days * 24 : PartsOf(days);
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
    return done(
        Error{ErrorCode::kTooManyRequests, "too many reports are being made: try again later"});
  }
  strand_->Post([this, query, done = std::move(done)] {
    waiting_.fetch_sub(1);
    if (std::optional<std::string> kept = KeptText(query)) return done(*std::move(kept));
    const SteadyTime started = clock_.SteadyNow();
    Result<std::string> text = Make(query);
    if (text) {
      const SteadyTime now = clock_.SteadyNow();
      const Duration kept_for =
          std::clamp<Duration>((now - started) * kKeptTimes, kKeptAtLeast, kKeptAtMost);
      const std::lock_guard lock(mutex_);
      if (kept_.size() < kMostKept) kept_[query] = {now + kept_for, *text};
    }
    done(std::move(text));
  });
}

Status ReportSource::EachAttempt(
    ledger::LedgerReader& reader, const ledger::HistoryFilter& filter,
    const std::function<void(const ledger::AttemptRecord&)>& visit) const {
  BERTH_TRY(const std::int64_t count, reader.CountAttempts(filter));
  if (count > most_attempts_) {
    return Error{ErrorCode::kInvalid,
                 "the period has " + std::to_string(count) + " attempts, more than " +
                     std::to_string(most_attempts_) +
                     ": ask for fewer days, or use `berth report` beside the ledger"};
  }
  return reader.EachAttempt(filter, visit);
}

// Names of other namespaces are for those who may know them.
Result<std::string> ReportSource::MakeTurns(const readapi::ReportQuery& query,
                                            ledger::LedgerReader& reader) const {
  ledger::HistoryFilter filter;
  filter.namespaces = query.namespaces;
  filter.owner_kind = "workload";
  filter.name = query.name;
  view::HistoryView view;
  view.now = clock_.Now();
  BERTH_CHECK_OK(EachAttempt(reader, filter, [&view](const ledger::AttemptRecord& attempt) {
    view.attempts.push_back(attempt);
  }));
  std::sort(view.attempts.begin(), view.attempts.end(), [](const auto& a, const auto& b) {
    return std::tie(a.queued, a.attempt) < std::tie(b.queued, b.attempt);
  });
  const std::string own = query.namespaces.front() + "/";
  for (ledger::AttemptRecord& attempt : view.attempts) {
    if (!query.names_all) attempt.message.clear();
    if (attempt.preemptor.empty()) continue;
    BERTH_TRY(const std::optional<std::string> name, reader.NameOf(attempt.preemptor));
    const bool is_shown = name && (query.names_all || name->starts_with(own));
    view.preemptors[attempt.preemptor] =
        is_shown ? *name
                 : (query.names_all ? attempt.preemptor : "a workload of another namespace");
  }
  filter.workload = query.name;
  BERTH_TRY(view.requests, reader.Requests(filter));
  BERTH_TRY(view.nodes, reader.NodeTimes(filter));
  return api::FormatJson(view::HistoryJson(view)) + "\n";
}

Result<std::string> ReportSource::MakeQueue(const readapi::ReportQuery& query,
                                            ledger::LedgerReader& reader,
                                            ledger::HistoryFilter filter) const {
  filter.queue = query.name;  // a LocalQueue may have the name, too
  ledger::StreamedHistory history(PeriodOf(query, clock_.Now()), PartsOf(query.days));
  BERTH_CHECK_OK(EachAttempt(reader, filter, [&](const ledger::AttemptRecord& attempt) {
    if (attempt.cluster_queue == query.name) history.Add(attempt);
  }));
  std::vector<ledger::HistoryPart> parts = history.Parts();
  if (query.names_all) {
    BERTH_TRY(const auto quotas, reader.Quotas(query.name));
    ledger::AddQuotas(quotas, parts);
  }
  return api::FormatJson(view::QueueHistoryJson(query.name, parts)) + "\n";
}

Result<std::string> ReportSource::MakeCohort(const readapi::ReportQuery& query,
                                             ledger::LedgerReader& reader,
                                             const ledger::HistoryFilter& filter) const {
  const ledger::Period period = PeriodOf(query, clock_.Now());
  std::map<std::string, ledger::StreamedHistory> histories;
  BERTH_CHECK_OK(EachAttempt(reader, filter, [&](const ledger::AttemptRecord& attempt) {
    const std::string& queue = attempt.cluster_queue;
    if (!std::binary_search(query.queues.begin(), query.queues.end(), queue)) return;
    if (histories.size() > kMostCohortQueues) return;
    histories.try_emplace(queue, period, PartsOf(query.days)).first->second.Add(attempt);
  }));
  // Only what the reader may see counts: the number of queues of others is not reported.
  if (histories.size() > kMostCohortQueues) {
    return Error{ErrorCode::kInvalid, "the Cohort has more than " +
                                          std::to_string(kMostCohortQueues) +
                                          " ClusterQueues: ask for one of the Cohorts below"};
  }
  std::map<std::string, std::vector<ledger::HistoryPart>> parts;
  for (const auto& [queue, history] : histories) parts[queue] = history.Parts();
  const auto times = ledger::Divided(period, PartsOf(query.days));
  return api::FormatJson(view::CohortHistoryJson(query.name, times, parts)) + "\n";
}

Result<std::string> ReportSource::MakeStates(const readapi::ReportQuery& query,
                                             ledger::LedgerReader& reader,
                                             const ledger::HistoryFilter& filter) const {
  ledger::StreamedStates states(PeriodOf(query, clock_.Now()), StatePartsOf(query.days));
  BERTH_CHECK_OK(EachAttempt(
      reader, filter, [&states](const ledger::AttemptRecord& attempt) { states.Add(attempt); }));
  std::vector<ledger::QuotaRecord> quotas;
  if (query.names_all) {
    BERTH_TRY(quotas, reader.Quotas(""));
  }
  const auto sums = ledger::QuotaSums(quotas, states.times());
  return api::FormatJson(view::WorkloadStatesJson(states, sums)) + "\n";
}

Result<std::string> ReportSource::MakeOverTime(const readapi::ReportQuery& query,
                                               ledger::LedgerReader& reader,
                                               const ledger::HistoryFilter& filter) const {
  BERTH_TRY(const auto nodes, reader.NodeTimes(filter));
  ledger::StreamedReportHistory history(nodes, GroupOf(query.by), query.by,
                                        PeriodOf(query, clock_.Now()), PartsOf(query.days));
  BERTH_CHECK_OK(EachAttempt(
      reader, filter, [&history](const ledger::AttemptRecord& attempt) { history.Add(attempt); }));
  return api::FormatJson(view::ReportHistoryJson(history.Take(kMostLinesOverTime), query.by)) +
         "\n";
}

Result<std::string> ReportSource::MakeCapacity(const readapi::ReportQuery& query,
                                               ledger::LedgerReader& reader,
                                               const ledger::HistoryFilter& filter) const {
  const ledger::Period period = PeriodOf(query, clock_.Now());
  ledger::CapacityRecords records;
  BERTH_TRY(records.requests, reader.Requests(filter));
  BERTH_TRY(records.nodes, reader.NodeTimes(filter));
  std::vector<ledger::PriceRecord> prices;
  if (query.names_all) {
    BERTH_TRY(records.samples, reader.PoolSamples(period.from));
    BERTH_TRY(prices, reader.Prices());
  }
  // The shape of a request is that of a turn of its Workload. Nothing is kept of other Workloads.
  std::set<std::pair<std::string, std::string>> asking;
  for (const auto& request : records.requests)
    asking.insert({request.namespace_name, request.workload});
  BERTH_CHECK_OK(EachAttempt(reader, filter, [&](const ledger::AttemptRecord& attempt) {
    if (asking.contains({attempt.namespace_name, attempt.name}))
      records.attempts.push_back(attempt);
  }));
  const auto history =
      ledger::MakeCapacityHistory(records, period, PartsOf(query.days), IsStockout);
  return api::FormatJson(view::CapacityHistoryJson(history, prices, period)) + "\n";
}

Result<std::string> ReportSource::Make(const readapi::ReportQuery& query) const {
  using Of = readapi::ReportQuery::Of;
  BERTH_TRY(ledger::LedgerReader reader, ledger::LedgerReader::Open(file_));
  if (query.of == Of::kWorkload) return MakeTurns(query, reader);
  const ledger::Period period = PeriodOf(query, clock_.Now());
  ledger::HistoryFilter filter;
  filter.since = period.from;
  filter.namespaces = query.namespaces;
  if (query.of == Of::kQueue) return MakeQueue(query, reader, std::move(filter));
  if (query.of == Of::kCohort) return MakeCohort(query, reader, filter);
  if (query.of == Of::kCapacity) return MakeCapacity(query, reader, filter);
  if (query.of == Of::kOverTime) return MakeOverTime(query, reader, filter);
  if (query.of == Of::kStates) return MakeStates(query, reader, filter);
  BERTH_TRY(const auto nodes, reader.NodeTimes(filter));
  ledger::StreamedReport report(nodes, GroupOf(query.by), query.by, period);
  BERTH_CHECK_OK(EachAttempt(
      reader, filter, [&report](const ledger::AttemptRecord& attempt) { report.Add(attempt); }));
  const std::vector<ledger::ReportLine> lines = report.Lines();
  return query.csv ? view::ReportCsv(lines, query.by)
                   : api::FormatJson(view::ReportJson(lines, period, query.by)) + "\n";
}

}  // namespace berth::program
