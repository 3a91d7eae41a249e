// Goal: in any day every job finishes or is told why not, quota is never exceeded, and the same
// input gives the same day; CPU-seconds are counted once. Method: random queues of one cohort and
// random jobs; the events are played into a plain count of usage.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "simulation/node_charges.h"
#include "simulation/run_report.h"
#include "tests/simulation/day.h"
#include "tests/support/property.h"

namespace berth::simulation {
namespace {

using support::Below;

struct Story {
  Cluster cluster = EmptyCluster();
  std::string csv = "submit,queue,class,pods,cpu,run\n";
  int cpus = 0;  // nominal, of the cohort
};

// Two to four queues; without limits on borrowing each queue may use the whole cohort.
Story AnyStory(bool limits) {
  constexpr const char* kClasses[] = {"", "low", "high", "7"};
  Story story;
  const int queues = 2 + *Below(3);
  for (int i = 0; i < queues; ++i) {
    const int cpus = *Below(5);
    story.cpus += cpus;
    api::ClusterQueue& queue = AddQueue(story.cluster, "q" + std::to_string(i), cpus, "org");
    if (*Below(2) == 0) queue.spec.preemption = {};
    if (!limits) continue;
    if (*Below(4) == 0) queue.spec.queueing_strategy = api::QueueingStrategy::kStrictFifo;
    if (*Below(2) == 0) {
      queue.spec.resource_groups[0].flavors[0].resources[0].borrowing_limit = *Below(3) * 1000;
    }
  }
  const int jobs = *Below(40);
  for (int i = 0; i < jobs; ++i) {
    std::ostringstream row;
    row << *Below(60) << ",q" << *Below(queues) << "," << kClasses[*Below(4)] << ","
        << 1 + *Below(3) << "," << 1 + *Below(3) << "," << *Below(50) << "\n";
    story.csv += row.str();
  }
  return story;
}

// The CPUs of each ClusterQueue, kept up to date by the events.
class Count {
 public:
  explicit Count(const Day& day) : day_(day) {}

  void Play() {
    for (const std::string& event : day_.events) {
      std::istringstream words(event);
      std::int64_t at = 0;
      std::string what;
      std::size_t job = 0;
      words >> at >> what >> job;
      Step(what, job);
    }
  }
  bool is_running(std::size_t job) const { return running_.count(job) > 0; }

 private:
  void Step(const std::string& what, std::size_t job) {
    const Job& told = day_.jobs[job];
    const std::string& name = day_.cluster.local_queues[told.local_queue].cluster_queue;
    api::Amount& used = used_[name];
    const api::Amount cpus = told.shape->requests.at("cpu");
    if (what == "submit") return RC_ASSERT(submitted_.insert(job).second);
    if (what == "start") {
      RC_ASSERT(submitted_.count(job) == 1U);
      RC_ASSERT(running_.insert(job).second);
      used += cpus;
      return CheckQuota();
    }
    RC_ASSERT(running_.erase(job) == 1U);
    used -= cpus;
  }

  void CheckQuota() const {
    api::Amount used = 0;
    api::Amount nominal = 0;
    for (const api::ClusterQueue& queue : day_.cluster.cluster_queues) {
      const api::ResourceQuota& quota = queue.spec.resource_groups[0].flavors[0].resources[0];
      const auto found = used_.find(queue.meta.name);
      const api::Amount own = found == used_.end() ? 0 : found->second;
      used += own;
      nominal += quota.nominal_quota;
      if (quota.borrowing_limit) RC_ASSERT(own <= quota.nominal_quota + *quota.borrowing_limit);
    }
    RC_ASSERT(used <= nominal);
  }

  const Day& day_;
  std::set<std::size_t> submitted_;
  std::set<std::size_t> running_;
  std::map<std::string, api::Amount> used_;
};

// The time of each pool is charged to jobs once, but for nodes on which nothing ran.
void CheckCharges(const Day& day, const std::vector<NodePool>& pools) {
  std::vector<double> charged(pools.size());
  for (const auto& times : ChargesOf(day.jobs, pools, day.result, day.runs)) {
    for (const NodeTime& time : times) charged[time.pool] += time.seconds;
  }
  std::set<NodeId> used;
  for (const JobRun& run : day.runs) {
    for (const auto& [node, pods] : run.nodes) used.insert(node);
  }
  for (const NodeLife& life : day.result.nodes) {
    if (used.count(life.node) > 0) charged[life.pool] -= SecondsOf(life.gone - life.made);
  }
  for (const double rest : charged) RC_ASSERT(std::abs(rest) < 1e-6);
}

// CPU-seconds of the runs, of the report's used and destroyed hours, and of the area of the
// timeline are one number.
void CheckConservation(const Day& day, const std::vector<NodePool>& pools) {
  constexpr double kHour = 3600;
  double of_runs = 0;
  for (const JobRun& run : day.runs) {
    const double cpus = UnitsOf("cpu", day.jobs[run.job].shape->requests.at("cpu"));
    of_runs += cpus * SecondsOf(run.end - run.start);
  }
  const Figures figures = MakeReport(day.cluster, day.jobs, day.result, pools).total.figures;
  double of_report = 0;
  for (const UnitHours* hours : {&figures.used, &figures.destroyed}) {
    const auto found = hours->find("cpu");
    if (found != hours->end()) of_report += found->second * kHour;
  }
  const Timeline timeline = MakeTimeline(day.cluster, day.jobs, pools, day.result, day.runs,
                                         {.resource = "cpu", .steps = 7, .queues = 2});
  const double step = SecondsOf(timeline.end) / 7;
  double of_use = 0;
  double of_queues = 0;
  for (const double value : timeline.in_use) of_use += value * step;
  for (const Series& series : timeline.shares) {
    for (const double value : series.values) of_queues += value * step;
  }
  for (const double other : {of_report, of_use, of_queues}) {
    RC_ASSERT(std::abs(of_runs - other) < 1e-6 * std::max(1.0, of_runs));
  }
}

TEST(WorldProperty, NoJobIsLostAndNoQuotaExceeded) {
  support::CheckProperty(300, [] {
    const Story story = AnyStory(true);
    const Day day = Play(story.cluster, story.csv, std::chrono::seconds(*Below(2)));
    RC_ASSERT(!day.result.stopped_early);
    Count count(day);
    count.Play();
    for (std::size_t i = 0; i < day.jobs.size(); ++i) {
      const JobOutcome& outcome = day.result.outcomes[i];
      RC_ASSERT(!count.is_running(i));
      // A preempted job may end up behind a job that a StrictFIFO queue never admits.
      RC_ASSERT(outcome.started.has_value() || !outcome.finished.has_value());
      RC_ASSERT(outcome.finished.has_value() == outcome.why.empty());
      RC_ASSERT(outcome.preemptions > 0 || outcome.lost == Duration::zero());
      if (outcome.finished) RC_ASSERT(*outcome.finished >= *outcome.started + day.jobs[i].run);
    }
    CheckConservation(day, {});
  });
}

TEST(WorldProperty, NodesAreNeverOvercommittedAndLoseNoJob) {
  support::CheckProperty(200, [] {
    const Story story = AnyStory(true);
    std::vector<NodePool> pools(1 + static_cast<std::size_t>(*Below(2)));
    for (NodePool& pool : pools) {
      pool.name = "pool";
      pool.node.allocatable = {{"cpu", (1 + *Below(4)) * 1000}};
      pool.max_nodes = *Below(5);
      pool.min_nodes = *Below(2) == 0 ? 0 : pool.max_nodes / 2;
      pool.boot = std::chrono::seconds(*Below(30));
      pool.idle = std::chrono::seconds(*Below(60));
      if (*Below(3) == 0) pool.evicted_after = std::chrono::seconds(1 + *Below(100));
      if (*Below(3) == 0) pool.evictions_per_hour = *Below(200);
    }
    const Day day = Play(story.cluster, story.csv, std::chrono::seconds(*Below(2)), pools);
    RC_ASSERT(!day.result.stopped_early);
    for (std::size_t i = 0; i < day.jobs.size(); ++i) {
      const JobOutcome& outcome = day.result.outcomes[i];
      RC_ASSERT(outcome.finished.has_value() == outcome.why.empty());
      RC_ASSERT(outcome.evictions <= kMostLostRuns);
      const bool lost_some = outcome.preemptions + outcome.evictions > 0;
      RC_ASSERT(lost_some || outcome.lost == Duration::zero());
    }
    CheckCharges(day, pools);
    CheckConservation(day, pools);
    for (std::size_t i = 0; i < pools.size(); ++i) {
      RC_ASSERT(day.result.pools[i].peak <= pools[i].max_nodes);
      RC_ASSERT(day.result.pools[i].busy_time <= day.result.pools[i].node_time);
    }
  });
}

TEST(WorldProperty, JobFinishesExactlyWhenItFitsTheCohort) {
  support::CheckProperty(300, [] {
    const Story story = AnyStory(false);
    const Day day = Play(story.cluster, story.csv, std::chrono::seconds(*Below(2)));
    for (std::size_t i = 0; i < day.jobs.size(); ++i) {
      const bool fits = day.jobs[i].shape->requests.at("cpu") <= story.cpus * 1000;
      RC_ASSERT(day.result.outcomes[i].finished.has_value() == fits);
    }
  });
}

TEST(WorldProperty, EqualInputGivesEqualDecisions) {
  support::CheckProperty(100, [] {
    const Story story = AnyStory(true);
    const Day first = Play(story.cluster, story.csv);
    const Day second = Play(story.cluster, story.csv);
    RC_ASSERT(first.events == second.events);
    RC_ASSERT(first.result.decisions == second.result.decisions);
  });
}

}  // namespace
}  // namespace berth::simulation
