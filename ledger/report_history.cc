#include "ledger/report_history.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/gpu_shares.h"
#include "ledger/report_keys.h"

namespace berth::ledger {
namespace {

void AddTo(std::map<std::string, double>& sum, const std::map<std::string, double>& hours) {
  for (const auto& [resource, amount] : hours) sum[resource] += amount;
}

void AddTo(ReportPart& sum, const ReportPart& part) {
  sum.waited += part.waited;
  AddTo(sum.used_hours, part.used_hours);
  AddTo(sum.destroyed_hours, part.destroyed_hours);
  AddTo(sum.charged_hours, part.charged_hours);
  sum.cost_nano = api::AddAmounts(sum.cost_nano, part.cost_nano);
}

// GPU hours, CPU hours, and the hours of nodes and of waits of the whole line. Shares of GPUs count
// where whole GPUs are unknown.
std::array<double, 3> SizeOf(const std::vector<ReportPart>& parts) {
  double gpus = 0;
  double shares = 0;
  std::array<double, 3> size{};
  for (const ReportPart& part : parts) {
    for (const auto& [resource, hours] : part.used_hours) {
      if (resource == api::kGpusResource) gpus += hours;
      if (api::IsGpuResource(resource)) shares += hours;
      if (resource == "cpu") size[1] += hours;
    }
    for (const auto& [what, hours] : part.charged_hours) size[2] += hours;
    size[2] += ResourceHours(kNodes, 1, part.waited);
  }
  size[0] = gpus > 0 ? gpus : shares;
  return size;
}

}  // namespace

StreamedReportHistory::StreamedReportHistory(const std::vector<NodeTimeRecord>& nodes, ReportBy by,
                                             std::string label, const Period& period,
                                             std::int64_t parts)
    : by_(by),
      label_(std::move(label)),
      period_(period),
      times_(Divided(period, parts)),
      nodes_(nodes, by, label_, period) {}

template <typename AddTime>
void StreamedReportHistory::ForEachPart(const std::string& key, Seconds from, Seconds to,
                                        const AddTime& add) {
  Parts* parts = nullptr;
  for (std::size_t i = 0; i < times_.size() && times_[i].from < to; ++i) {
    const Seconds time = Inside(times_[i], from, to);
    if (time == 0) continue;
    if (parts == nullptr) parts = &lines_.try_emplace(key, times_.size()).first->second;
    add((*parts)[i], time);
  }
}

void StreamedReportHistory::Add(const AttemptRecord& attempt) {
  nodes_.Add(attempt);
  if (by_ == ReportBy::kPool) return;
  const std::string key = KeyOf(attempt, by_, label_);
  const Seconds end = attempt.ended.value_or(period_.to);
  ForEachPart(key, attempt.queued, attempt.admitted.value_or(end),
              [](ReportPart& part, Seconds time) { part.waited += time; });
  if (!attempt.admitted) return;
  const bool lost = attempt.ended && *attempt.ended <= period_.to && IsLost(attempt);
  const bool has_price = attempt.hourly_nano && !nodes_.IsMeasured(attempt.uid);
  ForEachPart(key, *attempt.admitted, end, [&](ReportPart& part, Seconds time) {
    for (const ResourceUse& use : attempt.resources) {
      const double hours = ResourceHours(use.resource, use.amount, time);
      part.used_hours[use.resource] += hours;
      if (lost) part.destroyed_hours[use.resource] += hours;
    }
    if (!has_price) return;
    part.cost_nano = api::AddAmounts(part.cost_nano, CostFor(*attempt.hourly_nano, time));
  });
}

void StreamedReportHistory::AddNode(const NodeTimeRecord& node) {
  const std::string key = nodes_.LineOf(node);
  ForEachPart(key, node.from, node.until, [&node](ReportPart& part, Seconds time) {
    AddNodeHours(node, time, part.charged_hours);
    if (!node.hourly_nano) return;
    part.cost_nano = api::AddAmounts(part.cost_nano, CostFor(*node.hourly_nano, time));
  });
}

ReportHistory StreamedReportHistory::Take(std::size_t most_lines) {
  for (const NodeTimeRecord& node : nodes_.nodes()) AddNode(node);
  std::vector<std::pair<std::array<double, 3>, ReportHistoryLine>> lines;
  for (auto& [key, parts] : lines_) {
    const auto size = SizeOf(parts);
    lines.emplace_back(size, ReportHistoryLine{key, std::move(parts)});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  ReportHistory history{.times = times_};
  for (auto& [size, line] : lines) {
    if (history.lines.size() < most_lines) {
      history.lines.push_back(std::move(line));
      continue;
    }
    ++history.other_lines;
    history.others.resize(times_.size());
    for (std::size_t i = 0; i < times_.size(); ++i) AddTo(history.others[i], line.parts[i]);
  }
  return history;
}

}  // namespace berth::ledger
