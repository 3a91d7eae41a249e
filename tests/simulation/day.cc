#include "tests/simulation/day.h"

#include <utility>

#include <gtest/gtest.h>

namespace berth::simulation {
namespace {

const char* WordOf(WorldEvent::Kind kind) {
  switch (kind) {
    case WorldEvent::Kind::kSubmitted: return "submit";
    case WorldEvent::Kind::kStarted: return "start";
    case WorldEvent::Kind::kPreempted: return "preempt";
    case WorldEvent::Kind::kLost: return "lose";
    case WorldEvent::Kind::kFinished: return "finish";
  }
  return "";
}

}  // namespace

Cluster EmptyCluster() {
  Cluster cluster;
  cluster.flavors.emplace_back().meta.name = "default";
  for (const auto& [name, value] : {std::pair("low", -10), std::pair("high", 100)}) {
    api::PriorityClass& made = cluster.priority_classes.emplace_back();
    made.meta.name = name;
    made.value = value;
  }
  return cluster;
}

api::ClusterQueue& AddQueue(Cluster& cluster, const std::string& name, int cpus,
                            const std::string& cohort) {
  api::LocalQueue& local = cluster.local_queues.emplace_back();
  local.meta.name = name;
  local.meta.namespace_name = "team";
  local.cluster_queue = name;
  api::ClusterQueue& queue = cluster.cluster_queues.emplace_back();
  queue.meta.name = name;
  queue.spec.cohort_name = cohort;
  queue.spec.namespace_selector.emplace();
  queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  if (!cohort.empty()) {
    queue.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
  }
  api::ResourceQuota quota;
  quota.resource = "cpu";
  quota.nominal_quota = cpus * 1000;
  queue.spec.resource_groups.push_back({{"cpu"}, {{"default", {quota}}}});
  return queue;
}

Day Play(Cluster cluster, const std::string& csv, Duration wake_up_batch,
         const std::vector<NodePool>& pools) {
  Day day;
  day.cluster = std::move(cluster);
  day.notes = Prepare(day.cluster);
  const Result<Trace> trace = ReadCsv(csv);
  if (!trace) {
    ADD_FAILURE() << trace.error().message;
    return day;
  }
  Result<std::vector<Job>> jobs = BindJobs(*trace, day.cluster, "");
  if (!jobs) {
    ADD_FAILURE() << jobs.error().message;
    return day;
  }
  day.jobs = *std::move(jobs);
  WorldOptions options;
  options.driver.wake_up_batch = wake_up_batch;
  options.pools = pools;
  RunRecorder recorder;
  options.on_event = [&day, &recorder](const WorldEvent& event) {
    recorder.Note(event);
    day.events.push_back(std::to_string(event.at / std::chrono::seconds(1)) + " " +
                         WordOf(event.kind) + " " + std::to_string(event.job));
  };
  day.result = World(day.cluster, day.jobs, options).Run();
  day.runs = recorder.Take(day.result.end);
  return day;
}

}  // namespace berth::simulation
