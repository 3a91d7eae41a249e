#include "ledger/capacity_history.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "api/gpu_shares.h"
#include "base/nearest_rank.h"
#include "base/strings.h"

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
        line.parts[i].p50 = QuantileOf(line.waits[i], 0.5);
        line.parts[i].p90 = QuantileOf(line.waits[i], 0.9);
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

// The nodes of pools in the parts of a period.
class Pools {
 public:
  explicit Pools(const Times& times) : times_(times) {}

  void Add(const NodeTimeRecord& node) {
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const Seconds stood = Overlap(times_[i], node.from, node.until);
      if (stood <= 0) continue;
      PoolPart& part = LineOf(node.pool).parts[i];
      part.standing += static_cast<double>(stood) / static_cast<double>(LengthOf(times_[i]));
      part.cost_nano +=
          static_cast<double>(node.hourly_nano.value_or(0)) / kHour * static_cast<double>(stood);
    }
  }

  // A sample that lies in two parts counts in each by the share that lies there.
  void Add(const PoolSampleRecord& sample) {
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const Seconds inside = Overlap(times_[i], sample.from, sample.from + sample.span);
      if (inside <= 0) continue;
      const double share = static_cast<double>(inside) / static_cast<double>(sample.span);
      Sampled& sums = LineOf(sample.pool).sampled[i];
      sums.seconds += share * static_cast<double>(sample.seconds);
      sums.ready += share * static_cast<double>(sample.ready);
      sums.booting += share * static_cast<double>(sample.booting);
      sums.idle += share * static_cast<double>(sample.idle);
      sums.idle_seconds += share * static_cast<double>(sample.idle_seconds);
    }
  }

  // Pools that had nodes, those with the most first.
  std::vector<PoolLine> Take(std::int64_t& left_out) {
    std::vector<std::pair<double, PoolLine>> lines;
    for (auto& [pool, line] : by_pool_) {
      double sum = 0;
      for (std::size_t i = 0; i < times_.size(); ++i) {
        PoolPart& part = line.parts[i];
        const Sampled& sums = line.sampled[i];
        if (sums.seconds > 0) part.ready = sums.ready / sums.seconds;
        if (sums.seconds > 0) part.booting = sums.booting / sums.seconds;
        if (sums.idle_seconds > 0) part.idle = sums.idle / sums.idle_seconds;
        sum += part.standing + part.ready.value_or(0) + part.booting.value_or(0);
      }
      if (sum > 0) lines.emplace_back(sum, PoolLine{pool, std::move(line.parts)});
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

 private:
  struct Sampled {  // node-seconds, and seconds
    double seconds = 0;
    double ready = 0;
    double booting = 0;
    double idle = 0;
    double idle_seconds = 0;
  };
  struct Line {
    explicit Line(std::size_t count) : parts(count), sampled(count) {}
    std::vector<PoolPart> parts;
    std::vector<Sampled> sampled;
  };

  static Seconds LengthOf(const Period& part) { return part.to - part.from; }
  static Seconds Overlap(const Period& part, Seconds from, Seconds until) {
    return std::min(until, part.to) - std::max(from, part.from);
  }
  Line& LineOf(const std::string& pool) {
    return by_pool_.try_emplace(pool, times_.size()).first->second;
  }

  const Times& times_;
  std::map<std::string, Line> by_pool_;
};

}  // namespace

CapacityHistory MakeCapacityHistory(const CapacityRecords& records, const Period& period,
                                    std::int64_t parts,
                                    const std::function<bool(const std::string&)>& is_stockout) {
  CapacityHistory history{.times = Divided(period, parts)};
  Turns turns;
  for (const AttemptRecord& attempt : records.attempts) {
    turns[{attempt.namespace_name, attempt.name}].push_back(&attempt);
  }
  Lines classes(history.times, is_stockout);
  Lines shapes(history.times, is_stockout);
  for (const CapacityRecord& request : records.requests) {
    classes.Add(request.class_name, request);
    shapes.Add(ShapeOf(request, turns), request);
  }
  history.classes = classes.Take(history.left_out);
  history.shapes = shapes.Take(history.left_out);
  Pools pools(history.times);
  for (const NodeTimeRecord& node : records.nodes) pools.Add(node);
  for (const PoolSampleRecord& sample : records.samples) pools.Add(sample);
  history.pools = pools.Take(history.left_out);
  return history;
}

}  // namespace berth::ledger
