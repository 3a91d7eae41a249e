#include "ledger/accounts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/strings.h"

namespace berth::ledger {
namespace {

constexpr char kChecks[] = "AdmissionChecks";
constexpr char kPodsReady[] = "PodsReady";
constexpr char kUnknownCause[] = "Unknown";

// The length of [from, to] inside the period.
Seconds Inside(const Period& period, Seconds from, Seconds to) {
  return std::max<Seconds>(0, std::min(to, period.to) - std::max(from, period.from));
}

bool IsLost(const AttemptRecord& attempt) {
  return attempt.outcome == kPreempted || attempt.outcome == kEvicted;
}

std::string LabelOf(const AttemptRecord& attempt, const std::string& key) {
  for (const std::string_view pair : Split(attempt.labels, ',')) {
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == key) {
      return std::string(pair.substr(equals + 1));
    }
  }
  return "";
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

// The key of a node whose Workload is not known.
std::string KeyOf(const NodeTimeRecord& node, ReportBy by) {
  if (by == ReportBy::kQueue) return node.namespace_name + "/" + node.local_queue;
  if (by == ReportBy::kClusterQueue) return node.cluster_queue;
  return by == ReportBy::kNamespace ? node.namespace_name : "";
}

std::int64_t CostFor(std::int64_t hourly_nano, Seconds time) {
  constexpr Seconds kHour = 3600;
  return api::AddAmounts(api::MultiplyAmounts(hourly_nano, time / kHour),
                         api::MultiplyAmounts(hourly_nano, time % kHour) / kHour);
}

Seconds EndOf(const AttemptRecord& attempt, const Period& period) {
  return attempt.ended.value_or(period.to);
}

}  // namespace

class StreamedReport::Report {
 public:
  Report(const std::vector<NodeTimeRecord>& nodes, ReportBy by, const std::string& label,
         const Period& period)
      : by_(by), label_(label), period_(period) {
    if (by_ == ReportBy::kCause || by_ == ReportBy::kPreemptor) return;
    for (const NodeTimeRecord& node : nodes) {
      if (Inside(period_, node.from, node.until) == 0) continue;
      nodes_.push_back(node);
      if (!node.workload_uid.empty()) measured_.try_emplace(node.workload_uid);
    }
  }

  void Add(const AttemptRecord& attempt) {
    const auto measured = measured_.find(attempt.uid);
    if (measured != measured_.end()) measured->second = KeyOf(attempt, by_, label_);
    AddAttempt(attempt);
  }

  std::vector<ReportLine> Lines() {
    for (const NodeTimeRecord& node : nodes_) AddNode(node);
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
    const auto of_attempt = measured_.find(uid);
    std::string key = of_attempt == measured_.end() || !of_attempt->second ? KeyOf(node, by_)
                                                                           : *of_attempt->second;
    if (by_ == ReportBy::kPool) key = node.pool;
    ReportLine& line = Line(key, uid.empty() ? node.namespace_name + "/" + node.workload : uid);
    line.charged_hours[kNodes] += ResourceHours(kNodes, 1, stood);
    if (node.gpus > 0) {
      line.charged_hours[api::kGpusResource] += ResourceHours(kNodes, node.gpus, stood);
    }
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
    ReportLine& line = Line(KeyOf(attempt, by_, label_), attempt.uid);
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
    if (measured_.contains(attempt.uid)) return;
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
  std::vector<NodeTimeRecord> nodes_;                       // that stood in the period
  // The uids of their Workloads, with the key of the latest attempt; nullopt: none is known.
  std::map<std::string, std::optional<std::string>> measured_;
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
  constexpr double kHour = 3600;
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
