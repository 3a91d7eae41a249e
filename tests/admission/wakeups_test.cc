// Goal: the parked workloads that each change wakes. Method: one world with two trees: queues a and
// b in cohort c, and one queue alone; a parked workload in each; one event per row.
#include <gtest/gtest.h>

#include "api/condition.h"
#include "api/reasons.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeFlavor;
using support::MakeJob;
using support::MakeLocalQueue;
using support::MakeQueue;
using support::TableWorld;

// a 4 (running-a 1), b 2 (running-b 2 pods of 1), alone 4 (running-alone 1). Parked: pa, pb,
// palone.
class Parked : public TableWorld {
 public:
  Parked()
      : TableWorld({"f", "g"}, {MakeQueue("a", "c", {{"f", {{"gpu", 4}}}}),
                                MakeQueue("b", "c", {{"f", {{"gpu", 2}}}}),
                                MakeQueue("alone", "", {{"g", {{"gpu", 4}}}})}) {
    Apply(MakeJob("running-a", "a", 1, {{"gpu", 1}}));
    Apply(MakeJob("running-b", "b", 2, {{"gpu", 1}}));
    Apply(MakeJob("running-alone", "alone", 1, {{"gpu", 1}}));
    AdmitAll();
    Apply(MakeJob("pa", "a", 1, {{"gpu", 9}}));
    Apply(MakeJob("pb", "b", 1, {{"gpu", 9}}));
    Apply(MakeJob("palone", "alone", 1, {{"gpu", 9}}));
    while (HasHeads()) Cycle();
    WakeUp();  // carries out the wake-ups of the setup
    while (HasHeads()) Cycle();
  }
};

std::string Woken(const TableWorld& world) {
  std::string names;
  for (const char* name : {"pa", "pb", "palone"}) {
    const auto id = world.scheduler().workloads().Find(KeyOf(name));
    if (!id || world.scheduler().queues().PlaceOf(*id) != queue::Destination::kActive) continue;
    names += (names.empty() ? "" : " ") + std::string(name);
  }
  return names;
}

struct WakeUpRow {
  const char* name;
  std::function<void(TableWorld&)> event;
  const char* woken;
};

void Check(const WakeUpRow& row) {
  SCOPED_TRACE(row.name);
  Parked world;
  ASSERT_EQ(Woken(world), "");
  row.event(world);
  world.WakeUp();
  EXPECT_EQ(Woken(world), row.woken);
}

api::ClusterQueue Quota(const char* queue, const char* cohort, const char* flavor, Amount nominal) {
  return MakeQueue(queue, cohort, {{flavor, {{"gpu", nominal}}}});
}

TEST(WakeUpsTest, ChangesOfWorkloadsWakeTheirTree) {
  const WakeUpRow rows[] = {
      {"nothing", [](TableWorld&) {}, ""},
      {"a running one finishes: its whole tree",
       [](TableWorld& w) { w.Finish(KeyOf("running-b")); }, "pa pb"},
      {"one of the queue alone finishes", [](TableWorld& w) { w.Finish(KeyOf("running-alone")); },
       "palone"},
      {"a running one is deleted", [](TableWorld& w) { w.DeleteWorkload(KeyOf("running-a")); },
       "pa pb"},
      {"even a parked one that leaves", [](TableWorld& w) { w.DeleteWorkload(KeyOf("pb")); }, "pa"},
      {"pods that are done", [](TableWorld& w) { w.Reclaim(KeyOf("running-b"), "main", 1); },
       "pa pb"},
      {"a running one is deactivated: it holds its quota until it has stopped",
       [](TableWorld& w) { w.SetActive(KeyOf("running-a"), false); }, ""},
      {"a deactivated one has stopped",
       [](TableWorld& w) {
         w.SetActive(KeyOf("running-a"), false);
         w.ReleaseEvicted();
       },
       "pa pb"},
      {"its own priority changes: it alone tries again",
       [](TableWorld& w) { w.SetPriority(KeyOf("pa"), 7); }, "pa"},
      {"a running one's priority wakes nobody",
       [](TableWorld& w) { w.SetPriority(KeyOf("running-a"), 7); }, ""},
  };
  for (const WakeUpRow& row : rows) Check(row);
}

// Kueue's PriorityChanged considers Kueue's own classes alone.
TEST(WakeUpsTest, ChangedWorkloadPriorityClassWakes) {
  for (const char* kind : {"WorkloadPriorityClass", "PriorityClass"}) {
    TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}})});
    api::Workload running = MakeJob("running", "a", 1, {{"gpu", 4}});
    running.spec.priority_class_ref = {"kueue.x-k8s.io", kind, "high"};
    world.Apply(running);
    ASSERT_EQ(world.AdmitAll(), "running");
    world.Apply(MakeJob("pa", "a", 1, {{"gpu", 4}}));
    while (world.HasHeads()) world.Cycle();
    world.WakeUp();
    while (world.HasHeads()) world.Cycle();
    ASSERT_EQ(Woken(world), "");
    world.SetPriority(KeyOf("running"), -1);
    world.WakeUp();
    EXPECT_EQ(Woken(world), std::string(kind) == "PriorityClass" ? "" : "pa");
  }
}

// "main" fits flavor f, "rest" nothing: the scan of the first stops at f, and the next attempt is
// to go on there. Then the queue takes the namespace no more.
TEST(WakeUpsTest, NotNominatedHeadIsParkedInsideAScan) {
  for (const bool park : {true, false}) {
    SchedulerConfig config;
    config.own_rules.park_heads_not_tried = park;
    api::ClusterQueue queue = MakeQueue("a", "", {{"f", {{"gpu", 4}}}, {"g", {{"gpu", 4}}}});
    TableWorld world({"f", "g"}, {queue}, config);
    api::Workload job = MakeJob("w", "a", 1, {{"gpu", 1}});
    job.spec.pod_sets.push_back(support::MakePodSet("rest", 1, {{"gpu", 9}}));
    world.Apply(job);
    ASSERT_EQ(world.Cycle(), "w NoFit");
    ASSERT_EQ(world.Of("w").to, queue::Destination::kActive);
    queue.spec.namespace_selector.reset();
    world.Apply(queue);
    ASSERT_EQ(world.Cycle(), "w NotNominated");
    EXPECT_EQ(world.Of("w").to,
              park ? queue::Destination::kInadmissible : queue::Destination::kActive);
  }
}

// "main" fits flavor f, and nothing fits g, where the scan goes on. Quota of f comes free between
// two attempts, and no further event wakes the workload.
TEST(WakeUpsTest, ScanRestartsAfterQuotaIsReleased) {
  for (const bool rescan : {true, false}) {
    SchedulerConfig config;
    config.own_rules.rescan_after_changes = rescan;
    TableWorld world({"f", "g"}, {MakeQueue("a", "", {{"f", {{"gpu", 5}}}, {"g", {{"gpu", 1}}}})},
                     config);
    world.Apply(MakeJob("running", "a", 1, {{"gpu", 3}}));
    ASSERT_EQ(world.Cycle(), "running Admitted");
    api::Workload job = MakeJob("w", "a", 1, {{"gpu", 2}});
    job.spec.pod_sets.push_back(support::MakePodSet("rest", 1, {{"gpu", 3}}));
    world.Apply(job);
    world.Cycle();
    ASSERT_EQ(world.FlavorFor("w", "gpu"), "f") << "the next attempt tries g";
    world.Finish(KeyOf("running"));
    std::string last;
    for (int i = 0; i < 10 && world.HasHeads(); ++i) last = world.Cycle();
    EXPECT_EQ(last == "w Admitted", rescan) << last;
    EXPECT_FALSE(world.HasHeads());
  }
}

// The same story, and the LocalQueue is stopped for a while. Kueue's AddLocalQueue makes new
// entries: earlier attempts are unknown.
TEST(WakeUpsTest, RestartedLocalQueueRestartsTheScanAtTheFirstFlavor) {
  TableWorld world({"f", "g"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}, {"g", {{"gpu", 4}}}})});
  api::Workload job = MakeJob("w", "a", 1, {{"gpu", 1}});
  job.spec.pod_sets.push_back(support::MakePodSet("rest", 1, {{"gpu", 9}}));
  world.Apply(job);
  ASSERT_EQ(world.Cycle(), "w NoFit");
  ASSERT_EQ(world.FlavorFor("w", "gpu"), "f");
  world.Apply(MakeLocalQueue("a", "a", api::StopPolicy::kHold));
  world.Apply(MakeLocalQueue("a", "a"));
  EXPECT_EQ(world.Cycle(), "w NoFit");
  EXPECT_EQ(world.FlavorFor("w", "gpu"), "f");
  EXPECT_EQ(world.Cycle(), "w NoFit");
  EXPECT_EQ(world.FlavorFor("w", "gpu"), "g");
}

TEST(WakeUpsTest, ChangesOfQueuesCohortsAndFlavorsWake) {
  const WakeUpRow rows[] = {
      {"more quota", [](TableWorld& w) { w.Apply(Quota("a", "c", "f", 5)); }, "pa pb"},
      {"less quota too: any change of the spec",
       [](TableWorld& w) { w.Apply(Quota("a", "c", "f", 3)); }, "pa pb"},
      {"an order that nobody may overtake",
       [](TableWorld& w) {
         api::ClusterQueue alone = Quota("alone", "", "g", 4);
         alone.spec.queueing_strategy = api::QueueingStrategy::kStrictFifo;
         w.Apply(alone);
       },
       "palone"},
      {"the same spec again", [](TableWorld& w) { w.Apply(Quota("a", "c", "f", 4)); }, ""},
      {"the queue alone", [](TableWorld& w) { w.Apply(Quota("alone", "", "g", 5)); }, "palone"},
      {"the cohort becomes an object", [](TableWorld& w) { w.Apply(support::MakeCohort("c", "")); },
       "pa pb"},
      {"the cohort gets a parent", [](TableWorld& w) { w.Apply(support::MakeCohort("c", "top")); },
       "pa pb"},
      {"another queue joins", [](TableWorld& w) { w.Apply(Quota("new", "c", "f", 1)); }, "pa pb"},
      {"b leaves: where it goes and whom it leaves",
       [](TableWorld& w) { w.Apply(Quota("b", "", "f", 2)); }, "pa pb"},
      {"a flavor changes: queues that use it",
       [](TableWorld& w) {
         w.Apply(MakeFlavor("f", {{"tier", "x"}}));
       },
       "pa pb"},
      {"the flavor of the queue alone",
       [](TableWorld& w) {
         w.Apply(MakeFlavor("g", {{"tier", "x"}}));
       },
       "palone"},
      {"the same flavor again", [](TableWorld& w) { w.Apply(MakeFlavor("f")); }, ""},
      {"a queue is stopped",
       [](TableWorld& w) {
         api::ClusterQueue a = Quota("a", "c", "f", 4);
         a.spec.stop_policy = api::StopPolicy::kHold;
         w.Apply(a);
       },
       "pa pb"},
      {"a LocalQueue is stopped: its own leave",
       [](TableWorld& w) { w.Apply(MakeLocalQueue("a", "a", api::StopPolicy::kHold)); }, ""},
      {"stopped and started: they come back at once",
       [](TableWorld& w) {
         w.Apply(MakeLocalQueue("a", "a", api::StopPolicy::kHold));
         w.Apply(MakeLocalQueue("a", "a"));
       },
       "pa"},
      {"a missing flavor comes back",
       [](TableWorld& w) {
         w.scheduler().Forget<api::ResourceFlavor>("g");
         w.Apply(MakeFlavor("g"));
       },
       "palone"},
  };
  for (const WakeUpRow& row : rows) Check(row);
}

TEST(WakeUpsTest, ReleasedQuotaWakesAfterTheLocalQueueWasDeleted) {
  Parked world;
  world.scheduler().Forget<api::LocalQueue>(KeyOf("b"));
  world.Finish(KeyOf("running-b"));
  world.WakeUp();
  EXPECT_EQ(Woken(world), "pa");
}

TEST(WakeUpsTest, MatchingNamespaceLabelsWake) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f", {{"gpu", 4}}}});
  a.spec.namespace_selector->match_labels["team"] = "ml";
  TableWorld world({"f"}, {a});
  world.Apply(MakeJob("pa", "a", 1, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "pa NotNominated");
  EXPECT_EQ(Woken(world), "");
  world.WakeUp();
  EXPECT_EQ(Woken(world), "") << "woken, it would be refused again";
  api::Namespace everybody;
  everybody.meta.name = "default";
  everybody.meta.labels["team"] = "web";
  world.ControlPlane::Apply(everybody);
  world.WakeUp();
  EXPECT_EQ(Woken(world), "");
  everybody.meta.labels["team"] = "ml";
  world.ControlPlane::Apply(everybody);
  world.WakeUp();
  EXPECT_EQ(Woken(world), "pa");
  EXPECT_EQ(world.Cycle(), "pa Admitted");
}

TEST(WakeUpsTest, AnInactiveCheckClosesItsQueue) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f", {{"gpu", 4}}}});
  a.spec.admission_checks = {{"check", {}}};
  TableWorld world({"f"}, {a});
  const auto id = *world.scheduler().state().cluster_queues().Find("a");
  const auto message = [&] { return world.scheduler().state().queue(id).ActiveMessage(); };
  EXPECT_EQ(message(), "Can't admit new workloads: references missing AdmissionCheck(s): check.");
  world.Apply(MakeJob("pa", "a", 1, {{"gpu", 1}}));
  EXPECT_FALSE(world.HasHeads());
  api::AdmissionCheck check;
  check.meta.name = "check";
  world.Apply(check);
  EXPECT_EQ(message(), "Can't admit new workloads: references inactive AdmissionCheck(s): check.");
  api::SetCondition(check.conditions,
                    {.type = api::kActive, .status = api::ConditionStatus::kTrue});
  world.Apply(check);
  EXPECT_EQ(message(), "Can admit new workloads");
  EXPECT_EQ(world.Cycle(), "pa QuotaReserved") << "the check is open";
}

// Hold: no new admissions; HoldAndDrain: running workloads stop too.
TEST(WakeUpsTest, HoldAdmitsNothingAndHoldAndDrainAlsoEvicts) {
  struct Stop {
    const char* name;
    api::StopPolicy queue;
    api::StopPolicy local_queue;
    const char* evicted;  // reason of running-a's eviction
  };
  using enum api::StopPolicy;
  const Stop rows[] = {
      {"nothing is stopped", kNone, kNone, ""},
      {"a held queue lets what runs run", kHold, kNone, ""},
      {"a drained queue", kHoldAndDrain, kNone, "ClusterQueueStopped"},
      {"a held LocalQueue", kNone, kHold, ""},
      {"a drained LocalQueue", kNone, kHoldAndDrain, "LocalQueueStopped"},
      {"both: the ClusterQueue is named", kHoldAndDrain, kHoldAndDrain, "ClusterQueueStopped"},
  };
  for (const Stop& row : rows) {
    SCOPED_TRACE(row.name);
    Parked world;
    api::ClusterQueue a = MakeQueue("a", "c", {{"f", {{"gpu", 4}}}});
    a.spec.stop_policy = row.queue;
    world.Apply(a);
    world.Apply(MakeLocalQueue("a", "a", row.local_queue));
    const api::Condition* evicted =
        api::FindCondition(world.Find(KeyOf("running-a"))->status.conditions, api::kEvicted);
    EXPECT_EQ(evicted == nullptr ? "" : evicted->reason, row.evicted);
    world.Apply(MakeJob("new", "a", 1, {{"gpu", 1}}));
    const bool open = row.queue == kNone && row.local_queue == kNone;
    EXPECT_EQ(world.AdmitAll(), open ? "new" : "");
  }
}

}  // namespace
}  // namespace berth::admission
