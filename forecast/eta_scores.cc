#include "forecast/eta_scores.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <system_error>

#include "api/reasons.h"
#include "view/manifest_files.h"

namespace berth::forecast {
namespace {

Duration ToSpan(std::int64_t seconds) { return std::chrono::seconds(seconds); }

using Starts = std::map<std::string, std::set<std::int64_t>>;

// When each Workload started, in seconds since 1970.
Starts StartsOf(const ForecastCluster& cluster) {
  Starts starts;
  const auto note = [&starts](const std::string& uid, std::int64_t at) { starts[uid].insert(at); };
  for (const ledger::AttemptRecord& attempt : cluster.attempts) {
    if (attempt.admitted) note(attempt.uid, *attempt.admitted);
  }
  for (const api::Workload& workload : cluster.view.workloads) {
    const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
    if (admitted == nullptr || admitted->status != api::ConditionStatus::kTrue) continue;
    note(workload.meta.uid, ledger::ToSeconds(admitted->last_transition_time));
  }
  return starts;
}

}  // namespace

Result<EtaScores> EtaScores::Read(const std::string& file) {
  EtaScores scores(file);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return scores;
  BERTH_TRY(const std::string text, view::ReadTextFile(file));
  auto entries = ParseEtaEntries(text);
  if (!entries) return Annotate(entries.error(), file);
  scores.entries_ = *std::move(entries);
  return scores;
}

Status EtaScores::Write() const {
  const std::string next = file_ + ".next";
  std::ofstream out(next, std::ios::binary | std::ios::trunc);
  out << FormatEtaEntries(entries_);
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(next, file_, error);
  if (out && !error) return OkStatus();
  return Error{ErrorCode::kUnavailable, "--scores: cannot write " + file_};
}

void EtaScores::Resolve(const ForecastCluster& cluster) {
  const Starts starts = StartsOf(cluster);
  std::set<std::string> present;
  for (const api::Workload& each : cluster.view.workloads) present.insert(each.meta.uid);
  const std::int64_t now = ledger::ToSeconds(cluster.view.now);
  for (EtaEntry& entry : entries_) {
    const auto known = starts.find(entry.uid);
    if (entry.wait || known == starts.end()) continue;
    const auto start = known->second.lower_bound(entry.at);
    if (start != known->second.end()) entry.wait = *start - entry.at;
  }
  std::erase_if(entries_, [&present](const EtaEntry& entry) {
    return !entry.wait && !present.contains(entry.uid);
  });
  simulation::Calibration calibration;
  std::vector<simulation::Calibration::Past> waiting;
  std::int64_t in_p50 = 0;
  std::int64_t in_p90 = 0;
  for (const EtaEntry& entry : entries_) {
    const WallTime at{ToSpan(entry.at)};
    if (!entry.wait) {
      waiting.push_back(
          {at, entry.raw, ToSpan(std::max<std::int64_t>(now - entry.at, 0)), false, entry.group});
      continue;
    }
    calibration.Add({at, entry.raw, ToSpan(*entry.wait), true, entry.group});
    ++known_;
    if (ToSpan(*entry.wait) <= entry.told_p50) ++in_p50;
    if (ToSpan(*entry.wait) <= entry.told_p90) ++in_p90;
  }
  calibration.SetWaiting(waiting);
  corrections_ = calibration.Now();
  if (known_ == 0) return;
  within_p50_ = static_cast<double>(in_p50) / static_cast<double>(known_);
  within_p90_ = static_cast<double>(in_p90) / static_cast<double>(known_);
}

void EtaScores::Add(const EtaEntry& entry) {
  const bool known = std::any_of(entries_.begin(), entries_.end(),
                                 [&entry](const EtaEntry& each) { return each.uid == entry.uid; });
  if (known) return;
  if (entries_.size() == kMostEntries) entries_.erase(entries_.begin());
  entries_.push_back(entry);
}

}  // namespace berth::forecast
