#include "forecast/run_members.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/condition.h"
#include "api/reasons.h"
#include "simulation/present_workloads.h"

namespace berth::forecast {
namespace {

using simulation::JobShape;
using simulation::RunMember;
using simulation::RunState;

std::int64_t SecondsOf(WallTime time) { return ledger::ToSeconds(time); }

// nullopt: no queue holds the job, or its end is not that of its run.
std::optional<RunMember> MemberOf(const view::ClusterView& view, const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  const std::int64_t now = SecondsOf(view.now);
  RunMember member{.uid = workload.meta.uid,
                   .submitted = SecondsOf(workload.meta.creation_timestamp),
                   .until = now};
  const api::Condition* admitted = api::FindCondition(conditions, api::kAdmitted);
  const bool ran = admitted != nullptr && admitted->status == api::ConditionStatus::kTrue;
  const api::Condition* finished = api::FindCondition(conditions, api::kFinished);
  if (finished != nullptr && finished->status == api::ConditionStatus::kTrue) {
    if (!ran) return std::nullopt;
    const bool ended = finished->reason == api::kSucceeded || finished->reason == api::kFailed;
    member.state = ended ? RunState::kEnded : RunState::kStopped;
    member.until = SecondsOf(finished->last_transition_time);
    member.seconds =
        std::max<std::int64_t>(member.until - SecondsOf(admitted->last_transition_time), 0);
  } else if (simulation::HasRun(workload)) {
    member.state = RunState::kRuns;
    member.seconds =
        std::max<std::int64_t>(now - SecondsOf(simulation::RunningSince(workload, view.now)), 0);
  } else if (!simulation::HoldsQuota(workload) && !simulation::WaitsInQueue(workload)) {
    return std::nullopt;
  }
  member.key = simulation::RunKeyOf(workload, DeadlineOf(view, workload));
  return member;
}

simulation::RunKey KeyOf(const ledger::AttemptRecord& attempt) {
  simulation::RunKey key{.queue = attempt.namespace_name + "/" + attempt.local_queue,
                         .kind = attempt.owner_kind,
                         .name = attempt.owner_name.empty() ? attempt.name : attempt.owner_name,
                         .user = attempt.user,
                         .image = attempt.image,
                         .requests = {},
                         .declared = attempt.declared};
  for (const ledger::ResourceUse& use : attempt.resources) {
    // The ledger counts these beside the requests.
    if (use.resource == "pods" || use.resource == api::kGpusResource) continue;
    key.requests[use.resource] = api::AddAmounts(key.requests[use.resource], use.amount);
  }
  return key;
}

std::shared_ptr<const JobShape> ShapeOf(const RunMember& member) {
  api::PodSet pods;
  pods.name = "main";
  pods.count = 1;
  pods.pod_template.spec.containers.emplace_back().requests = member.key.requests;
  auto shape = std::make_shared<JobShape>();
  shape->pod_sets = std::vector<api::PodSet>{std::move(pods)};
  shape->requests = member.key.requests;
  return shape;
}

// The attempts of the jobs that the view does not have, as one member a job. Jobs of the view learn
// how long the runs of theirs lasted that were stopped.
// A ledger does not know the pods of its jobs: where topologies place pods they do not come again.
void AddAttempts(const std::vector<ledger::AttemptRecord>& attempts,
                 const std::unordered_map<std::string, std::size_t>& viewed, bool has_topologies,
                 RunMembers& made) {
  std::map<std::string, RunMember> jobs;
  std::map<std::string, std::int32_t> priorities;
  for (const ledger::AttemptRecord& attempt : attempts) {
    if (!attempt.admitted || !attempt.ended) continue;
    const auto ran = std::max<std::int64_t>(*attempt.ended - *attempt.admitted, 0);
    const bool ended = attempt.outcome == ledger::kSucceeded || attempt.outcome == ledger::kFailed;
    if (const auto at = viewed.find(attempt.uid); at != viewed.end()) {
      RunMember& member = made.members[at->second];
      if (!ended) member.at_least = std::max(member.at_least, ran);
      continue;
    }
    RunMember& job = jobs[attempt.uid];
    if (job.key.queue.empty()) {
      job = {.uid = attempt.uid, .key = KeyOf(attempt), .submitted = attempt.created};
      if (job.submitted == 0) job.submitted = attempt.queued;
      if (job.submitted == 0) job.submitted = *attempt.admitted;
      job.state = RunState::kStopped;
      priorities[attempt.uid] = static_cast<std::int32_t>(attempt.priority);
    }
    if (job.state == RunState::kEnded) continue;
    job.seconds = ended ? ran : std::max(job.seconds, ran);
    job.until = *attempt.ended;
    if (ended) job.state = RunState::kEnded;
  }
  for (auto& [uid, job] : jobs) {
    made.shapes.push_back(has_topologies ? nullptr : ShapeOf(job));
    made.priorities.push_back(priorities[uid]);
    made.members.push_back(std::move(job));
  }
}

// Some finished Workloads may be kept much longer than others: the first ends tell nothing.
std::optional<std::int64_t> PastBeginsAt(const std::vector<RunMember>& members) {
  constexpr std::size_t kFirstParts = 20;
  std::vector<std::int64_t> ends;
  for (const RunMember& member : members) {
    const bool is_over = member.state == RunState::kEnded || member.state == RunState::kStopped;
    if (is_over && member.until > 0) ends.push_back(member.until);
  }
  if (ends.empty()) return std::nullopt;
  const auto first = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / kFirstParts);
  std::nth_element(ends.begin(), first, ends.end());
  return *first;
}

// The resources that the queue of a Workload counts. A ledger has no others: with them the runs of
// one kind would not meet.
class CountedResources {
 public:
  explicit CountedResources(const view::ClusterView& view) : view_(view) {}

  void Reduce(const api::Workload& workload, api::ResourceAmounts& requests) {
    const std::string name = view::ClusterQueueOf(view_, workload);
    const auto known = known_.try_emplace(name);
    std::set<std::string>& covered = known.first->second;
    if (known.second) {
      const api::ClusterQueue* queue = view::FindClusterQueue(view_, name);
      if (queue != nullptr) covered = Covered(*queue);
    }
    if (covered.empty()) return;
    std::erase_if(requests, [&covered](const auto& each) { return !covered.contains(each.first); });
  }

 private:
  static std::set<std::string> Covered(const api::ClusterQueue& queue) {
    std::set<std::string> covered;
    for (const api::ResourceGroup& group : queue.spec.resource_groups) {
      covered.insert(group.covered_resources.begin(), group.covered_resources.end());
    }
    return covered;
  }

  const view::ClusterView& view_;
  std::map<std::string, std::set<std::string>> known_;  // by ClusterQueue; empty: unknown
};

}  // namespace

std::optional<std::int64_t> DeadlineOf(const view::ClusterView& view,
                                       const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  if (owner == nullptr || owner->kind != "Job") return std::nullopt;
  const api::Job* job = view::FindJob(view, {workload.meta.namespace_name, owner->name});
  return job == nullptr ? std::nullopt : job->active_deadline_seconds;
}

RunMembers RunMembersOf(const view::ClusterView& view,
                        const std::vector<std::shared_ptr<const api::Workload>>& workloads,
                        const std::vector<ledger::AttemptRecord>& attempts) {
  RunMembers made;
  CountedResources counted(view);
  std::unordered_map<std::string, std::size_t> viewed;
  for (const auto& workload : workloads) {
    auto member = MemberOf(view, *workload);
    if (!member) continue;
    viewed.emplace(member->uid, made.members.size());
    made.of_workload.emplace(workload->meta.key().ToString(), made.members.size());
    auto shape = std::make_shared<JobShape>();
    shape->pod_sets = workload->spec.pod_sets;
    shape->requests = member->key.requests;
    counted.Reduce(*workload, member->key.requests);
    made.shapes.push_back(std::move(shape));
    made.priorities.push_back(workload->spec.priority.value_or(0));
    made.members.push_back(std::move(*member));
  }
  AddAttempts(attempts, viewed, !view.topologies.empty(), made);
  made.since = PastBeginsAt(made.members);
  return made;
}

simulation::ForecastArrivals ArrivalsOf(const simulation::RunModel& model,
                                        const RunMembers& members,
                                        const simulation::Cluster& cluster) {
  simulation::ForecastArrivals made;
  if (!members.since) return made;
  std::unordered_map<std::string, std::size_t> queues;
  for (std::size_t i = 0; i < cluster.local_queues.size(); ++i) {
    queues.emplace(cluster.local_queues[i].meta.key().ToString(), i);
  }
  std::vector<bool> comes(model.members().size());
  made.jobs.resize(model.members().size());
  for (std::size_t i = 0; i < model.members().size(); ++i) {
    const RunMember& member = model.members()[i];
    const auto queue = queues.find(member.key.queue);
    // What is submitted at this moment may be of a change that is tried.
    if (member.state == RunState::kStopped || member.submitted >= model.now()) continue;
    if (queue == queues.end() || members.shapes[i] == nullptr) continue;
    comes[i] = true;
    made.jobs[i].local_queue = queue->second;
    made.jobs[i].shape = members.shapes[i];
    made.jobs[i].priority = members.priorities[i];
  }
  made.arrivals = simulation::Arrivals(model, comes, *members.since);
  return made;
}

}  // namespace berth::forecast
