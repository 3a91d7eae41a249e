#include "ledger/capacity_history.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "api/gpu_shares.h"
#include "base/strings.h"
#include "ledger/queue_history.h"

namespace berth::ledger {
namespace {

using Times = std::vector<Period>;

bool IsInPart(const Period& part, const std::optional<Seconds>& time) {
  return time && *time >= part.from && *time < part.to;
}

// "8 nvidia.com/gpu of h100"; without a GPU "4 cpu of spot".
std::string ShapeOf(const AttemptRecord& attempt) {
  const auto takes = [&attempt](const auto& is_wanted) {
    std::vector<std::string> words;
    for (const ResourceUse& use : attempt.resources) {
      if (!is_wanted(use.resource)) continue;
      constexpr Seconds kHour = 3600;
      const std::string flavor = use.flavor.empty() ? "" : " of " + use.flavor;
      words.push_back(fmt::format("{:g} {}{}", ResourceHours(use.resource, use.amount, kHour),
                                  use.resource, flavor));
    }
    return Join(words, ", ");
  };
  const std::string gpus = takes([](const std::string& resource) {
    return resource != api::kGpusResource && api::IsGpuResource(resource);
  });
  return gpus.empty() ? takes([](const std::string& resource) { return resource == "cpu"; }) : gpus;
}

using Turns = std::map<std::pair<std::string, std::string>, std::vector<const AttemptRecord*>>;

// The shape of the latest turn that had begun; else that of the first one.
std::string ShapeOf(const CapacityRecord& request, const Turns& turns) {
  const auto found = turns.find({request.namespace_name, request.workload});
  if (found == turns.end()) return "";
  const AttemptRecord* turn = found->second.front();
  for (const AttemptRecord* each : found->second) {
    if (each->queued <= request.created && each->queued >= turn->queued) turn = each;
  }
  return ShapeOf(*turn);
}

// The end of the wait; nullopt: it lasts.
std::optional<Seconds> SettledAt(const CapacityRecord& request) {
  return request.provisioned ? request.provisioned : request.ended;
}

class Lines {
 public:
  Lines(const Times& times, const std::function<bool(const std::string&)>& is_stockout)
      : times_(times), is_stockout_(is_stockout) {}

  void Add(const std::string& key, const CapacityRecord& request) {
    Line& line = by_key_.try_emplace(key, times_.size()).first->second;
    AddToHour(line, request);
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const Period& part = times_[i];
      CapacityCounts& counts = line.parts[i];
      if (IsInPart(part, request.created)) {
        ++counts.asked;
        ++line.asked;
      }
      if (IsInPart(part, request.provisioned)) {
        ++counts.provisioned;
        line.waits[i].push_back(*request.provisioned - request.created);
      }
      if (request.outcome == kFailed && IsInPart(part, request.ended)) {
        ++counts.failed;
        if (is_stockout_(request.reason)) ++counts.stockouts;
      }
      const std::optional<Seconds> settled = SettledAt(request);
      if (request.created < part.to && (!settled || *settled >= part.to)) ++counts.open;
    }
  }

  std::vector<CapacityLine> Take(std::int64_t& left_out) {
    std::vector<std::pair<std::int64_t, CapacityLine>> lines;
    for (auto& [key, line] : by_key_) {
      for (std::size_t i = 0; i < line.parts.size(); ++i) {
        line.parts[i].p50 = NearestRank(line.waits[i], 0.5);
        line.parts[i].p90 = NearestRank(line.waits[i], 0.9);
      }
      lines.emplace_back(line.asked, CapacityLine{key, std::move(line.parts), line.hours});
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<CapacityLine> most;
    for (auto& [asked, line] : lines) {
      if (most.size() < kMostCapacityLines) {
        most.push_back(std::move(line));
      } else {
        ++left_out;
      }
    }
    return most;
  }

 private:
  struct Line {
    explicit Line(std::size_t count) : parts(count), waits(count) {}
    std::vector<CapacityCounts> parts;
    std::vector<std::vector<Seconds>> waits;  // the waits of each part
    std::array<HourCounts, 24> hours{};
    std::int64_t asked = 0;
  };

  void AddToHour(Line& line, const CapacityRecord& request) const {
    if (times_.empty() || !IsInPart({times_.front().from, times_.back().to}, request.created)) {
      return;
    }
    constexpr Seconds kHour = 3600;
    HourCounts& hour = line.hours[static_cast<std::size_t>(request.created / kHour % 24)];
    const bool is_failed = request.outcome == kFailed;
    if (request.provisioned || is_failed) ++hour.answered;
    if (request.provisioned) ++hour.provisioned;
    if (is_failed && is_stockout_(request.reason)) ++hour.stockouts;
  }

  const Times& times_;
  const std::function<bool(const std::string&)>& is_stockout_;
  std::map<std::string, Line> by_key_;
};

std::vector<PoolLine> PoolsOf(const std::vector<NodeTimeRecord>& nodes, const Times& times,
                              std::int64_t& left_out) {
  std::map<std::string, std::vector<double>> by_pool;
  for (const NodeTimeRecord& node : nodes) {
    std::vector<double>& means =
        by_pool.try_emplace(node.pool, std::vector<double>(times.size())).first->second;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Seconds stood = std::min(node.until, times[i].to) - std::max(node.from, times[i].from);
      if (stood <= 0) continue;
      means[i] += static_cast<double>(stood) / static_cast<double>(times[i].to - times[i].from);
    }
  }
  std::vector<std::pair<double, PoolLine>> lines;
  for (auto& [pool, means] : by_pool) {
    double sum = 0;
    for (const double mean : means) sum += mean;
    if (sum > 0) lines.emplace_back(sum, PoolLine{pool, std::move(means)});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<PoolLine> most;
  for (auto& [sum, line] : lines) {
    if (most.size() < kMostCapacityLines) {
      most.push_back(std::move(line));
    } else {
      ++left_out;
    }
  }
  return most;
}

}  // namespace

CapacityHistory MakeCapacityHistory(const std::vector<CapacityRecord>& requests,
                                    const std::vector<AttemptRecord>& attempts,
                                    const std::vector<NodeTimeRecord>& nodes, const Period& period,
                                    std::int64_t parts,
                                    const std::function<bool(const std::string&)>& is_stockout) {
  CapacityHistory history{.times = Divided(period, parts)};
  Turns turns;
  for (const AttemptRecord& attempt : attempts) {
    turns[{attempt.namespace_name, attempt.name}].push_back(&attempt);
  }
  Lines classes(history.times, is_stockout);
  Lines shapes(history.times, is_stockout);
  for (const CapacityRecord& request : requests) {
    classes.Add(request.class_name, request);
    shapes.Add(ShapeOf(request, turns), request);
  }
  history.classes = classes.Take(history.left_out);
  history.shapes = shapes.Take(history.left_out);
  history.pools = PoolsOf(nodes, history.times, history.left_out);
  return history;
}

}  // namespace berth::ledger
