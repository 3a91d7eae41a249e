// Goal: what `berth what-if` tells of a change is what the change does to the jobs that wait.
// Method: clusters whose truth is known. A queue is played on the scheduler for days, with run
// times that a forecast learns from the runs that have ended; at one moment the rest is played
// twice, as it is and with the change, jobs that arrive later included; what-if has the cluster of
// that moment alone.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/reasons.h"
#include "base/random.h"
#include "forecast/forecast_cluster.h"
#include "forecast/what_if_changes.h"
#include "simulation/present_workloads.h"
#include "simulation/what_if.h"
#include "tests/simulation/day.h"
#include "tests/simulation/standing_cluster.h"

namespace berth::forecast {
namespace {

using simulation::kNow;
using std::chrono::seconds;

constexpr int kCpus = 16;
constexpr char kQueue[] = "a";

// A job of the true history; times are seconds from the first arrival.
struct TrueJob {
  std::string name;
  std::int64_t submit = 0;
  std::int64_t run = 0;
  int cpus = 1;
  std::int64_t start = -1;  // -1: after the moment
};

// Twelve people with a size and a usual run time each, whose jobs fill the queue a little over its
// capacity.
std::vector<TrueJob> JobsOfDays(std::uint64_t seed, int count) {
  Random random(seed);
  const auto normal = [&random] {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.Unit();
    return sum;
  };
  struct Person {
    double log_run;
    int cpus;
  };
  std::vector<Person> people;
  for (int i = 0; i < 12; ++i) {
    people.push_back({std::log(1200.0) + normal(), 1 << random.Below(4)});
  }
  std::vector<TrueJob> jobs;
  double work = 0;
  for (int i = 0; i < count; ++i) {
    const std::size_t who = random.Below(people.size());
    TrueJob& job = jobs.emplace_back();
    job.name = std::string(1, static_cast<char>('a' + who)) + "x-" + std::to_string(i);
    job.cpus = people[who].cpus;
    job.run =
        std::max<std::int64_t>(30, std::llround(std::exp(people[who].log_run + 0.5 * normal())));
    work += static_cast<double>(job.run * job.cpus);
  }
  const double span = work / kCpus / 0.95;
  for (TrueJob& job : jobs) job.submit = std::llround(random.Unit() * span);
  std::sort(jobs.begin(), jobs.end(),
            [](const TrueJob& a, const TrueJob& b) { return a.submit < b.submit; });
  return jobs;
}

simulation::WorldOptions Options() {
  simulation::WorldOptions options;
  options.start = kNow;
  return options;
}

simulation::Cluster ClusterOf(int cpus) {
  simulation::Cluster cluster = simulation::EmptyCluster();
  simulation::AddQueue(cluster, kQueue, cpus);
  return cluster;
}

// The starts of the jobs on the scheduler, from an empty cluster on.
void PlayDays(std::vector<TrueJob>& jobs) {
  std::string csv = "submit,cpu,run\n";
  for (const TrueJob& job : jobs) {
    csv += std::to_string(job.submit) + "," + std::to_string(job.cpus) + "," +
           std::to_string(job.run) + "\n";
  }
  const simulation::Day day = simulation::Play(ClusterOf(kCpus), csv, seconds(1));
  const std::int64_t first = jobs.front().submit;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto started = day.result.outcomes[i].started;
    jobs[i].submit -= first;
    jobs[i].start = std::chrono::floor<seconds>(*started).count();
  }
}

// The cluster at a moment: what has ended, what runs and what waits.
struct Moment {
  view::ClusterView view;
  std::map<std::string, std::int64_t> runs;  // true run times, by uid
  std::vector<simulation::Job> later;        // jobs that arrive after it
};

std::shared_ptr<const simulation::JobShape> ShapeOf(const api::Workload& workload) {
  auto shape = std::make_shared<simulation::JobShape>();
  shape->pod_sets = workload.spec.pod_sets;
  return shape;
}

Moment MomentOf(const std::vector<TrueJob>& jobs, std::int64_t at) {
  Moment moment;
  const simulation::Cluster cluster = ClusterOf(kCpus);
  moment.view.now = kNow;
  moment.view.cluster_queues = cluster.cluster_queues;
  moment.view.local_queues = cluster.local_queues;
  moment.view.flavors = cluster.flavors;
  for (const TrueJob& job : jobs) {
    if (job.submit > at) {
      simulation::Job& later = moment.later.emplace_back();
      later.submit = seconds(job.submit - at);
      later.run = seconds(job.run);
      later.shape = ShapeOf(simulation::WaitingWorkload(job.name, kQueue, job.cpus));
      continue;
    }
    const bool has_run = job.start <= at;
    api::Workload workload =
        has_run ? simulation::RunningWorkload(job.name, kQueue, job.cpus, at - job.start)
                : simulation::WaitingWorkload(job.name, kQueue, job.cpus);
    workload.meta.creation_timestamp = kNow - seconds(at - job.submit);
    if (has_run && job.start + job.run <= at) {
      simulation::AddCondition(workload, api::kFinished, true, api::kSucceeded,
                               at - job.start - job.run);
    }
    moment.runs[workload.meta.uid] = job.run;
    moment.view.workloads.push_back(std::move(workload));
  }
  return moment;
}

// When the jobs of the view start in truth, from the moment on, by uid; those that run have no
// place here.
std::map<std::string, Duration> TruthOf(const Moment& moment, const view::ClusterView& view) {
  const ForecastCluster cluster = MakeForecastCluster(view, {});
  std::vector<simulation::Job> jobs = simulation::MakeStanding(cluster.workloads, view.now).jobs;
  const std::size_t standing = jobs.size();
  for (simulation::Job& job : jobs) {
    job.run = seconds(moment.runs.at(job.object->meta.uid));
    if (simulation::HasRun(*job.object)) {
      job.left = job.run - (view.now - simulation::RunningSince(*job.object, view.now));
    }
  }
  jobs.insert(jobs.end(), moment.later.begin(), moment.later.end());
  const simulation::WorldResult result = simulation::World(cluster.cluster, jobs, Options()).Run();
  std::map<std::string, Duration> starts;
  for (std::size_t i = 0; i < standing; ++i) {
    if (simulation::IsRunning(*jobs[i].object)) continue;
    starts[jobs[i].object->meta.uid] = result.outcomes[i].started.value();
  }
  return starts;
}

// Later starts of the jobs that wait in both, in hours.
struct Effect {
  double told = 0;
  double truth = 0;
};

Effect EffectOf(const Moment& moment, const WhatIfOptions& options) {
  const ForecastCluster before = MakeForecastCluster(moment.view, {});
  auto changed = ChangeView(moment.view, {.options = options, .default_namespace = "team"});
  if (!changed) throw std::runtime_error(changed.error().message);
  const auto truth_before = TruthOf(moment, moment.view);
  const auto truth_after = TruthOf(moment, changed->view);
  const ForecastCluster after = WithView(before, std::move(changed->view));
  const ForecastJobs jobs_before = ForecastJobsOf(before);
  const ForecastJobs jobs_after = ForecastJobsOf(after);
  simulation::ForecastOptions draws = ForecastOptionsOf(before);
  draws.draws = 20;
  draws.until = simulation::ForecastUntil::kFinished;
  const auto first = simulation::MakeForecast(before.cluster, jobs_before.jobs, draws);
  const auto second =
      simulation::MakeForecast(after.cluster, jobs_after.jobs, ForecastOptionsOf(after, draws));
  Effect effect;
  const auto hours = [](Duration span) {
    return std::chrono::duration<double>(span).count() / 3600;
  };
  for (const auto& change :
       simulation::CompareForecasts({jobs_before.jobs, first}, {jobs_after.jobs, second})) {
    if (change.runs) continue;
    effect.told += hours(change.shift);
    const std::string& uid = change.workload->meta.uid;
    effect.truth += hours(truth_after.at(uid) - truth_before.at(uid));
  }
  return effect;
}

// The moment in the last two thirds of the days at which most jobs wait.
std::int64_t Busiest(const std::vector<TrueJob>& jobs) {
  std::int64_t busiest = 0;
  std::ptrdiff_t most = -1;
  for (const TrueJob& job : jobs) {
    const std::int64_t at = job.submit;
    if (at < jobs.back().submit / 3 || at > jobs.back().submit * 9 / 10) continue;
    const auto waiting = std::count_if(jobs.begin(), jobs.end(), [at](const TrueJob& each) {
      return each.submit <= at && each.start > at;
    });
    if (waiting > most) {
      most = waiting;
      busiest = at;
    }
  }
  return busiest;
}

// The place of the middle one of `values`.
double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

constexpr std::uint64_t kWorlds = 21;

Moment MomentOfWorld(std::uint64_t seed) {
  std::vector<TrueJob> jobs = JobsOfDays(seed, 400);
  PlayDays(jobs);
  return MomentOf(jobs, Busiest(jobs));
}

void PutOnNode(view::ClusterView& view, const std::string& job) {
  view.pods.push_back(
      {.namespace_name = "team", .name = job + "-pod", .job_name = job, .node_name = "n1"});
}

// Four of five runs took ten minutes, the fifth takes a hundred, ninety of which are over.
TEST(WhatIfTruthTest, StoppedRunStartsFromItsBeginning) {
  std::vector<TrueJob> jobs;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t run = i % 5 == 4 ? 6000 : 600;
    jobs.push_back({"ax-" + std::to_string(i), i * 6000, run, kCpus, i * 6000});
  }
  jobs.push_back({"ax-20", 200'000, 6000, kCpus, 200'000});
  jobs.push_back({"bx-1", 200'100, 60, kCpus, 206'000});
  jobs.push_back({"bx-2", 200'200, 60, kCpus, 206'060});
  Moment moment = MomentOf(jobs, 205'400);
  PutOnNode(moment.view, "ax-20");
  const Effect effect = EffectOf(moment, {.nodes = {"n1"}});
  EXPECT_NEAR(effect.truth, 2 * 1.5, 0.01);
  EXPECT_NEAR(effect.told, 2 * 1.5, 0.01);
}

TEST(WhatIfTruthTest, EffectOfMoreQuotaIsForecastWithinAFactor) {
  std::vector<double> ratios;
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    const Effect effect = EffectOf(MomentOfWorld(seed), {.quota = {"a/default/cpu=+8"}});
    EXPECT_LT(effect.told, 0) << seed;
    EXPECT_LT(effect.truth, 0) << seed;
    ratios.push_back(effect.told / effect.truth);
  }
  EXPECT_GT(MedianOf(ratios), 1 / 1.5);
  EXPECT_LT(MedianOf(ratios), 1.5);
}

// The node has the job that has run for longest.
TEST(WhatIfTruthTest, EffectOfARemovedNodeIsForecastWithinAFactor) {
  std::vector<double> ratios;
  std::uint64_t right = 0;
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    Moment moment = MomentOfWorld(seed);
    const api::Workload* longest = nullptr;
    for (const api::Workload& each : moment.view.workloads) {
      if (view::IsFinished(each) || !simulation::IsRunning(each)) continue;
      if (longest == nullptr ||
          simulation::RunningSince(each, kNow) < simulation::RunningSince(*longest, kNow)) {
        longest = &each;
      }
    }
    ASSERT_NE(longest, nullptr);
    PutOnNode(moment.view, longest->meta.owner_references[0].name);
    const Effect effect = EffectOf(moment, {.nodes = {"n1"}});
    if ((effect.told > 0) == (effect.truth > 0)) ++right;
    ratios.push_back(effect.told / effect.truth);
  }
  EXPECT_GE(right, kWorlds * 9 / 10);
  EXPECT_GT(MedianOf(ratios), 1 / 1.5);
  EXPECT_LT(MedianOf(ratios), 1.5);
}

}  // namespace
}  // namespace berth::forecast
