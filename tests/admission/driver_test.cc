// Goal: each decision asks for the writes that the controllers send, in their order, and every
// caller gets the same change of the Workload. Method: tables of small queues in a ControlPlane,
// whose decisions are turned into writes; writes are tried on other states of their Workloads.
#include "admission/driver.h"

#include <gmock/gmock.h>

#include "api/reasons.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = DecidedWrite::Kind;

std::vector<Kind> KindsOf(const Driver::Writes& writes) {
  std::vector<Kind> kinds;
  for (const DecidedWrite& write : writes) kinds.push_back(write.kind);
  return kinds;
}

class DriverTest : public ::testing::Test {
 protected:
  DriverTest() : world_({"f"}, {Preempting()}) {}

  static api::ClusterQueue Preempting() {
    api::ClusterQueue queue = MakeQueue("q", "", {{"f", {{"gpu", 4}}}});
    queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    return queue;
  }
  Driver::Writes WritesFor(const std::string& workload) const {
    return world_.driver().WritesOf(world_.Of(workload));
  }
  api::Workload Changed(const DecidedWrite& write, const std::string& workload) const {
    api::Workload changed = *world_.Find(KeyOf(workload));
    world_.driver().Change(write, changed, changed.status, world_.now());
    return changed;
  }

  TableWorld world_;
};

TEST_F(DriverTest, AnAdmissionIsOneWrite) {
  world_.Apply(MakeJob("a", "q", 1, {{"gpu", 1}}));
  EXPECT_EQ(world_.Cycle(), "a Admitted");
  const Driver::Writes writes = WritesFor("a");
  EXPECT_THAT(KindsOf(writes), ElementsAre(Kind::kReserve));
  EXPECT_EQ(writes.front().workload().meta.name, "a");
  EXPECT_TRUE(world_.driver().IsWritten(writes.front(), *world_.Find(KeyOf("a"))));
  api::Workload other = *world_.Find(KeyOf("a"));
  other.status.admission->cluster_queue = "another";
  EXPECT_FALSE(world_.driver().IsWritten(writes.front(), other));
}

TEST_F(DriverTest, PreemptionEvictsVictimsAndExplainsThePreemptor) {
  world_.Apply(MakeJob("low", "q", 1, {{"gpu", 2}}));
  world_.Apply(MakeJob("low2", "q", 1, {{"gpu", 2}}));
  world_.AdmitAll();
  world_.Apply(MakeJob("high", "q", 1, {{"gpu", 4}}, 10));
  EXPECT_EQ(world_.Cycle(), "high Preempting");
  const Driver::Writes writes = WritesFor("high");
  ASSERT_THAT(KindsOf(writes), ElementsAre(Kind::kPreempt, Kind::kPreempt, Kind::kExplain));
  const std::string& victim = writes.front().workload().meta.name;
  const api::Workload& evicted = *world_.Find(KeyOf(victim));
  EXPECT_TRUE(world_.driver().IsWritten(writes.front(), evicted));
  EXPECT_THAT(writes.front().message, HasSubstr("high"));
  EXPECT_EQ(api::FindCondition(evicted.status.conditions, api::kPreempted)->message,
            writes.front().message);

  // An eviction that is under way is not asked for again.
  world_.Cycle();
  EXPECT_THAT(KindsOf(WritesFor("high")), ElementsAre(Kind::kExplain));
}

TEST_F(DriverTest, AnEvictionNeedsAReservation) {
  world_.Apply(MakeJob("low", "q", 1, {{"gpu", 4}}));
  world_.AdmitAll();
  world_.Apply(MakeJob("high", "q", 1, {{"gpu", 4}}, 10));
  world_.Cycle();
  const DecidedWrite write = WritesFor("high").front();
  api::Workload before = write.workload();
  EXPECT_TRUE(world_.driver().IsDue(write, before));
  api::Workload fresh = before;
  fresh.meta.resource_version = "another";
  EXPECT_TRUE(world_.driver().StillHolds(write, before, fresh));
  fresh.status.admission->cluster_queue = "another";
  EXPECT_FALSE(world_.driver().StillHolds(write, before, fresh));
  before.status.conditions.clear();
  EXPECT_FALSE(world_.driver().IsDue(write, before));
}

TEST_F(DriverTest, WaitingWorkloadGetsItsMessage) {
  world_.Apply(MakeJob("wide", "q", 1, {{"gpu", 5}}));
  world_.Cycle();
  const Driver::Writes writes = WritesFor("wide");
  ASSERT_THAT(KindsOf(writes), ElementsAre(Kind::kExplain));
  const api::Workload explained = Changed(writes.front(), "wide");
  const api::Condition* waits =
      api::FindCondition(explained.status.conditions, api::kQuotaReserved);
  ASSERT_NE(waits, nullptr);
  EXPECT_EQ(waits->message, world_.MessageOf("wide"));
}

TEST_F(DriverTest, KeptWriteStaysValidAfterItsCycle) {
  world_.Apply(MakeJob("low", "q", 1, {{"gpu", 4}}));
  world_.AdmitAll();
  world_.Apply(MakeJob("high", "q", 1, {{"gpu", 4}}, 10));
  world_.Cycle();
  std::shared_ptr<const Decision> copy;
  const auto kept = Keep(WritesFor("high").front(), copy);
  EXPECT_EQ(Keep(WritesFor("high").back(), copy)->decision, kept->decision) << "one copy";
  copy.reset();
  world_.Cycle();  // the decision is gone
  EXPECT_EQ(kept->workload().meta.name, "low");
  EXPECT_EQ(kept->victim, &kept->decision->victims[0]);
  EXPECT_EQ(kept->decision->object->meta.name, "high");
}

TEST(DriverOptionsTest, PodsReadyConditionIsWrittenIfTheOptionIsOn) {
  for (const bool enabled : {true, false}) {
    DriverOptions options;
    options.pods_ready.enabled = enabled;
    Driver driver(options);
    Scheduler& scheduler = driver.scheduler();
    api::Namespace space;
    space.meta.name = "default";
    scheduler.Apply(space);
    scheduler.Apply(support::MakeFlavor("f"));
    scheduler.Apply(MakeQueue("q", "", {{"f", {{"gpu", 4}}}}));
    scheduler.Apply(support::MakeLocalQueue("q", "q"));
    api::Workload job = MakeJob("a", "q", 1, {{"gpu", 1}});
    job.meta.owner_references.emplace_back().controller = true;
    scheduler.ApplyWorkload(std::make_shared<const api::Workload>(job), WallTime{});
    const CycleResult& result = scheduler.RunCycle(WallTime{});
    ASSERT_EQ(result.decisions.size(), 1U);
    const DecidedWrite write = driver.WritesOf(result.decisions[0]).front();
    driver.Change(write, job, job.status, WallTime{});
    EXPECT_EQ(api::FindCondition(job.status.conditions, api::kPodsReady) != nullptr, enabled);
  }
}

}  // namespace
}  // namespace berth::admission
