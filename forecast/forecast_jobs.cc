// The state of a cluster as jobs of a forecast: runs that are known, waits for capacity.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "api/reasons.h"
#include "forecast/forecast_cluster.h"
#include "forecast/run_members.h"
#include "forecast/simulated_cluster.h"
#include "view/screens/plan_screen.h"
#include "view/screens/why.h"

namespace berth::forecast {
namespace {

using simulation::RunKey;

std::int64_t SecondsBetween(WallTime from, WallTime to) {
  return std::max<std::int64_t>(std::chrono::floor<std::chrono::seconds>(to - from).count(), 0);
}

// Where no topology is known quota alone decides, also about pods that ask for one.
void LeaveTopologyOut(api::Workload& workload) {
  const auto asks = [](const api::PodSet& pods) { return pods.topology_request.has_value(); };
  if (std::none_of(workload.spec.pod_sets.begin(), workload.spec.pod_sets.end(), asks)) return;
  std::vector<api::PodSet> pod_sets = workload.spec.pod_sets;
  for (api::PodSet& pods : pod_sets) pods.topology_request.reset();
  workload.spec.pod_sets = std::move(pod_sets);
}

// The waits for capacity of the Workloads, which are equal for equal queues, requests and waits.
class CapacityWaits {
 public:
  explicit CapacityWaits(const view::ClusterView& view) : view_(view) {}

  std::optional<simulation::CapacityWait> Of(const api::Workload& workload, const RunKey& key) {
    const api::ClusterQueue* queue =
        view::FindClusterQueue(view_, view::ClusterQueueOf(view_, workload));
    if (queue == nullptr || queue->spec.admission_checks.empty()) return std::nullopt;
    view::PlannedJob job{.kind = "Workload", .workload = workload, .deadline = key.declared};
    job.workload.status.admission.reset();
    if (const auto* request = view::FindProvisioningRequest(view_, workload)) {
      job.waited_seconds = SecondsBetween(request->meta.creation_timestamp, view_.now);
    }
    std::string text = key.queue + "\n" + std::to_string(job.waited_seconds);
    for (const auto& [resource, amount] : key.requests) {
      text += "\n" + resource + "=" + std::to_string(amount);
    }
    const auto known = known_.find(text);
    if (known != known_.end()) return known->second;
    return known_[text] = WaitOf(job);
  }

 private:
  // If there are several checks, the slowest one counts.
  std::optional<simulation::CapacityWait> WaitOf(const view::PlannedJob& job) const {
    std::optional<simulation::CapacityWait> wait;
    const Result<view::JobPlan> plan = view::MakePlan(view_, job);
    if (!plan) return wait;
    for (const view::CheckPlan& check : plan->checks) {
      if (check.is_reactive) continue;  // the job is admitted before its nodes come
      const auto step = std::find_if(check.steps.begin(), check.steps.end(),
                                     [](const auto& each) { return !each.veto; });
      if (step == check.steps.end()) continue;
      const provisioning::Eta& eta = step->eta;
      if (wait && wait->p50 >= std::chrono::seconds(eta.p50_seconds)) continue;
      wait = simulation::CapacityWait{std::chrono::seconds(eta.p10_seconds),
                                      std::chrono::seconds(eta.p50_seconds),
                                      std::chrono::seconds(eta.p90_seconds)};
    }
    return wait;
  }

  const view::ClusterView& view_;
  std::map<std::string, std::optional<simulation::CapacityWait>> known_;
};

}  // namespace

simulation::Cluster SimulatedClusterOf(const view::ClusterView& view) {
  simulation::Cluster cluster;
  cluster.flavors = view.flavors;
  cluster.cohorts = view.cohorts;
  cluster.cluster_queues = view.cluster_queues;
  cluster.local_queues = view.local_queues;
  cluster.namespaces = view.namespaces;
  cluster.priority_classes = view.priority_classes;
  // Without its nodes a topology has no room: quota alone decides then.
  if (!view::IsKnown(view, "nodes") || view.topology_nodes.empty()) return cluster;
  cluster.topologies = view.topologies;
  cluster.nodes = view.topology_nodes;
  cluster.pods = view.topology_pods;
  return cluster;
}

ForecastCluster MakeForecastCluster(view::ClusterView view,
                                    std::vector<ledger::AttemptRecord> attempts) {
  ForecastCluster made;
  made.cluster = SimulatedClusterOf(view);
  made.notes = simulation::Prepare(made.cluster);
  const bool has_topologies = !made.cluster.topologies.empty();
  for (const api::Workload& workload : view.workloads) {
    auto object = std::make_shared<api::Workload>(workload);
    if (!has_topologies) LeaveTopologyOut(*object);
    made.workloads.push_back(std::move(object));
  }
  RunMembers members = RunMembersOf(view, made.workloads, attempts);
  made.members = std::move(members.of_workload);
  made.runs = simulation::RunModel(std::move(members.members), ledger::ToSeconds(view.now),
                                   members.since.value_or(0));
  made.arrivals = ArrivalsOf(made.runs, members, made.cluster);
  made.world.start = view.now;
  made.view = std::move(view);
  made.attempts = std::move(attempts);
  return made;
}

ForecastCluster WithView(const ForecastCluster& cluster, view::ClusterView view) {
  ForecastCluster made = MakeForecastCluster(std::move(view), cluster.attempts);
  made.world = cluster.world;
  made.default_namespace = cluster.default_namespace;
  return made;
}

simulation::ForecastOptions ForecastOptionsOf(const ForecastCluster& cluster,
                                              simulation::ForecastOptions options) {
  options.world = cluster.world;
  options.world.past = simulation::World::PastOf(cluster.cluster, cluster.workloads, cluster.world);
  options.runs = &cluster.runs;
  options.arrivals = &cluster.arrivals;
  return options;
}

bool IsMeantBy(const std::string& reference, const api::Workload& workload) {
  const view::ObjectReference parsed = view::ParseReference(reference);
  if (!parsed.kind.empty()) return view::BelongsTo(parsed, workload);
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  return workload.meta.name == parsed.name || (owner != nullptr && owner->name == parsed.name);
}

ForecastJobs ForecastJobsOf(const ForecastCluster& cluster) {
  const WallTime now = cluster.view.now;
  simulation::StandingJobs standing = simulation::MakeStanding(cluster.workloads, now);
  ForecastJobs made;
  made.not_queued = std::move(standing.not_queued);
  CapacityWaits waits(cluster.view);
  std::unordered_map<std::size_t, std::shared_ptr<const simulation::RunForecast>> by_batch;
  for (simulation::Job& job : standing.jobs) {
    const api::Workload& workload = *job.object;
    simulation::ForecastJob forecast{.job = job};
    const std::size_t member = cluster.members.at(workload.meta.key().ToString());
    forecast.member = member;
    auto& run = by_batch[cluster.runs.batch_of(member)];
    if (run == nullptr) {
      run = std::make_shared<simulation::RunForecast>(cluster.runs.Whole(member));
    }
    forecast.run = run;
    if (!simulation::IsRunning(workload)) {
      forecast.capacity = waits.Of(workload, cluster.runs.members()[member].key);
    }
    made.jobs.push_back(std::move(forecast));
  }
  return made;
}

}  // namespace berth::forecast
