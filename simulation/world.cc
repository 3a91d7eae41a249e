#include "simulation/world.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "admission/messages.h"
#include "admission/policies/queue_policies.h"
#include "api/condition.h"
#include "api/job_user.h"
#include "api/reasons.h"
#include "simulation/present_workloads.h"

namespace berth::simulation {
namespace {

constexpr WallTime kStart{std::chrono::seconds(1'767'225'600)};  // 2026-01-01
// Cycles in a row at one instant that only go on with scans over flavors.
constexpr int kMaxScans = 64;
// Preemptions at one instant, for each job that waits or runs, before time moves on.
constexpr std::int64_t kMaxPreemptionsAtOnce = 4;
// Preemptions in all, for each job, before the run is stopped.
constexpr std::int64_t kMaxPreemptionsPerJob = 1000;

// Nobody waits for pods, and nobody reads numbers of waiting workloads.
admission::DriverOptions InVirtualTime(admission::DriverOptions options) {
  options.scheduler.listing = queue::Listing::kNew;
  options.scheduler.block_admission = false;
  options.scheduler.count_pending = false;
  options.scheduler.pending_values = nullptr;
  return options;
}

// Names sort in the order of submission: the last key of the scheduler's order is the UID.
std::string NameOf(std::size_t job) {
  constexpr std::size_t kDigits = 8;
  std::string digits = std::to_string(job);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return "job-" + digits;
}

}  // namespace

World::World(const Cluster& cluster, const std::vector<Job>& jobs, const WorldOptions& options)
    : plane_(InVirtualTime(options.driver), jobs.size()),
      scheduler_(plane_.scheduler()),
      workloads_(plane_.store()),
      cluster_(cluster),
      jobs_(jobs),
      options_(options),
      start_(options.start.value_or(kStart)),
      now_(start_),
      standing_(jobs.size()),
      awaited_(jobs.size(), 0),
      book_(jobs, options.on_event) {
  for (const auto& each : cluster.namespaces) plane_.Apply(each);
  for (const auto& each : cluster.flavors) plane_.Apply(each);
  for (const auto& each : cluster.topologies) plane_.Apply(each);
  for (const auto& each : cluster.nodes) plane_.Apply(each);
  for (const auto& each : cluster.pods) scheduler_.Apply(each);
  for (const auto& each : cluster.cohorts) plane_.Apply(each);
  for (const auto& each : cluster.cluster_queues) plane_.Apply(each);
  for (const auto& each : cluster.local_queues) plane_.Apply(each);
  if (!options.pools.empty()) nodes_.emplace(options.pools, now_, options.placement);
  if (options.past != nullptr) scheduler_.past() = *options.past;
  for (const std::size_t job : options_.until_started) awaited_[job] = 1;
  for (const std::size_t job : options_.until_finished) awaited_[job] = 1;
  awaited_count_ = static_cast<std::size_t>(std::count(awaited_.begin(), awaited_.end(), 1));
}

std::shared_ptr<const admission::QueuePast> World::PastOf(
    const Cluster& cluster, const std::vector<std::shared_ptr<const api::Workload>>& workloads,
    const WorldOptions& options) {
  admission::QueuePolicies policies;
  for (const auto& each : cluster.cohorts) policies.Set(each);
  for (const auto& each : cluster.cluster_queues) policies.Set(each);
  if (!policies.any()) return nullptr;
  std::vector<std::tuple<WallTime, std::string, std::shared_ptr<const api::Workload>>> finished;
  for (const auto& each : workloads) {
    const auto* end = api::FindCondition(each->status.conditions, api::kFinished);
    if (end == nullptr || end->status != api::ConditionStatus::kTrue) continue;
    finished.emplace_back(end->last_transition_time, each->meta.uid, each);
  }
  std::sort(finished.begin(), finished.end());
  const WorldOptions of_no_jobs{.driver = options.driver, .start = options.start};
  const std::vector<Job> no_jobs;
  World world(cluster, no_jobs, of_no_jobs);
  const std::size_t count = std::min(finished.size(), kMostOfPast);
  for (std::size_t i = finished.size() - count; i < finished.size(); ++i) {
    world.scheduler_.ApplyWorkload(std::get<2>(finished[i]), world.now_);
  }
  world.scheduler_.RunCycle(world.now_);
  return std::make_shared<const admission::QueuePast>(world.scheduler_.past());
}

void World::FreeFollowers(std::size_t job) {
  for (const std::size_t follower : book_.Free(job)) {
    following_.Add(now_ + jobs_[follower].submit, follower);
  }
}

void World::DropResult(std::size_t job) {
  const Standing& stopped = standing_[job];
  if (jobs_[job].result && stopped.since) results_.Remove(*stopped.since + *jobs_[job].result, job);
}

Duration World::SinceStart(WallTime time) const { return time - start_; }

WallTime World::TimeOf(const Job& job) const {
  return start_ + job.submit - (options_.start ? Duration(0) : jobs_.front().submit);
}

std::optional<WallTime> World::NextEvent() const {
  std::optional<WallTime> next = wake_up_;
  const auto consider = [&next](std::optional<WallTime> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  for (const auto* agenda : {&ends_, &starts_, &following_, &results_}) consider(agenda->Next());
  consider(evictable_.Next());
  consider(scheduler_.victim_rules().Next());
  if (submitted_ < book_.independent_count()) consider(TimeOf(jobs_[submitted_]));
  return next;
}

std::shared_ptr<api::Workload> World::MakeObject(std::size_t job) const {
  const Job& submitted = jobs_[job];
  auto object = std::make_shared<api::Workload>();
  object->meta.name = NameOf(job);
  object->meta.uid = object->meta.name;
  const api::ObjectMeta& queue = cluster_.local_queues[submitted.local_queue].meta;
  object->meta.namespace_name = queue.namespace_name;
  object->meta.generation = 1;
  object->meta.creation_timestamp = CutToSeconds(now_);
  if (!submitted.user.empty()) object->meta.annotations[api::kUserAnnotation] = submitted.user;
  object->spec.queue_name = queue.name;
  object->spec.priority = submitted.priority;
  object->spec.pod_sets = submitted.shape->pod_sets;
  object->spec.maximum_execution_time_seconds = submitted.walltime;
  return object;
}

void World::Submit(std::size_t job) {
  const std::shared_ptr<const api::Workload>& known = jobs_[job].object;
  if (known != nullptr && HoldsQuota(*known)) return GoOn(job);
  waiting_.insert(job);
  workloads_.Set(job, known != nullptr ? known : MakeObject(job), now_);
  book_.Submit(job, SinceStart(now_));
}

// Takes over a Workload that holds quota when the run begins.
void World::GoOn(std::size_t job) {
  const std::shared_ptr<const api::Workload>& known = jobs_[job].object;
  const auto& conditions = known->status.conditions;
  workloads_.Set(job, known, now_);
  if (api::IsTrue(conditions, api::kEvicted)) {
    workloads_.Release(job, now_);
    workloads_.Deliver(now_);
    waiting_.insert(job);
    book_.Submit(job, SinceStart(now_));
    return;
  }
  book_.TakeOver(job, SinceStart(now_));
  standing_[job].admitted = true;
  if (api::IsTrue(conditions, api::kAdmitted)) {
    const api::Condition* admitted = api::FindCondition(conditions, api::kAdmitted);
    NoteStart(job, std::min(admitted->last_transition_time, now_), jobs_[job].left);
  } else {
    StartAt(job, now_ + jobs_[job].capacity_wait);
  }
}

void World::Admit(std::size_t job, const admission::DecidedWrite& write) {
  Standing& admitted = standing_[job];
  workloads_.Write(job, write, CutToSeconds(now_));
  workloads_.Deliver(now_);
  admitted.admitted = true;
  waiting_.erase(job);
  book_.why(job).clear();
  admitted.admission = ++admissions_;
  if (!nodes_) {
    StartAt(job, now_ + jobs_[job].capacity_wait);
  } else if (!PlacePods(job)) {
    without_nodes_.insert({admitted.admission, job});
  }
}

bool World::PlacePods(std::size_t job) {
  Standing& placed = standing_[job];
  const api::PodSet& pods = jobs_[job].shape->pod_sets[0];
  PodNeeds needs{.requests = &pods.pod_template.spec.containers[0].requests};
  for (const auto& [resource, name] :
       workloads_.object(job)->status.admission->pod_set_assignments[0].flavors) {
    for (const api::ResourceFlavor& flavor : cluster_.flavors) {
      if (flavor.meta.name != name) continue;
      needs.node_labels.insert(flavor.node_labels.begin(), flavor.node_labels.end());
      needs.tolerations.insert(needs.tolerations.end(), flavor.tolerations.begin(),
                               flavor.tolerations.end());
    }
  }
  placed.placement = nodes_->Place(needs, pods.count, now_);
  if (!placed.placement) return false;
  evictable_.Add(*nodes_, *placed.placement, job);
  StartAt(job, placed.placement->ready);
  return true;
}

void World::StartAt(std::size_t job, WallTime ready) {
  if (ready <= now_) return Start(job);
  standing_[job].ready = ready;
  starts_.Add(ready, job);
}

void World::PlaceWaitingPods() {
  if (!nodes_freed_) return;
  nodes_freed_ = false;
  std::set<const JobShape*> in_vain;  // jobs of one shape differ in flavors alone
  for (auto at = without_nodes_.begin(); at != without_nodes_.end();) {
    const std::size_t job = at->second;
    const JobShape* shape = jobs_[job].shape.get();
    const bool placed = in_vain.count(shape) == 0 && PlacePods(job);
    if (!placed && cluster_.flavors.size() == 1) in_vain.insert(shape);
    at = placed ? without_nodes_.erase(at) : std::next(at);
  }
}

void World::Start(std::size_t job) { NoteStart(job, now_, jobs_[job].run); }

// The run lasts for `run` from now on; it began at `since`.
void World::NoteStart(std::size_t job, WallTime since, Duration run) {
  Standing& started = standing_[job];
  started.ready.reset();
  started.since = since;
  started.end = now_ + run;
  ends_.Add(started.end, job);
  if (jobs_[job].result && book_.HasFollowers(job)) {
    results_.Add(since + *jobs_[job].result, job);
  }
  if (options_.until_finished.empty()) NoLongerAwait(job);
  book_.Start(job, SinceStart(since), SinceStart(now_), &*workloads_.object(job)->status.admission,
              started.placement ? &*started.placement : nullptr);
}

void World::NoLongerAwait(std::size_t job) {
  if (awaited_[job] == 0) return;
  awaited_[job] = 0;
  --awaited_count_;
}

void World::LeaveNodes(std::size_t job) {
  std::optional<Nodes::Placement>& placement = standing_[job].placement;
  if (!placement) return;
  const api::PodSet& pods = jobs_[job].shape->pod_sets[0];
  nodes_->Free(*placement, pods.pod_template.spec.containers[0].requests, now_);
  evictable_.Remove(*placement, job);
  placement.reset();
  nodes_freed_ = true;
}

// The pods of a job that has quota are gone, in whatever state they were.
Duration World::EndRun(std::size_t job) {
  Standing& stopped = standing_[job];
  Duration ran{};
  DropResult(job);
  if (stopped.since) {
    ends_.Remove(stopped.end, job);
    ran = now_ - *stopped.since;
  } else if (stopped.ready) {
    starts_.Remove(*stopped.ready, job);
  } else {
    without_nodes_.erase({stopped.admission, job});
  }
  LeaveNodes(job);
  stopped.since.reset();
  stopped.ready.reset();
  return ran;
}

void World::LoseNode(NodeId node) {
  for (const std::size_t job : evictable_.JobsOn(node)) LoseRun(job);
  nodes_->RemoveDue(now_);
  nodes_freed_ = true;
}

void World::LoseRun(std::size_t job) {
  const Duration ran = EndRun(job);
  book_.Lose(job, WorldEvent::Kind::kLost, ran, SinceStart(now_));
  if (book_.outcome(job).evictions < kMostLostRuns) {
    without_nodes_.insert({standing_[job].admission, job});
    return;
  }
  book_.why(job) = "the cloud took nodes back in each of its " + std::to_string(kMostLostRuns) +
                   " runs: the nodes live for less time than the job needs";
  workloads_.Finish(job, now_, /*failed=*/true);
  workloads_.Deliver(now_);
  workloads_.Forget(job);
  standing_[job] = {};
  NoLongerAwait(job);
}

void World::Stop(std::size_t job, const admission::DecidedWrite& write) {
  Standing& stopped = standing_[job];
  if (!stopped.admitted) return;
  workloads_.Write(job, write, CutToSeconds(now_));
  workloads_.Release(job, now_);
  const Duration ran = EndRun(job);
  ++preemptions_;
  stopped.admitted = false;
  waiting_.insert(job);
  workloads_.Deliver(now_);
  book_.Lose(job, WorldEvent::Kind::kPreempted, ran, SinceStart(now_),
             workloads_.NumberOf(write.decision->workload));
}

void World::Finish(std::size_t job) {
  workloads_.Finish(job, now_, jobs_[job].failed);
  workloads_.Deliver(now_);
  workloads_.Forget(job);
  LeaveNodes(job);
  DropResult(job);
  standing_[job] = {};
  FreeFollowers(job);
  NoLongerAwait(job);
  book_.Finish(job, SinceStart(now_));
}

World::Progress World::Perform(const admission::Decision& decision) {
  bool changed = decision.to == queue::Destination::kInadmissible;
  for (const admission::DecidedWrite& write : plane_.driver().WritesOf(decision)) {
    if (write.kind == admission::DecidedWrite::Kind::kReserve) {
      Admit(workloads_.NumberOf(decision.workload), write);
    } else if (write.kind == admission::DecidedWrite::Kind::kPreempt) {
      Stop(workloads_.NumberOf(write.victim->workload), write);
    } else {
      continue;  // reasons are not written, and jobs that have quota keep their nodes
    }
    changed = true;
  }
  if (changed) return Progress::kChanged;
  return decision.assignment.scan.HasPendingFlavors() ? Progress::kScans : Progress::kNone;
}

void World::NoteReasons(const admission::CycleResult& result) {
  const auto why = [this](admission::WorkloadId id) -> std::string& {
    return book_.why(workloads_.NumberOf(id));
  };
  for (const admission::Decision& decision : result.decisions) {
    why(decision.workload) =
        admission::PendingMessage(decision, scheduler_.state().vocabulary(),
                                  scheduler_.state().queue(decision.cluster_queue).name);
  }
  for (const auto& parked : result.bulk_parked) {
    why(parked.workload) = why(result.decisions[parked.like].workload);
  }
}

void World::NotePlaces() {
  for (const admission::KeptPlace& place : scheduler_.kept_places().places()) {
    book_.NotePlace(workloads_.NumberOf(place.workload), SinceStart(place.at));
  }
}

World::Progress World::RunCycle() {
  const admission::CycleResult& result = scheduler_.RunCycle(now_);
  ++result_.cycles;
  result_.decisions += static_cast<std::int64_t>(result.decisions.size());
  if (notes_reasons_) NoteReasons(result);
  Progress progress = result.refused_parked > 0 ? Progress::kChanged : Progress::kNone;
  for (const admission::Decision& decision : result.decisions) {
    progress = std::min(progress, Perform(decision));
  }
  return progress;
}

void World::RunCycles() {
  const auto jobs = static_cast<std::int64_t>(waiting_.size() + ends_.size() + starts_.size() +
                                              without_nodes_.size());
  const std::int64_t most = preemptions_ + kMaxPreemptionsAtOnce * jobs;
  int scans = 0;
  while (scheduler_.HasHeads() && scans < kMaxScans && preemptions_ <= most) {
    const Progress progress = RunCycle();
    if (progress == Progress::kNone) break;
    scans = progress == Progress::kScans ? scans + 1 : 0;
  }
  if (now_ == start_) NotePlaces();
  if (!wake_up_ && (scheduler_.HasWakeUps() || preemptions_ > most)) {
    wake_up_ = now_ + options_.driver.wake_up_batch;
  }
}

bool World::TryAgain() {
  const std::int64_t before = admissions_;
  for (const std::size_t job : waiting_) {
    scheduler_.Forget<api::Workload>(workloads_.object(job)->meta.key());
  }
  // A queue that is made anew and woken keeps no verdict on jobs of equal requests.
  for (const auto& each : cluster_.cluster_queues) {
    scheduler_.Forget<api::ClusterQueue>(each.meta.name);
    scheduler_.Apply(each);
  }
  scheduler_.RunWakeUps(now_);
  for (const std::size_t job : waiting_) workloads_.Set(job, workloads_.object(job), now_);
  notes_reasons_ = true;
  RunCycles();
  notes_reasons_ = false;
  return admissions_ > before;
}

void World::ExplainRest() {
  for (const auto& [admission, job] : without_nodes_) {
    book_.why(job) = "has quota, and no node pool has room for its pods, ever";
  }
  for (std::size_t job = book_.independent_count(); job < jobs_.size(); ++job) {
    if (book_.IsBound(job)) book_.why(job) = "waits for a job that never finishes";
  }
  for (const std::size_t job : waiting_) {
    std::string why = WhyWaiting(job);
    if (!why.empty()) book_.why(job) = std::move(why);
  }
}

// Why the queue of a waiting job admits nothing; empty: the scheduler has said why.
std::string World::WhyWaiting(std::size_t job) const {
  const api::ObjectMeta& meta = workloads_.object(job)->meta;
  const std::string& name = workloads_.object(job)->spec.queue_name;
  const auto local = std::find_if(
      cluster_.local_queues.begin(), cluster_.local_queues.end(), [&](const api::LocalQueue& each) {
        return each.meta.name == name && each.meta.namespace_name == meta.namespace_name;
      });
  if (local == cluster_.local_queues.end()) {
    return "LocalQueue " + meta.namespace_name + "/" + name + " does not exist";
  }
  if (local->stop_policy != api::StopPolicy::kNone) {
    return "LocalQueue " + local->meta.key().ToString() + " is stopped";
  }
  const auto queue = scheduler_.state().cluster_queues().Find(local->cluster_queue);
  if (!queue) return "ClusterQueue " + local->cluster_queue + " does not exist";
  if (!scheduler_.state().queue(*queue).active()) {
    return "ClusterQueue " + local->cluster_queue +
           " is inactive: " + scheduler_.state().queue(*queue).ActiveMessage();
  }
  if (!book_.outcome(job).why.empty()) return "";
  return "waits behind a job of ClusterQueue " + local->cluster_queue + " that cannot be admitted";
}

// What happens at this instant, but for the decisions.
void World::TakeDue() {
  while (const auto job = ends_.TakeDue(now_)) Finish(*job);
  while (const auto job = results_.TakeDue(now_)) FreeFollowers(*job);
  while (const auto node = evictable_.TakeDue(now_)) LoseNode(*node);
  while (const auto job = starts_.TakeDue(now_)) Start(*job);
  while (submitted_ < book_.independent_count() && TimeOf(jobs_[submitted_]) == now_)
    Submit(submitted_++);
  while (const auto job = following_.TakeDue(now_)) Submit(*job);
  const std::optional<WallTime> look = scheduler_.victim_rules().Next();
  if (wake_up_ == now_ || (look && *look <= now_)) {
    wake_up_.reset();
    scheduler_.RunWakeUps(now_);
  }
}

WorldResult World::TakeResult() {
  result_.outcomes = book_.TakeOutcomes();
  result_.end = book_.end();
  return std::move(result_);
}

WorldResult World::Run() {
  const bool ends_early = awaited_count_ > 0;
  const std::int64_t most = kMaxPreemptionsPerJob * static_cast<std::int64_t>(jobs_.size() + 1);
  while (!result_.stopped_early) {
    const std::optional<WallTime> next = NextEvent();
    if (!next) {
      if (waiting_.empty() || !TryAgain()) break;
      continue;
    }
    now_ = *next;
    TakeDue();
    PlaceWaitingPods();
    RunCycles();
    PlaceWaitingPods();
    result_.stopped_early = preemptions_ > most;
    if (ends_early && awaited_count_ == 0) return TakeResult();
  }
  ExplainRest();
  if (nodes_) {
    result_.pools = nodes_->UseUntil(start_ + book_.end());
    result_.nodes = nodes_->lives();
  }
  return TakeResult();
}

}  // namespace berth::simulation
