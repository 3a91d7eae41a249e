#include "scenarios/played_jobs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/codec/codec.h"
#include "api/codec/kinds.h"
#include "api/reasons.h"
#include "local/cluster/objects/fields.h"
#include "scenarios/played_nodes.h"
#include "scenarios/played_objects.h"
#include "scenarios/world/sim_world.h"

namespace berth::scenarios {
namespace {

using Json = nlohmann::json;
using local::cluster::ArrayAt;
using local::cluster::ConditionIs;
using local::cluster::FindCondition;
using local::cluster::StringAt;
using simulation::JobOutcome;
using simulation::WorldEvent;

constexpr Duration kLook = std::chrono::minutes(10);

class Play {
 public:
  Play(sim::SimWorld& world, const simulation::Cluster& cluster,
       const std::vector<simulation::Job>& jobs, const PlayOptions& options)
      : world_(world),
        cluster_(cluster),
        jobs_(jobs),
        options_(options),
        nodes_(options.pools),
        standing_(jobs.size()),
        book_(jobs, [this, told = options.on_event](const simulation::WorldEvent& event) {
          last_ = world_.clock().Now();
          if (told) told(event);
        }) {
    for (std::size_t job = 0; job < jobs.size(); ++job) by_name_[PlayedJobName(job)] = job;
  }

  // Applies the objects and lets what needs no job settle: nodes that always stand.
  Status Prepare() {
    std::vector<Json> objects = ObjectsForJobs(cluster_, jobs_);
    const std::vector<Json> given = PlayableObjects(options_.objects);
    objects.insert(objects.end(), given.begin(), given.end());
    for (const Json& object : objects) {
      const auto applied = world_.ApplyOne(object);
      if (applied) continue;
      return Error{ErrorCode::kInvalid, StringAt(object, {"kind"}) + " " +
                                            StringAt(object, {"metadata", "name"}) + ": " +
                                            applied.error().message};
    }
    world_.Settle();
    Duration boots{};
    for (const simulation::NodePool& pool : options_.pools) {
      if (pool.min_nodes > 0) boots = std::max(boots, pool.boot);
      for (const Duration boot : pool.boots) boots = std::max(boots, boot);
    }
    world_.RunFor(std::chrono::ceil<std::chrono::seconds>(boots + std::chrono::seconds(1)));
    return OkStatus();
  }

  simulation::WorldResult Run() {
    start_ = world_.clock().Now();
    last_ = start_;
    watch_ = world_.api().WatchAll(
        local::WatchFrom::kState,
        [this](const local::ResourceId& resource, const local::WatchEvent& event) {
          OnEvent(resource.resource, event);
        });
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      if (!book_.IsBound(job)) SubmitAfter(job, jobs_[job].submit - jobs_.front().submit);
    }
    while (finished_ < jobs_.size() && !IsStuck()) {
      world_.RunUntil([this] { return finished_ == jobs_.size(); }, kLook);
    }
    if (!options_.pools.empty()) world_.RunFor(LongestIdle());
    watch_.reset();
    for (std::size_t job = 0; job < jobs_.size(); ++job) Explain(job);
    simulation::WorldResult result;
    result.end = book_.end();
    nodes_.EndAt(result.end);
    result.outcomes = book_.TakeOutcomes();
    result.pools = nodes_.TakeUse();
    result.nodes = nodes_.TakeLives();
    return result;
  }

 private:
  struct Standing {
    std::map<std::string, std::pair<std::string, std::string>> pods;  // name: node, phase
    std::optional<Duration> since;  // its pods run; nullopt: they do not
    bool is_stopping = false;       // preempted: its pods are on their way out
    std::int64_t starts = 0;
    Json workload;
  };

  // The time after the last job in which idle nodes go.
  Duration LongestIdle() const {
    Duration longest = std::chrono::minutes(1);
    for (const simulation::NodePool& pool : options_.pools) {
      longest = std::max(longest, pool.idle + std::chrono::minutes(1));
    }
    return longest;
  }

  Duration Now() const { return world_.clock().Now() - start_; }

  bool IsStuck() const {
    return arriving_ == 0 && running_ == 0 && world_.clock().Now() - last_ >= kPatience;
  }

  void SubmitAfter(std::size_t job, Duration delay) {
    ++arriving_;
    world_.executor().PostAfter(delay, [this, job] {
      --arriving_;
      const Json object = MakePlayedJob(cluster_, jobs_[job], job);
      const auto made = world_.ApplyOne(object);
      if (!made) book_.why(job) = "the Job is refused: " + made.error().message;
      book_.Submit(job, Now());
    });
  }

  void FreeFollowers(std::size_t job) {
    for (const std::size_t follower : book_.Free(job)) {
      SubmitAfter(follower, jobs_[follower].submit);
    }
  }

  void OnEvent(const std::string& resource, const local::WatchEvent& event) {
    const bool is_gone = event.type == local::WatchEvent::Type::kDeleted;
    const Json& object = *event.object;
    if (resource == "nodes") return nodes_.Note(object, is_gone, Now());
    if (resource == "pods") return OnPod(object, is_gone);
    if (resource == "jobs" && !is_gone && ConditionIs(object, "Complete", "True")) {
      return Finish(JobNamed(StringAt(object, {"metadata", "name"})));
    }
    if (resource == "workloads" && !is_gone) OnWorkload(object);
  }

  std::optional<std::size_t> JobNamed(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
  }

  std::optional<std::size_t> JobOf(const Json& owned) const {
    const Json* owner = local::cluster::ControllerRef(owned);
    if (owner == nullptr || StringAt(*owner, {"kind"}) != "Job") return std::nullopt;
    return JobNamed(StringAt(*owner, {"name"}));
  }

  void OnPod(const Json& pod, bool is_gone) {
    const auto job = JobOf(pod);
    if (!job) return;
    auto& pods = standing_[*job].pods;
    const std::string name = StringAt(pod, {"metadata", "name"});
    auto& [node, phase] = pods[name];
    const bool was_there = !node.empty() && phase != "Succeeded" && phase != "Failed";
    node = StringAt(pod, {"spec", "nodeName"});
    phase = StringAt(pod, {"status", "phase"});
    const std::string at = node;
    const bool is_there = !is_gone && !at.empty() && phase != "Succeeded" && phase != "Failed";
    if (is_gone) pods.erase(name);
    if (is_there && !was_there) nodes_.AddPod(at, Now());
    if (was_there && !is_there) nodes_.RemovePod(at, Now());
    LookAtRun(*job);
  }

  // Whether all pods of the job run, or have ended well.
  bool IsWhole(std::size_t job) const {
    std::int64_t good = 0;
    for (const auto& [name, pod] : standing_[job].pods) {
      if (pod.second == "Running" || pod.second == "Succeeded") ++good;
    }
    return good >= jobs_[job].shape->pod_sets[0].count;
  }

  void LookAtRun(std::size_t job) {
    Standing& run = standing_[job];
    if (book_.outcome(job).finished) return;
    const bool is_whole = IsWhole(job);
    if (!is_whole) run.is_stopping = false;
    if (is_whole && !run.since && !run.is_stopping) return Start(job);
    if (!is_whole && run.since) Lose(job, WorldEvent::Kind::kLost);
  }

  void Start(std::size_t job) {
    Standing& run = standing_[job];
    run.since = Now();
    ++running_;
    const std::int64_t start = ++run.starts;
    if (jobs_[job].result && book_.HasFollowers(job)) {
      world_.executor().PostAfter(*jobs_[job].result, [this, job, start] {
        if (standing_[job].since && standing_[job].starts == start) FreeFollowers(job);
      });
    }
    simulation::Nodes::Placement placement;
    std::map<simulation::NodeId, std::int64_t> pods;
    for (const auto& [name, pod] : run.pods) {
      if (const auto node = nodes_.IdOf(pod.first)) ++pods[*node];
    }
    placement.pods.assign(pods.begin(), pods.end());
    const auto workload = api::Decode<api::Workload>(run.workload);
    const bool is_known = workload && workload->status.admission;
    book_.Start(job, Now(), Now(), is_known ? &*workload->status.admission : nullptr, &placement);
  }

  // The run of the job ends before its time.
  void Lose(std::size_t job, WorldEvent::Kind kind) {
    Standing& run = standing_[job];
    const Duration ran = run.since ? Now() - *run.since : Duration{};
    if (run.since) --running_;
    run.since.reset();
    book_.Lose(job, kind, ran, Now());
  }

  void Finish(std::optional<std::size_t> job) {
    if (!job || book_.outcome(*job).finished) return;
    Standing& run = standing_[*job];
    if (run.since) --running_;
    run.since.reset();
    run.workload = nullptr;
    ++finished_;
    FreeFollowers(*job);
    book_.Finish(*job, Now());
  }

  void OnWorkload(const Json& workload) {
    const auto job = JobOf(workload);
    if (!job || book_.outcome(*job).finished) return;
    Standing& run = standing_[*job];
    const bool was_evicted =
        run.workload.is_object() && ConditionIs(run.workload, "Evicted", "True");
    run.workload = workload;
    const Json* evicted = FindCondition(workload, "Evicted");
    if (was_evicted || evicted == nullptr || !ConditionIs(workload, "Evicted", "True")) return;
    if (StringAt(*evicted, {"reason"}) != api::kPreempted) return;
    run.is_stopping = IsWhole(*job);
    Lose(*job, WorldEvent::Kind::kPreempted);
  }

  // Why a job is not complete, from its Workload.
  void Explain(std::size_t job) {
    const JobOutcome& outcome = book_.outcome(job);
    if (outcome.finished || !outcome.why.empty()) return;
    std::string& why = book_.why(job);
    const Json& workload = standing_[job].workload;
    if (!outcome.submitted) {
      why = "waits for a job that never finishes";
    } else if (!workload.is_object()) {
      why = "the controllers made no Workload of it";
    } else if (ConditionIs(workload, "Evicted", "True") &&
               !local::cluster::BoolAt(workload, {"spec", "active"})) {
      why = StringAt(*FindCondition(workload, "Evicted"), {"message"});
    } else if (!ConditionIs(workload, "QuotaReserved", "True")) {
      const Json* reserved = FindCondition(workload, "QuotaReserved");
      why = reserved == nullptr ? "waits in its queue" : StringAt(*reserved, {"message"});
    } else {
      why = "has quota, and its pods find no nodes";
      for (const Json& check : ArrayAt(workload, {"status", "admissionChecks"})) {
        if (StringAt(check, {"state"}) == "Ready") continue;
        why = "has quota; check " + StringAt(check, {"name"}) + " is " +
              StringAt(check, {"state"}) + ": " + StringAt(check, {"message"});
      }
    }
  }

  sim::SimWorld& world_;
  const simulation::Cluster& cluster_;
  const std::vector<simulation::Job>& jobs_;
  const PlayOptions& options_;
  PlayedNodes nodes_;
  WallTime start_{};
  WallTime last_{};  // something began or ended
  std::vector<Standing> standing_;
  simulation::JobBook book_;
  std::map<std::string, std::size_t> by_name_;
  std::size_t finished_ = 0;
  std::int64_t arriving_ = 0;
  std::int64_t running_ = 0;
  std::unique_ptr<local::WatchHandle> watch_;
};

}  // namespace

Result<simulation::WorldResult> PlayJobs(const simulation::Cluster& cluster,
                                         const std::vector<simulation::Job>& jobs,
                                         const PlayOptions& options) {
  sim::SimWorldOptions world_options;
  world_options.controllers.configuration = options.configuration;
  BERTH_TRY(const std::unique_ptr<sim::SimWorld> world,
            sim::SimWorld::Start(std::move(world_options)));
  Play play(*world, cluster, jobs, options);
  BERTH_CHECK_OK(play.Prepare());
  return play.Run();
}

}  // namespace berth::scenarios
