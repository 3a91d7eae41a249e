#include "tests/bench/eta/hidden_trace.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "admission/lifecycle/workload_lifecycle.h"
#include "api/deadline.h"
#include "base/random.h"
#include "base/rfc3339.h"
#include "simulation/world.h"

namespace berth::bench {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";

struct NameOf {
  std::string name;
  int queue = 0;
  int gpus = 1;
  double log_median = 0;
  double sigma = 0;
  std::int64_t declared = 0;
};

double Normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.Unit()));
  return radius * std::cos(2 * std::numbers::pi * random.Unit());
}

double Between(Random& random, double low, double high) {
  return low + (high - low) * random.Unit();
}

std::vector<NameOf> MakeNames(const TraceOptions& options, Random& random) {
  constexpr int kGpus[] = {1, 1, 1, 2, 2, 4, 8};
  std::vector<NameOf> names;
  for (int i = 0; i < options.names; ++i) {
    NameOf& made = names.emplace_back();
    made.name = "train" + std::string(1, static_cast<char>('a' + i % 26)) +
                std::string(1, static_cast<char>('a' + i / 26));
    made.queue = i % options.queues;
    made.gpus = kGpus[random.Below(std::size(kGpus))];
    made.log_median = Between(random, std::log(120), std::log(4 * 3600));
    made.sigma = Between(random, 0.3, 0.9);
    const double usual = std::exp(made.log_median + made.sigma * made.sigma / 2);
    made.declared = std::llround(usual * Between(random, 2, 10) / 60 + 1) * 60;
  }
  return names;
}

simulation::Cluster MakeCluster(const TraceOptions& options) {
  simulation::Cluster cluster;
  cluster.flavors.emplace_back().meta.name = "gpu";
  for (int i = 0; i < options.queues; ++i) {
    const std::string name = "team-" + std::to_string(i);
    api::ClusterQueue& queue = cluster.cluster_queues.emplace_back();
    queue.meta.name = name;
    queue.spec.cohort_name = "org";
    queue.spec.namespace_selector.emplace();
    if (options.reclaims) {
      queue.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
    }
    api::ResourceGroup group;
    group.covered_resources = {kGpu};
    group.flavors.push_back({"gpu", {{kGpu, options.gpus_of_queue, {}, {}}}});
    queue.spec.resource_groups = {group};
    api::LocalQueue& local = cluster.local_queues.emplace_back();
    local.meta.name = name;
    local.meta.namespace_name = "default";
    local.cluster_queue = name;
  }
  simulation::Prepare(cluster);
  return cluster;
}

std::shared_ptr<const api::Workload> MakeWaiting(const HiddenJob& job, const NameOf& name,
                                                 int number, int priority) {
  auto object = std::make_shared<api::Workload>();
  const std::string digits = std::to_string(number);
  object->meta.name = "w" + std::string(8 - digits.size(), '0') + digits;
  object->meta.uid = object->meta.name;
  object->meta.namespace_name = "default";
  object->meta.generation = 1;
  object->meta.creation_timestamp = CutToSeconds(kTraceStart + job.submit);
  object->meta.annotations[api::kDeadlineAnnotation] =
      FormatTime(CutToSeconds(kTraceStart + job.deadline));
  object->spec.queue_name = "team-" + std::to_string(name.queue);
  object->spec.priority = priority;
  api::PodSet pods;
  api::Container container;
  container.name = "main";
  container.requests = {{kGpu, name.gpus}};
  pods.pod_template.spec.containers = {container};
  object->spec.pod_sets = std::vector<api::PodSet>{pods};
  return object;
}

// Plays the trace, and notes the real starts.
void Play(HiddenTrace& trace) {
  std::vector<simulation::Job> jobs;
  for (const HiddenJob& each : trace.jobs) {
    simulation::Job& job = jobs.emplace_back();
    job.submit = each.submit;
    job.run = each.run;
    job.object = each.waiting;
  }
  simulation::WorldOptions options;
  options.start = kTraceStart;
  options.on_event = [&trace](const simulation::WorldEvent& event) {
    using Kind = simulation::WorldEvent::Kind;
    HiddenJob& job = trace.jobs[event.job];
    if (event.kind == Kind::kFinished) job.end = event.at;
    if (event.kind != Kind::kStarted) return;
    job.start = event.at;
    auto running = std::make_shared<api::Workload>(*job.waiting);
    admission::ReserveQuota(running->status, *event.admission, {}, 1, kTraceStart + event.at);
    job.running = std::move(running);
  };
  simulation::World(trace.cluster, jobs, options).Run();
}

}  // namespace

HiddenTrace MakeTrace(const TraceOptions& options) {
  Random random(options.seed);
  Random of_deadlines(options.seed + 1);
  HiddenTrace trace{.cluster = MakeCluster(options)};
  const std::vector<NameOf> names = MakeNames(options, random);
  double work = 0;  // GPU-seconds of a job on average
  for (const NameOf& name : names) {
    work += name.gpus * std::exp(name.log_median + name.sigma * name.sigma / 2) /
            static_cast<double>(names.size());
  }
  const double rate = options.load * options.queues * options.gpus_of_queue / work;
  double at = 0;
  for (int i = 0; i < options.jobs; ++i) {
    at -= std::log(1 - random.Unit()) / rate;
    const NameOf& name = names[random.Below(names.size())];
    HiddenJob& job = trace.jobs.emplace_back();
    job.submit = Duration(std::llround(at * 1e6));
    const double run = std::exp(name.log_median + name.sigma * Normal(random));
    job.run = std::chrono::seconds(std::clamp<std::int64_t>(std::llround(run), 1, name.declared));
    const double within =
        static_cast<double>(name.declared) * std::exp2(Between(of_deadlines, -4, 2));
    job.deadline = job.submit + std::chrono::seconds(std::llround(within));
    const int priority = random.Unit() < 0.2 ? 100 : 0;
    job.waiting = MakeWaiting(job, name, i, priority);
    job.key = {.queue = "default/" + job.waiting->spec.queue_name,
               .kind = "Job",
               .name = name.name + "-" + std::to_string(i),
               .requests = {{kGpu, name.gpus}},
               .declared = name.declared};
  }
  Play(trace);
  return trace;
}

}  // namespace berth::bench
