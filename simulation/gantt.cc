#include "simulation/gantt.h"

#include <algorithm>
#include <map>
#include <utility>

namespace berth::simulation {
namespace {

// The rows and where the bars of a key begin to go.
class Drawing {
 public:
  explicit Drawing(const GanttLimits& limits) : limits_(limits) {}

  void AddRow(std::int64_t key, std::string name, std::optional<NodeLife> node) {
    if (gantt_.rows.size() == limits_.rows) {
      ++gantt_.more_rows;
      return;
    }
    rows_[key] = gantt_.rows.size();
    gantt_.rows.push_back({std::move(name), node, 0, {}});
    free_from_.emplace_back();
  }

  // Bars come by their starts.
  void AddBar(std::int64_t key, GanttBar bar) {
    const auto row = rows_.find(key);
    if (row == rows_.end()) return;
    std::vector<Duration>& lanes = free_from_[row->second];
    auto lane = std::find_if(lanes.begin(), lanes.end(),
                             [&bar](Duration free_from) { return free_from <= bar.start; });
    if (bars_ == limits_.bars || (lane == lanes.end() && lanes.size() == limits_.lanes)) {
      ++gantt_.more_bars;
      return;
    }
    if (lane == lanes.end()) lane = lanes.insert(lane, Duration{});
    *lane = bar.end;
    bar.lane = static_cast<std::size_t>(lane - lanes.begin());
    GanttRow& drawn = gantt_.rows[row->second];
    drawn.lanes = lanes.size();
    drawn.bars.push_back(std::move(bar));
    ++bars_;
  }

  Gantt Take() { return std::move(gantt_); }

 private:
  GanttLimits limits_;
  Gantt gantt_;
  std::map<std::int64_t, std::size_t> rows_;      // index by node, or by LocalQueue
  std::vector<std::vector<Duration>> free_from_;  // when each lane of a row is free
  std::size_t bars_ = 0;
};

GanttBar BarOf(const Cluster& cluster, const Job& job, const JobRun& run) {
  const api::LocalQueue& queue = cluster.local_queues[job.local_queue];
  return {.start = run.start,
          .end = run.end,
          .line = job.line,
          .local_queue = queue.meta.namespace_name + "/" + queue.meta.name,
          .cluster_queue = queue.cluster_queue,
          .finished = run.finished};
}

void AddNodes(const std::vector<NodePool>& pools, const WorldResult& result, Drawing& drawing) {
  std::vector<NodeLife> lives = result.nodes;
  std::sort(lives.begin(), lives.end(),
            [](const NodeLife& a, const NodeLife& b) { return a.node < b.node; });
  for (const NodeLife& life : lives) {
    drawing.AddRow(life.node, NodeName(pools, life), life);
  }
}

}  // namespace

Gantt MakeGantt(const Cluster& cluster, const std::vector<Job>& jobs,
                const std::vector<NodePool>& pools, const WorldResult& result,
                const std::vector<JobRun>& runs, const GanttLimits& limits) {
  Drawing drawing(limits);
  if (!pools.empty()) {
    AddNodes(pools, result, drawing);
  } else {
    for (std::size_t i = 0; i < cluster.local_queues.size(); ++i) {
      const api::ObjectMeta& meta = cluster.local_queues[i].meta;
      drawing.AddRow(static_cast<std::int64_t>(i), meta.namespace_name + "/" + meta.name,
                     std::nullopt);
    }
  }
  for (const JobRun& run : runs) {
    const Job& job = jobs[run.job];
    if (pools.empty()) {
      drawing.AddBar(static_cast<std::int64_t>(job.local_queue), BarOf(cluster, job, run));
    }
    for (const auto& [node, pods] : run.nodes) drawing.AddBar(node, BarOf(cluster, job, run));
  }
  return drawing.Take();
}

}  // namespace berth::simulation
