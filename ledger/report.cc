#include "ledger/report.h"

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

// Of a node whose Workload is not known.
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

class Report {
 public:
  Report(ReportBy by, const std::string& label, const Period& period)
      : by_(by), label_(label), period_(period) {}

  // Before the attempts of its Workload. `attempt`: one of them; null: none is known.
  void Add(const NodeTimeRecord& node, const AttemptRecord* attempt) {
    if (by_ == ReportBy::kCause || by_ == ReportBy::kPreemptor) return;
    const Seconds stood = Inside(period_, node.from, node.until);
    if (stood == 0) return;
    std::string key = attempt == nullptr ? KeyOf(node, by_) : KeyOf(*attempt, by_, label_);
    if (by_ == ReportBy::kPool) key = node.pool;
    const std::string& uid = node.workload_uid;
    ReportLine& line = Line(key, uid.empty() ? node.namespace_name + "/" + node.workload : uid);
    line.charged_hours[kNodes] += ResourceHours(kNodes, 1, stood);
    if (node.gpus > 0) {
      line.charged_hours[api::kGpusResource] += ResourceHours(kNodes, node.gpus, stood);
    }
    if (!uid.empty()) measured_.insert(uid);
    if (!node.hourly_nano) {
      ++line.unpriced;
      return;
    }
    const std::int64_t cost = CostFor(*node.hourly_nano, stood);
    line.cost_nano = api::AddAmounts(line.cost_nano, cost);
    line.measured_nano = api::AddAmounts(line.measured_nano, cost);
  }

  void Add(const AttemptRecord& attempt) {
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
      if (waited > 0) ++line.waits;
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

  std::vector<ReportLine> Lines() {
    std::vector<ReportLine> out;
    for (auto& [key, line] : lines_) {
      line.workloads = static_cast<std::int64_t>(workloads_[key].size());
      out.push_back(std::move(line));
    }
    return out;
  }

 private:
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
  std::set<std::string> measured_;                          // uids of Workloads with nodes
};

}  // namespace

std::vector<ReportLine> MakeReport(const std::vector<AttemptRecord>& attempts,
                                   const std::vector<NodeTimeRecord>& nodes, ReportBy by,
                                   const std::string& label, const Period& period) {
  Report report(by, label, period);
  std::map<std::string_view, const AttemptRecord*> by_uid;
  for (const AttemptRecord& attempt : attempts) by_uid[attempt.uid] = &attempt;
  for (const NodeTimeRecord& node : nodes) {
    const auto found = by_uid.find(node.workload_uid);
    report.Add(node, found == by_uid.end() ? nullptr : found->second);
  }
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

}  // namespace berth::ledger
