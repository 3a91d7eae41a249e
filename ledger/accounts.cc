#include "ledger/accounts.h"

#include <algorithm>
#include <set>

#include "ledger/node_lines.h"
#include "ledger/report_keys.h"

namespace berth::ledger {
namespace {

constexpr char kChecks[] = "AdmissionChecks";
constexpr char kPodsReady[] = "PodsReady";
constexpr char kUnknownCause[] = "Unknown";

Seconds EndOf(const AttemptRecord& attempt, const Period& period) {
  return attempt.ended.value_or(period.to);
}

}  // namespace

std::vector<Period> Divided(const Period& period, std::int64_t parts) {
  std::vector<Period> times;
  const Seconds length = period.to - period.from;
  for (std::int64_t i = 0; i < parts; ++i) {
    const Period part{period.from + length * i / parts, period.from + length * (i + 1) / parts};
    if (part.from < part.to) times.push_back(part);
  }
  return times;
}

class StreamedReport::Report {
 public:
  Report(const std::vector<NodeTimeRecord>& nodes, ReportBy by, const std::string& label,
         const Period& period)
      : by_(by), label_(label), period_(period), nodes_(nodes, by, label, period) {}

  void Add(const AttemptRecord& attempt) {
    nodes_.Add(attempt);
    AddAttempt(attempt);
  }

  std::vector<ReportLine> Lines() {
    for (const NodeTimeRecord& node : nodes_.nodes()) AddNode(node);
    for (const auto& [key, costs] : stops_.Costs()) {
      if (const auto line = lines_.find(key); line != lines_.end()) line->second.stops = costs;
    }
    std::vector<ReportLine> out;
    for (auto& [key, line] : lines_) {
      line.workloads = static_cast<std::int64_t>(workloads_[key].size());
      out.push_back(std::move(line));
    }
    return out;
  }

 private:
  void AddNode(const NodeTimeRecord& node) {
    const Seconds stood = Inside(period_, node.from, node.until);
    const std::string& uid = node.workload_uid;
    ReportLine& line =
        Line(nodes_.LineOf(node), uid.empty() ? node.namespace_name + "/" + node.workload : uid);
    AddNodeHours(node, stood, line.charged_hours);
    if (!node.hourly_nano) {
      ++line.unpriced;
      return;
    }
    const std::int64_t cost = CostFor(*node.hourly_nano, stood);
    line.cost_nano = api::AddAmounts(line.cost_nano, cost);
    line.measured_nano = api::AddAmounts(line.measured_nano, cost);
  }

  void AddAttempt(const AttemptRecord& attempt) {
    if (by_ == ReportBy::kPool) return;
    if (attempt.queued > period_.to || EndOf(attempt, period_) < period_.from) return;
    if (by_ == ReportBy::kCause) AddWaits(attempt);
    if (by_ == ReportBy::kCause && attempt.outcome.empty()) return;
    const bool ended = attempt.ended && *attempt.ended <= period_.to;
    const bool preempted = ended && attempt.outcome == kPreempted;
    if (by_ == ReportBy::kPreemptor && !preempted) return;
    const std::string key = KeyOf(attempt, by_, label_);
    ReportLine& line = Line(key, attempt.uid);
    if (ended && by_ != ReportBy::kCause && by_ != ReportBy::kPreemptor) stops_.Add(attempt, key);
    ++line.attempts;
    if (ended) ++line.outcomes[attempt.outcome];
    if (by_ != ReportBy::kCause) {
      const Seconds waited =
          Inside(period_, attempt.queued, attempt.admitted.value_or(EndOf(attempt, period_)));
      line.waited += waited;
      if (waited > 0) {
        ++line.waits;
        for (const ResourceUse& use : attempt.resources) {
          line.waited_hours[use.resource] += ResourceHours(use.resource, use.amount, waited);
        }
      }
    }
    if (!attempt.admitted) return;
    const Seconds ran = Inside(period_, *attempt.admitted, EndOf(attempt, period_));
    for (const ResourceUse& use : attempt.resources) {
      const double hours = ResourceHours(use.resource, use.amount, ran);
      line.used_hours[use.resource] += hours;
      if (ended && IsLost(attempt)) line.destroyed_hours[use.resource] += hours;
    }
    if (ran > 0) AddCost(attempt, ran, line);
  }

  ReportLine& Line(const std::string& key, const std::string& uid) {
    ReportLine& line = lines_[key];
    line.key = key;
    workloads_[key].insert(uid);
    return line;
  }

  void AddCost(const AttemptRecord& attempt, Seconds ran, ReportLine& line) const {
    if (by_ == ReportBy::kCause || by_ == ReportBy::kPreemptor) return;
    if (nodes_.IsMeasured(attempt.uid)) return;
    if (!attempt.hourly_nano) {
      ++line.unpriced;
      return;
    }
    line.cost_nano = api::AddAmounts(line.cost_nano, CostFor(*attempt.hourly_nano, ran));
  }

  void AddWaits(const AttemptRecord& attempt) {
    for (const WaitPart& part : WaitParts(attempt, period_.to)) {
      const Seconds waited = Inside(period_, part.from, part.to);
      if (waited == 0) continue;
      ReportLine& line = Line("wait: " + part.cause, attempt.uid);
      line.waited += waited;
      ++line.waits;
    }
  }

  const ReportBy by_;
  const std::string label_;
  const Period period_;
  std::map<std::string, ReportLine> lines_;
  std::map<std::string, std::set<std::string>> workloads_;  // uids
  NodeLines nodes_;
  StopMeasure stops_;
};

StreamedReport::StreamedReport(const std::vector<NodeTimeRecord>& nodes, ReportBy by,
                               const std::string& label, const Period& period)
    : report_(std::make_unique<Report>(nodes, by, label, period)) {}
StreamedReport::~StreamedReport() = default;
void StreamedReport::Add(const AttemptRecord& attempt) { report_->Add(attempt); }
std::vector<ReportLine> StreamedReport::Lines() { return report_->Lines(); }

std::vector<ReportLine> MakeReport(const std::vector<AttemptRecord>& attempts,
                                   const std::vector<NodeTimeRecord>& nodes, ReportBy by,
                                   const std::string& label, const Period& period) {
  StreamedReport report(nodes, by, label, period);
  for (const AttemptRecord& attempt : attempts) report.Add(attempt);
  return report.Lines();
}

std::vector<WaitPart> WaitParts(const AttemptRecord& attempt, Seconds now) {
  std::vector<WaitPart> parts;
  const auto add = [&](const std::string& cause, Seconds from, Seconds to) {
    if (to > from) parts.push_back({cause, from, to});
  };
  const Seconds end = attempt.ended.value_or(now);
  const Seconds reserved = attempt.reserved.value_or(end);
  Seconds from = attempt.queued;
  std::string cause = kUnknownCause;
  for (const Wait& wait : attempt.waits) {
    const Seconds since = std::min(wait.since, reserved);
    add(cause, from, since);
    from = std::max(from, since);
    cause = wait.cause;
  }
  add(cause, from, reserved);
  if (attempt.reserved) add(kChecks, *attempt.reserved, attempt.admitted.value_or(end));
  if (attempt.admitted && attempt.started) add(kPodsReady, *attempt.admitted, *attempt.started);
  return parts;
}

double ResourceHours(const std::string& resource, api::Amount amount, Seconds time) {
  constexpr double kMilli = 1000;
  constexpr double kGi = 1024.0 * 1024 * 1024;
  double unit = 1;
  if (resource == "cpu") unit = kMilli;
  if (resource == "memory" || resource == "ephemeral-storage") unit = kGi;
  if (resource == api::kGpusResource) unit = static_cast<double>(api::kUnitsPerGpu);
  return static_cast<double>(amount) / unit * static_cast<double>(time) / kHour;
}

std::map<std::string, double> DestroyedHours(const AttemptRecord& attempt, Seconds now) {
  std::map<std::string, double> hours;
  if (!attempt.admitted || !IsLost(attempt)) return hours;
  const Seconds ran = std::max<Seconds>(attempt.ended.value_or(now) - *attempt.admitted, 0);
  for (const ResourceUse& use : attempt.resources) {
    hours[use.resource] += ResourceHours(use.resource, use.amount, ran);
  }
  return hours;
}

}  // namespace berth::ledger
