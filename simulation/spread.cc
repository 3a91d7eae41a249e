#include "simulation/spread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace berth::simulation {
namespace {

Spread SpreadOfValues(const std::vector<double>& values) {
  Spread spread;
  if (values.empty()) return spread;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / (count - 1));
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  spread.least = *least;
  spread.most = *most;
  return spread;
}

// The rows of all runs, in the order of their keys.
class SpreadMaker {
 public:
  void Add(const std::vector<ReportRow>& rows, const ReportRow& total,
           const std::vector<PoolRow>& pools) {
    for (const ReportRow& row : rows) {
      std::vector<Figures>& known = rows_[{row.local_queue, row.priority_class}];
      known.resize(runs_);  // earlier runs without the row
      known.push_back(row.figures);
    }
    totals_.push_back(total.figures);
    for (const PoolRow& pool : pools) pools_[pool.pool].push_back(pool);
    ++runs_;
  }

  SpreadReport Take() {
    SpreadReport report;
    report.runs = static_cast<std::int64_t>(runs_);
    for (auto& [key, figures] : rows_) {
      figures.resize(runs_);
      report.rows.push_back(RowOf(key.first, key.second, figures));
    }
    report.total = RowOf("", "", totals_);
    for (const auto& [name, rows] : pools_) {
      const auto of = [&rows = rows](double PoolRow::*field) {
        std::vector<double> values;
        for (const PoolRow& row : rows) values.push_back(row.*field);
        return SpreadOfValues(values);
      };
      report.pools.push_back({name, of(&PoolRow::peak), of(&PoolRow::node_hours),
                              of(&PoolRow::busy), of(&PoolRow::cost)});
    }
    return report;
  }

 private:
  static SpreadRow RowOf(const std::string& local_queue, const std::string& priority_class,
                         const std::vector<Figures>& figures) {
    return {.local_queue = local_queue,
            .priority_class = priority_class,
            .measures = MeasuresOf(figures),
            .used = ByResource(figures, &Figures::used),
            .destroyed = ByResource(figures, &Figures::destroyed),
            .charged = ByResource(figures, &Figures::charged),
            .utilisation = ByResource(figures, &Figures::utilisation)};
  }

  static SpreadByResource ByResource(const std::vector<Figures>& figures,
                                     UnitHours Figures::*field) {
    std::map<api::ResourceName, std::vector<double>> values;
    for (const Figures& each : figures) {
      for (const auto& [resource, value] : each.*field) values[resource];
    }
    SpreadByResource spreads;
    for (auto& [resource, list] : values) {
      for (const Figures& each : figures) {
        const auto found = (each.*field).find(resource);
        list.push_back(found == (each.*field).end() ? 0 : found->second);
      }
      spreads[resource] = SpreadOfValues(list);
    }
    return spreads;
  }

  static std::vector<Spread> MeasuresOf(const std::vector<Figures>& figures) {
    std::vector<Spread> spreads;
    for (const Measure& measure : Measures()) {
      std::vector<double> values;
      values.reserve(figures.size());
      for (const Figures& each : figures) values.push_back(each.*measure.value);
      spreads.push_back(SpreadOfValues(values));
    }
    return spreads;
  }

  std::size_t runs_ = 0;
  std::map<std::pair<std::string, std::string>, std::vector<Figures>> rows_;
  std::vector<Figures> totals_;
  std::map<std::string, std::vector<PoolRow>> pools_;
};

}  // namespace

SpreadReport SpreadOf(const std::vector<Report>& reports) {
  SpreadMaker maker;
  for (const Report& each : reports) maker.Add(each.rows, each.total, each.pools);
  return maker.Take();
}

SpreadReport SpreadOfDifferences(const std::vector<Report>& before,
                                 const std::vector<Report>& after) {
  SpreadMaker maker;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    const Comparison difference = Compare(before[i], after[i]);
    maker.Add(difference.rows, difference.total, difference.pools);
  }
  return maker.Take();
}

}  // namespace berth::simulation
