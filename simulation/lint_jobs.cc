// The jobs that no state of the queues admits: each alone in the empty cluster.
#include "simulation/lint.h"
#include "simulation/present_workloads.h"
#include "simulation/world.h"

namespace berth::simulation {
namespace {

constexpr WallTime kLintTime{std::chrono::seconds(1'767'225'600)};  // 2026-01-01

// Why the Workload never starts; empty: it starts.
std::string WhyNever(const Cluster& cluster, const std::shared_ptr<const api::Workload>& workload,
                     const admission::SchedulerConfig& scheduler) {
  StandingJobs standing = MakeStanding({workload}, kLintTime);
  if (standing.jobs.empty()) {
    return standing.not_queued.empty() ? "" : standing.not_queued.front().why;
  }
  WorldOptions options;
  options.driver.scheduler = scheduler;
  options.start = kLintTime;
  standing.jobs.front().run = std::chrono::seconds(1);
  const WorldResult result = World(cluster, standing.jobs, options).Run();
  const JobOutcome& outcome = result.outcomes.front();
  if (outcome.started) return "";
  return outcome.why.empty() ? "the scheduler does not admit it" : outcome.why;
}

bool IsStrict(const Cluster& cluster, const api::Workload& workload) {
  for (const api::LocalQueue& local : cluster.local_queues) {
    if (local.meta.name != workload.spec.queue_name ||
        local.meta.namespace_name != workload.meta.namespace_name) {
      continue;
    }
    for (const api::ClusterQueue& queue : cluster.cluster_queues) {
      if (queue.meta.name == local.cluster_queue) {
        return queue.spec.queueing_strategy == api::QueueingStrategy::kStrictFifo;
      }
    }
  }
  return false;
}

}  // namespace

std::vector<LintFinding> LintJobs(const Cluster& cluster, const std::vector<LintJob>& jobs,
                                  const admission::SchedulerConfig& scheduler) {
  std::vector<LintFinding> findings;
  for (const LintJob& job : jobs) {
    const api::Workload& workload = *job.workload;
    if (workload.spec.queue_name.empty()) continue;  // not queued
    const std::string why = WhyNever(cluster, job.workload, scheduler);
    if (why.empty()) continue;
    std::string message = "can never be admitted: " + why;
    if (IsStrict(cluster, workload)) {
      message += "; its queue is StrictFIFO: no job behind it starts";
    }
    findings.push_back({LintSeverity::kError,
                        "never-admitted",
                        job.kind,
                        workload.meta.key().ToString(),
                        {"metadata", "name"},
                        std::move(message)});
  }
  return findings;
}

}  // namespace berth::simulation
