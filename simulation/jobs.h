// simulation/jobs.h — the jobs of a trace, bound to the queues and priority classes of a cluster.
//
// Units: as simulation/trace.h. Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/workload.h"
#include "base/clock.h"
#include "base/result.h"
#include "simulation/cluster_objects.h"
#include "simulation/trace.h"

namespace berth::simulation {

// Shared by jobs of equal requests.
struct JobShape {
  SharedList<api::PodSet> pod_sets;  // exactly one
  api::ResourceAmounts requests;     // the sum of all pods
};

struct Job {
  std::int64_t line = 0;  // the same as TraceJob::line; 0: the job is none of a trace
  Duration submit{};      // where `after` is set: from the end of the last of these jobs
  Duration run{};
  // From the reservation of quota to the start of the run.
  Duration capacity_wait{};
  // The Workload, where it exists when the run begins (simulation/present_workloads.h); null: World
  // makes it at submission. The fields from `local_queue` on are read only for jobs without
  // `object`.
  std::shared_ptr<const api::Workload> object;
  // The rest of the run, if `object` is admitted; a later run takes `run`.
  Duration left{};
  std::size_t local_queue = 0;  // index in Cluster::local_queues
  std::string user;             // berth.dev/user of the Workload that is made; empty: none
  std::string priority_class;   // the word of the trace; empty: none
  std::int32_t priority = 0;
  // spec.maximumExecutionTimeSeconds of the Workload that is made; nullopt: the job declares none.
  std::optional<std::int32_t> walltime;
  bool failed = false;  // the job fails at the end of its run, and does not run again
  std::shared_ptr<const JobShape> shape;
  std::vector<std::int32_t> after;  // jobs, by index in the result of BindJobs
  // From the start of the run, at most `run`: when jobs that wait for this one may come; nullopt:
  // at its end.
  std::optional<Duration> result;
};

// Binds every job, in the order of submission; jobs of one instant keep the order of the trace, and
// jobs that wait for others come last.
// `default_queue` ("NAME" or "NAMESPACE/NAME"; empty: the only LocalQueue) takes jobs whose row
// names no queue.
//
// Errors: kInvalid with the line or job: a queue that no LocalQueue or more than one has, no queue
// where several LocalQueues exist, an unknown priority class, pods whose requests leave the range
// of Amount. A cluster without LocalQueue is kInvalid, too.
Result<std::vector<Job>> BindJobs(const Trace& trace, const Cluster& cluster,
                                  const std::string& default_queue);

}  // namespace berth::simulation
