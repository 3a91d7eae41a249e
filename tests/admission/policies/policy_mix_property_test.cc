// Goal: with any mix of the policies of queues, every job ends (or reaches its declared maximum)
// while the load is below the quota, no job is stopped for one of lower priority of its queue, and
// equal inputs give equal decisions. Method: random jobs on two queues of a cohort; each job starts
// from its beginning, or from its last checkpoint, when it has been stopped.
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/checkpoint.h"
#include "api/deadline.h"
#include "api/job_user.h"
#include "api/queue_policy.h"
#include "base/random.h"
#include "base/rfc3339.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using std::chrono::minutes;
using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

constexpr int kArrivals = 80;
constexpr int kAllGpus = 16;         // both queues have so many
constexpr double kLoad = 0.8;        // GPU time that arrives, as a part of the quota
constexpr int kMostEvents = 40'000;  // a few hundred are usual

struct Job {
  api::Workload object;
  Duration work{};   // in all
  Duration left{};   // from the last checkpoint, or from the beginning
  Duration keeps{};  // the time between two checkpoints; zero: there are none
  WallTime started{};
  bool runs = false;
  bool ended = false;
};

class PolicyStory {
 public:
  explicit PolicyStory(std::uint64_t seed) : random_(seed) {
    const api::StringMap policy = DrawPolicy();
    std::vector<api::ClusterQueue> queues;
    for (const auto& [name, quota] : {std::pair{"a", 12}, std::pair{"b", kAllGpus - 12}}) {
      queues.push_back(MakeQueue(name, "org", {{"f", {{"gpu", quota}}}}));
      api::ClusterQueue& queue = queues.back();
      queue.meta.annotations = policy;
      if (random_.Below(2) == 0) {
        queue.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
      }
      if (random_.Below(2) == 0) {
        queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
      }
      if (random_.Below(4) == 0) queue.spec.queueing_strategy = api::QueueingStrategy::kStrictFifo;
    }
    SchedulerConfig config;
    if (random_.Below(4) == 0) config.fair_sharing = FairSharing();
    world_ = std::make_unique<TableWorld>(std::vector<std::string>{"f"}, queues, config);
    DrawJobs();
  }

  // The log of admissions and stops; empty if some job does not end.
  std::string Play() {
    for (int event = 0; event < kMostEvents; ++event) {
      events_ = event;
      const std::optional<WallTime> next = NextEvent();
      if (!next) break;
      world_->SetTime(std::max(*next, world_->now()));
      EndJobs();
      while (arrived_ < arrivals_.size() && arrivals_[arrived_] <= world_->now()) Submit();
      world_->RunWakeUps();
      Decide();
    }
    for (const auto& [name, job] : jobs_) {
      if (job.ended) continue;
      ADD_FAILURE() << name << " of queue " << job.object.spec.queue_name << " does not end: it "
                    << (job.runs ? "runs" : "waits") << ", stopped " << stops_[name]
                    << " times, after " << events_ << " events\n"
                    << told_policy_;
      return "";
    }
    return log_;
  }

 private:
  // At most one value of each annotation.
  api::StringMap DrawPolicy() {
    api::StringMap policy;
    const auto draw = [&](const char* annotation, std::vector<const char*> values) {
      if (random_.Below(2) == 0) return;
      policy[annotation] = values[random_.Below(values.size())];
      told_policy_ += std::string(annotation) + ": " + policy[annotation] + "\n";
    };
    draw(api::kOrderAnnotation, {"Fifo", "ShortestFirst", "FairByUser"});
    draw(api::kReserveAfterAnnotation, {"0s", "1h", "auto"});
    draw(api::kReserveCountAnnotation, {"1", "3"});
    draw(api::kDeadlinesAnnotation, {"1m", "1h"});
    draw(api::kVictimsAnnotation, {"LeastWorkLost"});
    draw(api::kPreemptionPatienceAnnotation, {"10m", "24h"});
    draw(api::kPreemptMinRunAnnotation, {"1m", "1h"});
    draw(api::kReclaimMinRunAnnotation, {"1m", "1h"});
    draw(api::kTimeSliceAnnotation, {"5m", "1h"});
    draw(api::kLeastCheckpointAnnotation, {"20m"});
    return policy;
  }

  void DrawJobs() {
    WallTime at = world_->now();
    for (int i = 0; i < kArrivals; ++i) {
      const std::string name = "j" + std::to_string(100 + i);
      const bool of_b = random_.Below(4) == 0;
      const bool wide = random_.Below(8) == 0;
      const int size = static_cast<int>(wide ? (of_b ? 4 : 12) : 1 + random_.Below(3));
      Job job;
      job.work = job.left = minutes(1 + random_.Below(random_.Below(5) == 0 ? 600 : 60));
      at += std::chrono::duration_cast<Duration>(job.work * (size / (kLoad * kAllGpus)) *
                                                 (2 * random_.Unit()));
      job.object = MakeJob(name, of_b ? "b" : "a", size, {{"gpu", 1}},
                           static_cast<std::int32_t>(random_.Below(3) == 0 ? 5 : 0));
      api::StringMap& annotations = job.object.meta.annotations;
      annotations[api::kUserAnnotation] = "user-" + std::to_string(random_.Below(3));
      if (random_.Below(3) == 0) {
        job.keeps = minutes(1 + random_.Below(30));
        annotations[api::kCheckpointEveryAnnotation] = "1m";  // the claim may be false
      }
      if (random_.Below(3) == 0) {
        annotations[api::kDeadlineAnnotation] = FormatTime(at + minutes(random_.Below(900)));
      }
      if (random_.Below(2) == 0) {
        const auto most = std::chrono::duration_cast<std::chrono::seconds>(job.work * 2);
        job.object.spec.maximum_execution_time_seconds = static_cast<std::int32_t>(most.count());
      }
      arrivals_.push_back(at);
      names_.push_back(name);
      jobs_[name] = std::move(job);
    }
  }

  std::optional<WallTime> NextEvent() const {
    std::optional<WallTime> next = world_->scheduler().NextTurn();
    const auto at = [&next](WallTime time) { next = std::min(next.value_or(time), time); };
    if (arrived_ < arrivals_.size()) at(arrivals_[arrived_]);
    bool any_left = arrived_ < arrivals_.size();
    for (const auto& [name, job] : jobs_) {
      if (job.runs) at(job.started + job.left);
      any_left = any_left || !job.ended;
    }
    return any_left ? next : std::nullopt;
  }

  void Submit() {
    api::Workload object = jobs_.at(names_[arrived_++]).object;
    object.meta.creation_timestamp = world_->now();
    world_->Apply(std::move(object));
  }

  void EndJobs() {
    for (auto& [name, job] : jobs_) {
      if (!job.runs || job.started + job.left > world_->now()) continue;
      job.runs = false;
      job.ended = true;
      world_->Finish(KeyOf(name));
    }
  }

  // Cycles until nothing more is decided. The head of a StrictFIFO queue stays the head.
  void Decide() {
    std::size_t idle = 0;
    for (int round = 0; round < 5'000; ++round) {
      if (!world_->HasHeads() || idle > jobs_.size()) return;
      world_->Cycle();
      ++idle;
      for (const Decision& decision : world_->last().decisions) {
        CheckVictims(decision);
        if (decision.outcome != Outcome::kAdmitted) continue;
        Job& job = jobs_.at(decision.object->meta.name);
        job.runs = true;
        job.started = world_->now();
        log_ += "+" + decision.object->meta.name;
        idle = 0;
      }
      for (const api::ObjectKey& key : world_->Evicted()) {
        Stop(key);
        idle = 0;
      }
      world_->RunWakeUps();
    }
    ADD_FAILURE() << "the cycles of one instant do not end\n" << told_policy_;
  }

  static void CheckVictims(const Decision& decision) {
    if (decision.outcome != Outcome::kPreempting) return;
    for (const Victim& victim : decision.victims) {
      if (victim.object->spec.queue_name != decision.object->spec.queue_name) continue;
      EXPECT_LE(victim.object->spec.priority.value_or(0),
                decision.object->spec.priority.value_or(0))
          << victim.object->meta.name << " is stopped for " << decision.object->meta.name;
    }
  }

  void Stop(const api::ObjectKey& key) {
    world_->Release(key);
    Job& job = jobs_.at(key.name);
    ASSERT_TRUE(job.runs) << key.name;
    job.runs = false;
    ++stops_[key.name];
    log_ += "-" + key.name;
    // The time of all runs counts towards the declared maximum, as in Kueue.
    job.ended = !world_->Find(key)->spec.active;
    if (job.keeps > Duration::zero()) {
      job.left -= (world_->now() - job.started) / job.keeps * job.keeps;
    }
  }

  Random random_;
  std::string told_policy_;
  std::unique_ptr<TableWorld> world_;
  std::map<std::string, Job> jobs_;
  std::vector<std::string> names_;
  std::vector<WallTime> arrivals_;
  std::size_t arrived_ = 0;
  int events_ = 0;
  std::map<std::string, int> stops_;
  std::string log_;
};

TEST(PolicyMixProperty, EveryJobEnds) {
  std::size_t stopped = 0;
  for (std::uint64_t seed = 1; seed <= 30 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string log = PolicyStory(seed).Play();
    stopped += static_cast<std::size_t>(std::count(log.begin(), log.end(), '-'));
  }
  EXPECT_GT(stopped, 200U) << "the stories hardly stop jobs";
}

TEST(PolicyMixProperty, EqualInputsGiveEqualDecisions) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EXPECT_EQ(PolicyStory(seed).Play(), PolicyStory(seed).Play());
  }
}

}  // namespace
}  // namespace berth::admission
