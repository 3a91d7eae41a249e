#include "simulation/timeline.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "simulation/run_report.h"

namespace berth::simulation {
namespace {

// The sum of step functions, as means over equal steps of the time from 0 to the end.
class StepMeans {
 public:
  StepMeans(Duration end, std::size_t steps)
      : step_(std::max(SecondsOf(end), 1e-6) / static_cast<double>(steps)),
        parts_(steps),
        levels_(steps + 1) {}

  // `value` from `from` to `to`; parts outside of the time do not count.
  void Add(Duration from, Duration to, double value) {
    const double steps = static_cast<double>(parts_.size());
    const double begin = std::clamp(SecondsOf(from) / step_, 0.0, steps);
    const double end = std::clamp(SecondsOf(to) / step_, 0.0, steps);
    if (end <= begin) return;
    const auto first = std::min(static_cast<std::size_t>(begin), parts_.size() - 1);
    const auto last = std::min(static_cast<std::size_t>(end), parts_.size() - 1);
    if (first == last) {
      parts_[first] += value * (end - begin);
      return;
    }
    parts_[first] += value * (static_cast<double>(first + 1) - begin);
    parts_[last] += value * (end - static_cast<double>(last));
    levels_[first + 1] += value;  // the whole steps between
    levels_[last] -= value;
  }

  std::vector<double> Means() const {
    std::vector<double> means = parts_;
    double level = 0;
    for (std::size_t i = 0; i < means.size(); ++i) {
      level += levels_[i];
      means[i] = std::max(0.0, means[i] + level);
    }
    return means;
  }

 private:
  double step_;                 // seconds
  std::vector<double> parts_;   // sums for the steps that are covered in part
  std::vector<double> levels_;  // changes at the begin of a step
};

double UnitsIn(const api::ResourceAmounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : UnitsOf(resource, found->second);
}

void AddWaits(const std::vector<Job>& jobs, const WorldResult& result,
              const std::vector<JobRun>& runs, StepMeans& waiting) {
  std::vector<std::optional<Duration>> since(jobs.size());
  for (std::size_t job = 0; job < jobs.size(); ++job) since[job] = result.outcomes[job].submitted;
  for (const JobRun& run : runs) {  // by start: those of one job follow one another
    waiting.Add(*since[run.job], run.start, 1);
    since[run.job] = run.end;
  }
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const bool waits = since[job] && !result.outcomes[job].finished;
    if (waits) waiting.Add(*since[job], result.end, 1);
  }
}

// The largest queues by the sum of their use; the rest together.
std::vector<Series> Largest(const std::map<std::string, StepMeans>& use, std::size_t most) {
  std::vector<std::pair<double, Series>> sorted;
  for (const auto& [name, means] : use) {
    Series series{name, means.Means()};
    double sum = 0;
    for (const double value : series.values) sum += value;
    sorted.emplace_back(sum, std::move(series));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Series> result;
  for (auto& [sum, series] : sorted) {
    if (result.size() < most || sorted.size() == most + 1) {
      result.push_back(std::move(series));
      continue;
    }
    if (result.size() == most)
      result.push_back({"others", std::vector<double>(series.values.size())});
    std::transform(series.values.begin(), series.values.end(), result.back().values.begin(),
                   result.back().values.begin(), std::plus<>());
  }
  return result;
}

}  // namespace

void RunRecorder::Note(const WorldEvent& event) {
  if (event.kind == WorldEvent::Kind::kSubmitted) return;
  if (event.kind == WorldEvent::Kind::kStarted) {
    open_[event.job] = runs_.size();
    JobRun run{.job = event.job, .start = event.at, .placed = event.at, .nodes = {}};
    if (event.nodes != nullptr) {
      run.placed -= event.nodes->boot;
      run.nodes = event.nodes->pods;
    }
    runs_.push_back(std::move(run));
    return;
  }
  const auto open = open_.find(event.job);
  if (open == open_.end()) return;  // preempted while it waited for nodes
  runs_[open->second].end = event.at;
  runs_[open->second].finished = event.kind == WorldEvent::Kind::kFinished;
  open_.erase(open);
}

std::vector<JobRun> RunRecorder::Take(Duration end) {
  for (const auto& [job, run] : open_) runs_[run].end = end;
  open_.clear();
  return std::exchange(runs_, {});
}

Timeline MakeTimeline(const Cluster& cluster, const std::vector<Job>& jobs,
                      const std::vector<NodePool>& pools, const WorldResult& result,
                      const std::vector<JobRun>& runs, const TimelineOptions& options) {
  Timeline timeline;
  timeline.end = result.end;
  StepMeans waiting(result.end, options.steps);
  AddWaits(jobs, result, runs, waiting);
  timeline.waiting = waiting.Means();
  StepMeans in_use(result.end, options.steps);
  std::map<std::string, StepMeans> by_queue;
  for (const JobRun& run : runs) {
    const Job& job = jobs[run.job];
    const double units = UnitsIn(job.shape->requests, options.resource);
    if (units == 0) continue;
    in_use.Add(run.start, run.end, units);
    const std::string& queue = cluster.local_queues[job.local_queue].cluster_queue;
    by_queue.try_emplace(queue, result.end, options.steps)
        .first->second.Add(run.start, run.end, units);
  }
  timeline.in_use = in_use.Means();
  timeline.shares = Largest(by_queue, options.queues);
  if (!pools.empty()) {
    StepMeans there(result.end, options.steps);
    for (const NodeLife& life : result.nodes) {
      there.Add(life.made, life.gone, UnitsIn(pools[life.pool].node.allocatable, options.resource));
    }
    timeline.of_nodes = there.Means();
  }
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const JobOutcome& outcome = result.outcomes[job];
    if (!outcome.started || !outcome.submitted) continue;
    timeline.waits.push_back(SecondsOf(*outcome.started - *outcome.submitted));
  }
  std::sort(timeline.waits.begin(), timeline.waits.end());
  return timeline;
}

}  // namespace berth::simulation
