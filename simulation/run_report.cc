#include "simulation/run_report.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/nearest_rank.h"

namespace berth::simulation {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMinRunSeconds = 10;  // a bound of the bounded slowdown
constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

void AddHours(const api::ResourceAmounts& requests, Duration span, UnitHours& hours) {
  if (span == Duration::zero()) return;
  for (const auto& [resource, amount] : requests) {
    hours[resource] += UnitsOf(resource, amount) * SecondsOf(span) / kSecondsPerHour;
  }
}

// Jobs of one row, while they are counted.
struct Tally {
  Figures figures;
  std::vector<double> waits;
  double slowdowns = 0;

  void Add(const Job& job, const JobOutcome& outcome, Duration submitted) {
    ++figures.jobs;
    figures.preemptions += outcome.preemptions;
    figures.evictions += outcome.evictions;
    if (outcome.started) {
      waits.push_back(SecondsOf(*outcome.started - submitted));
    }
    AddHours(job.shape->requests, outcome.lost, figures.destroyed);
    if (!outcome.finished) {
      ++figures.unfinished;
      return;
    }
    ++figures.finished;
    if (job.failed) ++figures.failed;
    AddHours(job.shape->requests, job.run, figures.used);
    const double response = SecondsOf(*outcome.finished - submitted);
    slowdowns += std::max(1.0, response / std::max(SecondsOf(job.run), kMinRunSeconds));
  }

  Figures Take() {
    if (figures.finished > 0) figures.slowdown = slowdowns / figures.finished;
    if (waits.empty()) return figures;
    std::sort(waits.begin(), waits.end());
    double sum = 0;
    for (const double wait : waits) sum += wait;
    const auto rank = [this](double share) { return waits[NearestRank(share, waits.size())]; };
    figures.wait_mean = sum / static_cast<double>(waits.size());
    figures.wait_p50 = rank(0.5);
    figures.wait_p90 = rank(0.9);
    figures.wait_p99 = rank(0.99);
    return figures;
  }
};

std::vector<QuotaRow> QuotaRows(const Cluster& cluster,
                                const std::map<std::string, UnitHours>& used, double hours) {
  std::vector<QuotaRow> rows;
  for (const api::ClusterQueue& queue : cluster.cluster_queues) {
    UnitHours nominal;
    for (const api::ResourceGroup& group : queue.spec.resource_groups) {
      for (const api::FlavorQuotas& flavor : group.flavors) {
        for (const api::ResourceQuota& quota : flavor.resources) {
          nominal[quota.resource] += UnitsOf(quota.resource, quota.nominal_quota);
        }
      }
    }
    const auto of_queue = used.find(queue.meta.name);
    for (const auto& [resource, units] : nominal) {
      QuotaRow row{.cluster_queue = queue.meta.name, .resource = resource, .nominal = units};
      if (of_queue != used.end()) {
        const auto found = of_queue->second.find(resource);
        if (found != of_queue->second.end()) row.used = found->second;
      }
      if (units > 0 && hours > 0) row.utilisation = row.used / (units * hours);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<PoolRow> PoolRows(const std::vector<PoolUse>& pools,
                              const std::vector<NodeLife>& nodes) {
  std::vector<PoolRow> rows;
  for (const PoolUse& use : pools) {
    const double hours = SecondsOf(use.node_time) / kSecondsPerHour;
    const double busy = SecondsOf(use.busy_time) / kSecondsPerHour;
    rows.push_back({.pool = use.name,
                    .peak = static_cast<double>(use.peak),
                    .node_hours = hours,
                    .busy = hours > 0 ? busy / hours : 0,
                    .boot_hours = 0,
                    .cost = hours * use.price_per_hour});
  }
  for (const NodeLife& node : nodes) {
    const Duration boot = std::min(node.ready, node.gone) - node.made;
    rows[node.pool].boot_hours += SecondsOf(std::max(boot, Duration::zero())) / kSecondsPerHour;
  }
  return rows;
}

// What an hour of a node has of the resources that jobs request, and costs.
struct NodeHour {
  UnitHours units;
  double price = 0;  // USD
};

std::vector<NodeHour> NodeHoursOf(const std::vector<Job>& jobs,
                                  const std::vector<NodePool>& pools) {
  if (pools.empty()) return {};
  std::set<api::ResourceName> requested;
  const JobShape* last = nullptr;  // jobs of one shape often stand together
  for (const Job& job : jobs) {
    if (job.shape.get() == last) continue;
    last = job.shape.get();
    for (const auto& [resource, amount] : last->requests) requested.insert(resource);
  }
  std::vector<NodeHour> hours;
  for (const NodePool& pool : pools) {
    NodeHour& hour = hours.emplace_back(NodeHour{.units = {}, .price = pool.price_per_hour});
    for (const auto& [resource, amount] : pool.node.allocatable) {
      if (requested.count(resource) > 0) hour.units[resource] = UnitsOf(resource, amount);
    }
  }
  return hours;
}

void Charge(const NodeHour& hour, double hours, Figures& figures) {
  for (const auto& [resource, units] : hour.units) figures.charged[resource] += units * hours;
  figures.cost += hour.price * hours;
}

void ChargeAll(const std::vector<NodeHour>& node_hours, const std::vector<NodeTime>& times,
               Figures& figures) {
  for (const NodeTime& time : times) {
    Charge(node_hours[time.pool], time.seconds / kSecondsPerHour, figures);
  }
}

UnitHours SumOf(const UnitHours& one, const UnitHours& other) {
  UnitHours sum = one;
  for (const auto& [resource, hours] : other) sum[resource] += hours;
  return sum;
}

// The share of the quota in `quota`, of the ClusterQueue or of all (an empty name), that the row
// used.
std::map<api::ResourceName, double> UtilisationOf(const Figures& figures,
                                                  const std::vector<QuotaRow>& quota,
                                                  const std::string& cluster_queue, double hours) {
  std::map<api::ResourceName, double> nominal;
  for (const QuotaRow& row : quota) {
    if (cluster_queue.empty() || row.cluster_queue == cluster_queue) {
      nominal[row.resource] += row.nominal;
    }
  }
  const UnitHours used = SumOf(figures.used, figures.destroyed);
  std::map<api::ResourceName, double> shares;
  for (const auto& [resource, units] : nominal) {
    if (units <= 0 || hours <= 0) continue;
    const auto found = used.find(resource);
    shares[resource] = found == used.end() ? 0 : found->second / (units * hours);
  }
  return shares;
}

UnitHours Less(const UnitHours& after, const UnitHours& before) {
  UnitHours difference = after;
  for (const auto& [resource, hours] : before) difference[resource] -= hours;
  return difference;
}

Figures Less(const Figures& after, const Figures& before) {
  Figures difference;
  for (const Measure& measure : Measures()) {
    difference.*measure.value = after.*measure.value - before.*measure.value;
  }
  difference.used = Less(after.used, before.used);
  difference.destroyed = Less(after.destroyed, before.destroyed);
  difference.charged = Less(after.charged, before.charged);
  difference.utilisation = Less(after.utilisation, before.utilisation);
  return difference;
}

// What the rows say of quota, and the total of all nodes.
void FinishFigures(const std::vector<NodeHour>& node_hours, const WorldResult& result,
                   Report& report) {
  const auto finish = [&](Figures& figures, const std::string& cluster_queue) {
    if (node_hours.empty()) figures.charged = SumOf(figures.used, figures.destroyed);
    figures.utilisation = UtilisationOf(figures, report.quota, cluster_queue, report.hours);
  };
  for (ReportRow& row : report.rows) finish(row.figures, row.cluster_queue);
  finish(report.total.figures, "");
  for (std::size_t i = 0; i < std::min(node_hours.size(), result.pools.size()); ++i) {
    Charge(node_hours[i], SecondsOf(result.pools[i].node_time) / kSecondsPerHour,
           report.total.figures);
  }
}

}  // namespace

double SecondsOf(Duration span) { return std::chrono::duration<double>(span).count(); }

double UnitsOf(const api::ResourceName& resource, api::Amount amount) {
  const auto value = static_cast<double>(amount);
  if (resource == "cpu") return value / 1000;
  if (resource == api::kGpusResource) return value / static_cast<double>(api::kUnitsPerGpu);
  if (resource == "memory" || resource == "ephemeral-storage") return value / kBytesPerGib;
  return value;
}

const std::vector<Measure>& Measures() {
  static const std::vector<Measure> kMeasures{{"jobs", &Figures::jobs},
                                              {"finished", &Figures::finished},
                                              {"unfinished", &Figures::unfinished},
                                              {"waitMean", &Figures::wait_mean},
                                              {"waitP50", &Figures::wait_p50},
                                              {"waitP90", &Figures::wait_p90},
                                              {"waitP99", &Figures::wait_p99},
                                              {"slowdown", &Figures::slowdown},
                                              {"preemptions", &Figures::preemptions},
                                              {"evictions", &Figures::evictions},
                                              {"failed", &Figures::failed},
                                              {"cost", &Figures::cost}};
  return kMeasures;
}

Report MakeReport(const Cluster& cluster, const std::vector<Job>& jobs, const WorldResult& result,
                  const std::vector<NodePool>& pools, const Charges& charges,
                  const std::vector<double>& costs) {
  using Key = std::tuple<std::size_t, std::int64_t, std::string>;  // queue, priority falling, class
  std::map<Key, Tally> tallies;
  Tally all;
  std::map<std::string, UnitHours> used;
  std::map<std::pair<std::size_t, std::string>, UnfinishedRow> unfinished;
  const std::vector<NodeHour> node_hours = NodeHoursOf(jobs, pools);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const JobOutcome& outcome = result.outcomes[i];
    const Duration submitted = outcome.submitted.value_or(Duration::zero());
    const std::int64_t falling = -static_cast<std::int64_t>(job.priority);
    Tally& tally = tallies[{job.local_queue, falling, job.priority_class}];
    tally.Add(job, outcome, submitted);
    if (!charges.empty()) ChargeAll(node_hours, charges[i], tally.figures);
    all.Add(job, outcome, submitted);
    if (!costs.empty()) {
      tally.figures.cost += costs[i];
      all.figures.cost += costs[i];
    }
    UnitHours& of_queue = used[cluster.local_queues[job.local_queue].cluster_queue];
    AddHours(job.shape->requests, outcome.lost, of_queue);
    if (outcome.finished) AddHours(job.shape->requests, job.run, of_queue);
    if (outcome.finished) continue;
    UnfinishedRow& row = unfinished[{job.local_queue, outcome.why}];
    if (++row.jobs == 1) row.first_line = job.line;
  }
  Report report;
  for (auto& [key, tally] : tallies) {
    const api::LocalQueue& queue = cluster.local_queues[std::get<0>(key)];
    report.rows.push_back(
        {queue.meta.key().ToString(), queue.cluster_queue, std::get<2>(key), tally.Take()});
  }
  report.total.figures = all.Take();
  for (auto& [key, row] : unfinished) {
    row.local_queue = cluster.local_queues[key.first].meta.key().ToString();
    row.why = key.second;
    report.unfinished.push_back(row);
  }
  report.hours = SecondsOf(result.end) / kSecondsPerHour;
  report.quota = QuotaRows(cluster, used, report.hours);
  FinishFigures(node_hours, result, report);
  report.pools = PoolRows(result.pools, result.nodes);
  report.cycles = result.cycles;
  report.decisions = result.decisions;
  report.stopped_early = result.stopped_early;
  return report;
}

Comparison Compare(const Report& before, const Report& after) {
  Comparison comparison;
  std::map<std::pair<std::string, std::string>, std::pair<const ReportRow*, const ReportRow*>> rows;
  for (const ReportRow& row : before.rows) rows[{row.local_queue, row.priority_class}].first = &row;
  for (const ReportRow& row : after.rows) rows[{row.local_queue, row.priority_class}].second = &row;
  const ReportRow none;
  for (const auto& [key, pair] : rows) {
    const ReportRow& old_row = pair.first != nullptr ? *pair.first : none;
    const ReportRow& new_row = pair.second != nullptr ? *pair.second : none;
    comparison.rows.push_back(
        {key.first, pair.second != nullptr ? new_row.cluster_queue : old_row.cluster_queue,
         key.second, Less(new_row.figures, old_row.figures)});
  }
  comparison.total.figures = Less(after.total.figures, before.total.figures);
  std::map<std::pair<std::string, std::string>, QuotaRow> quota;
  const auto add = [&quota](const std::vector<QuotaRow>& list, double sign) {
    for (const QuotaRow& each : list) {
      QuotaRow& row = quota[{each.cluster_queue, each.resource}];
      row.cluster_queue = each.cluster_queue;
      row.resource = each.resource;
      row.nominal += sign * each.nominal;
      row.used += sign * each.used;
      row.utilisation += sign * each.utilisation;
    }
  };
  add(after.quota, 1);
  add(before.quota, -1);
  for (auto& [key, row] : quota) comparison.quota.push_back(row);
  // Both runs have the same pools.
  for (std::size_t i = 0; i < std::min(before.pools.size(), after.pools.size()); ++i) {
    const PoolRow& old_pool = before.pools[i];
    const PoolRow& new_pool = after.pools[i];
    comparison.pools.push_back(
        {new_pool.pool, new_pool.peak - old_pool.peak, new_pool.node_hours - old_pool.node_hours,
         new_pool.busy - old_pool.busy, new_pool.boot_hours - old_pool.boot_hours,
         new_pool.cost - old_pool.cost});
  }
  return comparison;
}

}  // namespace berth::simulation
