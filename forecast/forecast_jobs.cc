// The state of a cluster as jobs of a forecast: runs that are known, waits for capacity.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "api/reasons.h"
#include "forecast/forecast_cluster.h"
#include "forecast/simulated_cluster.h"
#include "view/screens/plan.h"
#include "view/screens/why.h"

namespace berth::forecast {
namespace {

using simulation::PastRun;
using simulation::RunKey;

std::int64_t SecondsBetween(WallTime from, WallTime to) {
  return std::max<std::int64_t>(std::chrono::floor<std::chrono::seconds>(to - from).count(), 0);
}

std::optional<std::int64_t> DeadlineOf(const view::ClusterView& view,
                                       const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  if (owner == nullptr || owner->kind != "Job") return std::nullopt;
  const api::Job* job = view::FindJob(view, {workload.meta.namespace_name, owner->name});
  return job == nullptr ? std::nullopt : job->active_deadline_seconds;
}

// nullopt: it never ran, or its end is not that of its run.
std::optional<PastRun> RunOf(const view::ClusterView& view, const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  const api::Condition* admitted = api::FindCondition(conditions, api::kAdmitted);
  if (admitted == nullptr || admitted->status != api::ConditionStatus::kTrue) return std::nullopt;
  PastRun run{.key = simulation::RunKeyOf(workload, DeadlineOf(view, workload))};
  const api::Condition* finished = api::FindCondition(conditions, api::kFinished);
  if (finished != nullptr && finished->status == api::ConditionStatus::kTrue) {
    run.ended = finished->reason == api::kSucceeded || finished->reason == api::kFailed;
    run.seconds = SecondsBetween(admitted->last_transition_time, finished->last_transition_time);
  } else {
    run.seconds = SecondsBetween(admitted->last_transition_time, view.now);
  }
  return run;
}

std::optional<PastRun> RunOf(const ledger::AttemptRecord& attempt) {
  if (!attempt.admitted || !attempt.ended) return std::nullopt;
  PastRun run;
  run.key = {.queue = attempt.namespace_name + "/" + attempt.local_queue,
             .kind = attempt.owner_kind,
             .name = attempt.owner_name.empty() ? attempt.name : attempt.owner_name,
             .image = attempt.image,
             .requests = {},
             .declared = attempt.declared};
  for (const ledger::ResourceUse& use : attempt.resources) {
    // The ledger counts these beside the requests.
    if (use.resource == "pods" || use.resource == api::kGpusResource) continue;
    run.key.requests[use.resource] = api::AddAmounts(run.key.requests[use.resource], use.amount);
  }
  run.seconds = std::max<std::int64_t>(*attempt.ended - *attempt.admitted, 0);
  run.ended = attempt.outcome == ledger::kSucceeded || attempt.outcome == ledger::kFailed;
  return run;
}

// The runs in the order of their ends: the last ones count.
void AddRuns(const view::ClusterView& view, const std::vector<ledger::AttemptRecord>& attempts,
             simulation::RunHistory& history) {
  std::set<std::string> told;
  std::vector<const ledger::AttemptRecord*> by_end;
  for (const ledger::AttemptRecord& attempt : attempts) {
    if (attempt.ended) by_end.push_back(&attempt);
  }
  std::stable_sort(by_end.begin(), by_end.end(),
                   [](const auto* a, const auto* b) { return *a->ended < *b->ended; });
  for (const ledger::AttemptRecord* attempt : by_end) {
    const auto run = RunOf(*attempt);
    if (!run) continue;
    history.Add(*run);
    if (run->ended) told.insert(attempt->uid);
  }
  for (const api::Workload& workload : view.workloads) {
    if (told.contains(workload.meta.uid)) continue;
    if (const auto run = RunOf(view, workload)) history.Add(*run);
  }
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
  AddRuns(view, attempts, made.history);
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
  for (simulation::Job& job : standing.jobs) {
    const api::Workload& workload = *job.object;
    const RunKey key = simulation::RunKeyOf(workload, DeadlineOf(cluster.view, workload));
    simulation::ForecastJob forecast{.job = job, .run = cluster.history.Of(key)};
    if (simulation::HasRun(workload)) {
      const WallTime since = simulation::RunningSince(workload, now);
      forecast.left = cluster.history.Left(key, SecondsBetween(since, now));
    }
    if (!simulation::IsRunning(workload)) forecast.capacity = waits.Of(workload, key);
    made.jobs.push_back(std::move(forecast));
  }
  return made;
}

}  // namespace berth::forecast
