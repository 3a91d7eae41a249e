// Goal: a note has the text of its decision, without workloads that are gone. Method: one queue,
// one refused preemptor, notes read after the decisions are destroyed.
#include "admission/controller/notes/decision_note.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/checkpoint.h"
#include "api/queue_policy.h"
#include "api/reasons.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;
using testing::HasSubstr;
using testing::Not;

// Queue a: gpu 4, of which "holder" has 3.
class DecisionNoteTest : public testing::Test {
 protected:
  DecisionNoteTest() : world_({"f"}, {Queue()}) {
    world_.Apply(MakeJob("holder", "a", 3, {{"gpu", 1}}, 5));
    world_.Cycle();
  }
  static api::ClusterQueue Queue() {
    api::ClusterQueue queue = MakeQueue("a", "", {{"f", {{"gpu", 4}}}});
    queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    return queue;
  }
  std::shared_ptr<const DecisionNote> NoteOfRefused() {
    world_.Apply(MakeJob("refused", "a", 2, {{"gpu", 1}}, 1));
    world_.Cycle();
    return DecisionNote::Of(world_.Of("refused"), world_.scheduler());
  }
  TableWorld world_;
};

TEST_F(DecisionNoteTest, KeepsTheDecisionsReasonMessageAndCause) {
  const auto note = NoteOfRefused();
  const std::string message = world_.MessageOf("refused");
  const std::uint64_t cause =
      CauseOf(world_.Of("refused"), world_.scheduler().state().vocabulary());
  world_.DeleteWorkload(KeyOf("refused"));
  world_.Cycle();
  EXPECT_EQ(note->reason(), "WaitingForQuota");
  EXPECT_EQ(note->message(), message);
  EXPECT_EQ(note->cause(), cause);
  EXPECT_EQ(note->resource_requests(), (std::vector<api::PodSetRequests>{{"main", {{"gpu", 2}}}}));
  EXPECT_THAT(note->explanation(), HasSubstr(R"("asked":2)"));
}

TEST_F(DecisionNoteTest, NamesSparedCandidatesUntilTheyAreDeleted) {
  const auto note = NoteOfRefused();
  EXPECT_THAT(note->explanation(), HasSubstr("default/holder"));
  world_.DeleteWorkload(KeyOf("holder"));
  world_.Apply(MakeJob("stranger", "a", 1, {{"gpu", 1}}));  // reuses the free number
  EXPECT_THAT(note->explanation(), Not(HasSubstr("holder")));
  EXPECT_THAT(note->explanation(), Not(HasSubstr("stranger")));
}

TEST_F(DecisionNoteTest, KeepsItsMessageAfterItsQueueIsDeleted) {
  const auto note = NoteOfRefused();
  world_.scheduler().Forget<api::ClusterQueue>("a");
  EXPECT_THAT(note->message(), HasSubstr("insufficient unused quota for gpu"));
  EXPECT_THAT(note->explanation(), Not(HasSubstr("nominal")));
}

// A job that claims checkpoints each minute.
api::Workload Claiming(const std::string& name, std::int32_t priority = 0) {
  api::Workload job = MakeJob(name, "guest", 1, {{"gpu", 1}}, priority);
  job.meta.annotations[api::kCheckpointEveryAnnotation] = "1m";
  return job;
}

// Such a job after its end: it was stopped so often, and ran for `earlier` before its last start.
api::Workload EndedJob(const std::string& name, std::chrono::minutes ran,
                       std::chrono::minutes earlier, std::int32_t stops, WallTime now) {
  api::Workload job = Claiming(name);
  const auto since = [&](const char* type, const char* reason, WallTime at) {
    job.status.conditions.push_back({.type = type,
                                     .status = api::ConditionStatus::kTrue,
                                     .reason = reason,
                                     .last_transition_time = at});
  };
  since(api::kQuotaReserved, api::kQuotaReserved, now - ran);
  since(api::kAdmitted, api::kAdmitted, now - ran);
  since(api::kFinished, api::kSucceeded, now);
  job.status.admission.emplace().cluster_queue = "guest";
  job.status.accumulated_past_execution_time_seconds =
      static_cast<std::int32_t>(std::chrono::seconds(earlier).count());
  if (stops > 0) job.status.evictions = {{api::kPreempted, api::kInClusterQueue, stops}};
  return job;
}

TEST(DecisionNoteOfClaimsTest, TellsWhatStopsHaveCost) {
  std::vector<api::ClusterQueue> queues;
  for (const auto& [name, gpus] : {std::pair{"owner", 2}, std::pair{"guest", 0}}) {
    queues.push_back(MakeQueue(name, "org", {{"f", {{"gpu", gpus}}}}));
    queues.back().meta.annotations[api::kPreemptionPatienceAnnotation] = "24h";
  }
  queues[0].spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
  TableWorld world({"f"}, queues);
  using std::chrono::minutes;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    world.Apply(EndedJob(name, minutes(60), minutes(0), 0, world.now()));
  }
  for (const char* name : {"g", "h", "i"}) {
    world.Apply(EndedJob(name, minutes(60), minutes(60), 2, world.now()));
  }
  world.Apply(Claiming("victim"));
  world.Apply(Claiming("other"));
  ASSERT_THAT(world.AdmitAll(), HasSubstr("victim"));
  world.Advance(std::chrono::hours(3));
  api::Workload head = MakeJob("head", "owner", 1, {{"gpu", 1}});
  head.spec.maximum_execution_time_seconds = 600;
  world.Apply(head);
  ASSERT_EQ(world.Cycle(), "head Skipped");
  const auto of_head = DecisionNote::Of(world.Of("head"), world.scheduler());
  EXPECT_THAT(of_head->explanation(),
              HasSubstr("A stop of it counts as 30 min of work: stops of jobs like it have cost so "
                        "much each (median). Its job claims 1 min"));
  EXPECT_THAT(of_head->explanation(), Not(HasSubstr("lostSeconds")));
  world.Apply(Claiming("waiting"));
  world.Cycle();
  const auto of_waiting = DecisionNote::Of(world.Of("waiting"), world.scheduler());
  EXPECT_THAT(of_waiting->explanation(), HasSubstr(R"("stops":{"count":6,"lostSeconds":1800})"));
}

TEST_F(DecisionNoteTest, AdmissionHasNoNote) {
  EXPECT_EQ(DecisionNote::Of(world_.Of("holder"), world_.scheduler()), nullptr);
}

}  // namespace
}  // namespace berth::admission
