// Goal: topology in the cycle: overlaps, preemption for nodes, the second pass.
// Method: one Driver in a small cluster; decisions are compared in words.
#include <gtest/gtest.h>

#include "admission/driver.h"
#include "admission/messages.h"
#include "api/condition.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "checks/controller_names.h"
#include "tests/admission/topology/placement_case.h"

namespace berth::admission {
namespace {

constexpr const char* kLevels = "rack host";

class Cluster {
 public:
  explicit Cluster(const SchedulerConfig& config = {}) : driver_(OptionsOf(config)) {
    api::Namespace space;
    space.meta.name = "default";
    scheduler_.Apply(space);
    api::Topology topology;
    topology.meta.name = "dc";
    topology.levels = {"rack", api::kHostnameLabel};
    scheduler_.Apply(topology);
    api::ResourceFlavor flavor;
    flavor.meta.name = "tas";
    flavor.topology_name = "dc";
    scheduler_.Apply(flavor);
  }

  Scheduler& scheduler() { return scheduler_; }
  WallTime now() const { return now_; }
  void Wait(Duration span) { now_ += span; }
  void AddNode(const std::string& text) { scheduler_.Apply(NodeFrom(kLevels, text)); }

  void AddCheck(const std::string& name) {
    api::AdmissionCheck check;
    check.meta.name = name;
    check.controller_name = checks::kProvisioningCheckController;
    check.conditions.push_back({api::kActive, api::ConditionStatus::kTrue, "", "", {}, 0});
    scheduler_.Apply(check);
  }
  void AddQueue(const std::string& name, std::int64_t cpu,
                const std::vector<std::string>& checks = {}) {
    api::ClusterQueue queue;
    queue.meta.name = name;
    queue.spec.cohort_name = "all";
    queue.spec.namespace_selector.emplace();
    queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    queue.spec.resource_groups = {{{"cpu"}, {{"tas", {{"cpu", cpu * 1000, {}, {}}}}}}};
    for (const std::string& check : checks) queue.spec.admission_checks.push_back({check, {}});
    scheduler_.Apply(queue);
    api::LocalQueue local;
    local.meta.name = name;
    local.meta.namespace_name = "default";
    local.cluster_queue = name;
    scheduler_.Apply(local);
  }

  void Submit(const std::string& name, const std::string& queue, const std::string& pod_set,
              std::int32_t priority = 0) {
    SubmitSets(name, queue, {pod_set}, priority);
  }
  void SubmitSets(const std::string& name, const std::string& queue,
                  const std::vector<std::string>& pod_sets, std::int32_t priority = 0) {
    api::Workload workload;
    workload.meta.name = name;
    workload.meta.namespace_name = "default";
    workload.meta.uid = name;
    workload.meta.creation_timestamp = now_;
    workload.spec.queue_name = queue;
    workload.spec.priority = priority;
    for (const std::string& text : pod_sets) workload.spec.pod_sets.push_back(PodSetFrom(text));
    workloads_[name] = workload;
    Apply(name);
  }

  api::Workload& workload(const std::string& name) { return workloads_.at(name); }
  void Apply(const std::string& name) {
    scheduler_.ApplyWorkload(std::make_shared<const api::Workload>(workloads_.at(name)), now_);
  }

  // "a Admitted n1=2 | b NoFit", in processing order; admissions are written.
  std::string Cycle() {
    std::string told;
    const CycleResult result = scheduler_.RunCycle(now_);
    for (const Decision& decision : result.decisions) {
      const std::string& name = decision.object->meta.name;
      told += (told.empty() ? "" : " | ") + name + " " + ToString(decision.outcome);
      message_ = PendingMessage(decision, scheduler_.state().vocabulary(), "");
      if (decision.second_pass) told += " again";
      for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
        if (!pod_set.delayed_topology.empty()) told += " " + std::string(pod_set.delayed_topology);
        if (!pod_set.topology) continue;
        for (const auto& domain : pod_set.topology->domains) {
          told += " " + domain.values.back() + "=" + std::to_string(domain.count);
        }
      }
      for (const Victim& victim : decision.victims) told += " -" + victim.object->meta.name;
      for (const DecidedWrite& write : driver_.WritesOf(decision)) Write(write);
    }
    return told;
  }
  const std::string& message() const { return message_; }

 private:
  static DriverOptions OptionsOf(const SchedulerConfig& config) {
    DriverOptions options;
    options.scheduler = config;
    options.pods_ready.enabled = false;
    return options;
  }
  // Victims do not stop: a test says when.
  void Write(const DecidedWrite& write) {
    if (write.kind != DecidedWrite::Kind::kReserve && write.kind != DecidedWrite::Kind::kPlace) {
      return;
    }
    api::Workload& written = workloads_.at(write.workload().meta.name);
    driver_.Change(write, written, written.status, now_);
    Apply(written.meta.name);
  }

  Driver driver_;
  Scheduler& scheduler_ = driver_.scheduler();
  WallTime now_{};
  std::map<std::string, api::Workload> workloads_;
  std::string message_;
};

TEST(TopologyCycle, HeadWhoseNodesWereTakenIsPlacedOnOthers) {
  Cluster cluster;
  cluster.AddNode("r1/n1 cpu=2");
  cluster.AddNode("r1/n2 cpu=3");
  cluster.AddQueue("a", 8);
  cluster.AddQueue("b", 8);
  cluster.Submit("first", "a", "main 2 cpu=1 required=host", 1);
  cluster.Submit("second", "b", "main 2 cpu=1 required=host");
  EXPECT_EQ(cluster.Cycle(), "first Admitted n1=2 | second Admitted n2=2");
}

TEST(TopologyCycle, HeadWhoseNodesWereTakenIsSkippedWithoutTheGate) {
  SchedulerConfig config;
  config.gates.tas_recompute_assignment_within_scheduling_cycle = false;
  Cluster cluster(config);
  cluster.AddNode("r1/n1 cpu=2");
  cluster.AddNode("r1/n2 cpu=3");
  cluster.AddQueue("a", 8);
  cluster.AddQueue("b", 8);
  cluster.Submit("first", "a", "main 2 cpu=1 required=host", 1);
  cluster.Submit("second", "b", "main 2 cpu=1 required=host");
  EXPECT_EQ(cluster.Cycle(), "first Admitted n1=2 | second Skipped n1=2");
}

TEST(TopologyCycle, NodesPodLimitHoldsWithinACycle) {
  for (const bool own : {true, false}) {
    SchedulerConfig config;
    config.own_rules.count_pods_on_nodes = own;
    Cluster cluster(config);
    cluster.AddNode("r1/n1 cpu=4 pods=2");
    cluster.AddNode("r1/n2 cpu=4");
    cluster.AddQueue("a", 8);
    cluster.AddQueue("b", 8);
    cluster.Submit("first", "a", "main 2 cpu=1 required=host", 1);
    cluster.Submit("second", "b", "main 1 cpu=1 required=host");
    EXPECT_EQ(cluster.Cycle(), own ? "first Admitted n1=2 | second Admitted n2=1"
                                   : "first Admitted n1=2 | second Admitted n1=1");
  }
}

TEST(TopologyCycle, PreemptsForNodesThoughQuotaIsFree) {
  Cluster cluster;
  cluster.AddNode("r1/n1 cpu=2");
  cluster.AddNode("r1/n2 cpu=2");
  cluster.AddQueue("a", 8);
  cluster.Submit("small", "a", "main 1 cpu=1 required=host", 0);
  EXPECT_EQ(cluster.Cycle(), "small Admitted n1=1");
  cluster.Submit("other", "a", "main 1 cpu=2 required=host", 9);
  EXPECT_EQ(cluster.Cycle(), "other Admitted n2=1");
  cluster.Submit("large", "a", "main 2 cpu=1 required=host", 5);
  EXPECT_EQ(cluster.Cycle(), "large Preempting n1=2 -small");
  EXPECT_EQ(cluster.message(),
            "couldn't assign flavors to pod set main: topology \"dc\" allows to fit only 1 out of "
            "2 pod(s). Total nodes: 2; excluded: resource \"cpu\": 1. Pending the preemption of 1 "
            "workload(s)");
}

TEST(TopologyCycle, WorkloadThatNoNodeCanTakeIsNoFit) {
  Cluster cluster;
  cluster.AddNode("r1/n1 cpu=2");
  cluster.AddQueue("a", 8);
  cluster.scheduler().RunWakeUps(cluster.now());
  cluster.Submit("large", "a", "main 3 cpu=1 required=host");
  EXPECT_EQ(cluster.Cycle(), "large NoFit");
  EXPECT_EQ(cluster.message(),
            "couldn't assign flavors to pod set main: topology \"dc\" allows to fit only 2 out of "
            "3 pod(s)");
  EXPECT_FALSE(cluster.scheduler().HasWakeUps());
  cluster.AddNode("r1/n2 cpu=4");
  EXPECT_TRUE(cluster.scheduler().HasWakeUps()) << "a new node may help";
  EXPECT_EQ(cluster.scheduler().RunWakeUps(cluster.now()).count, 1);
  EXPECT_EQ(cluster.Cycle(), "large Admitted n2=3");
}

TEST(TopologyCycle, LeaderWithoutRequestsIsPlacedWithItsWorkers) {
  Cluster cluster;
  cluster.AddNode("r1/n1 cpu=8 pods=2");
  cluster.AddNode("r2/n2 cpu=2");
  cluster.AddQueue("a", 8);
  cluster.SubmitSets("group", "a",
                     {"leader 1 required=rack group=g", "workers 2 cpu=1 required=rack group=g"});
  EXPECT_EQ(cluster.Cycle(), "group Admitted n2=1 n2=2");
}

TEST(TopologyCycle, AQueueIsClosedWhileItsTopologyIsMissing) {
  Cluster cluster;
  cluster.AddNode("r1/n1 cpu=8");
  cluster.AddQueue("a", 8);
  cluster.scheduler().Forget<api::Topology>("dc");
  cluster.Submit("job", "a", "main 1 cpu=1");
  EXPECT_EQ(cluster.Cycle(), "");
  api::Topology topology;
  topology.meta.name = "dc";
  topology.levels = {"rack", api::kHostnameLabel};
  cluster.scheduler().Apply(topology);
  cluster.scheduler().RunWakeUps(cluster.now());
  EXPECT_EQ(cluster.Cycle(), "job Admitted n1=1");
}

TEST(TopologyCycle, MessageNamesAFlavorWithoutTheRequestedLevel) {
  Cluster cluster;
  cluster.AddNode("r1/n1 cpu=8");
  cluster.AddQueue("a", 8);
  cluster.Submit("zone", "a", "main 1 cpu=1 required=zone");
  EXPECT_EQ(cluster.Cycle(), "zone NoFit");
  EXPECT_EQ(cluster.message(),
            "couldn't assign flavors to pod set main: Flavor \"tas\" does not contain the "
            "requested level");
}

TEST(SecondPass, PlacesAWorkloadWhoseCapacityIsReady) {
  Cluster cluster;
  cluster.AddCheck("dws");
  cluster.AddQueue("a", 8, {"dws"});
  cluster.Submit("job", "a", "main 2 cpu=1 required=rack");
  EXPECT_EQ(cluster.Cycle(), "job QuotaReserved Pending") << "its nodes are not there yet";
  EXPECT_EQ(cluster.scheduler().NextTurn(), std::nullopt);
  cluster.AddNode("r1/n1 cpu=2");  // the tightest without the update of the pod set
  cluster.AddNode("r2/n2 cpu=4 label=made-for:job");
  api::AdmissionCheckState& state = cluster.workload("job").status.admission_checks.at(0);
  state.state = api::CheckState::kReady;
  state.pod_set_updates = {{"main", {}, {}, {{"made-for", "job"}}, {}}};
  cluster.Apply("job");
  ASSERT_EQ(cluster.scheduler().NextTurn(), cluster.now() + std::chrono::seconds(1));
  EXPECT_EQ(cluster.Cycle(), "") << "not due yet";
  cluster.Wait(std::chrono::seconds(1));
  EXPECT_EQ(cluster.Cycle(), "job Admitted again Ready n2=2");
  EXPECT_EQ(cluster.scheduler().NextTurn(), std::nullopt);
  const auto& assigned = cluster.workload("job").status.admission->pod_set_assignments.at(0);
  EXPECT_EQ(assigned.delayed_topology_request, "Ready");
  ASSERT_TRUE(assigned.topology_assignment.has_value());
}

TEST(SecondPass, TakesTheNodesOfALowerPriority) {
  Cluster cluster;
  cluster.AddNode("r1/n1 cpu=2");
  cluster.AddCheck("dws");
  cluster.AddQueue("a", 8, {"dws"});
  const auto place = [&cluster](const std::string& name, std::int32_t priority) {
    cluster.Submit(name, "a", "main 2 cpu=1 required=host", priority);
    EXPECT_EQ(cluster.Cycle(), name + " QuotaReserved Pending");
    cluster.workload(name).status.admission_checks.at(0).state = api::CheckState::kReady;
    cluster.Apply(name);
    cluster.Wait(std::chrono::seconds(1));
    return cluster.Cycle();
  };
  EXPECT_EQ(place("low", 0), "low Admitted again Ready n1=2");
  EXPECT_EQ(place("job", 1), "job Preempting again Ready n1=2 -low");
}

TEST(SecondPass, IsNotScheduledWithoutTheGate) {
  SchedulerConfig config;
  config.gates.topology_aware_scheduling = false;
  Cluster cluster(config);
  cluster.AddCheck("dws");
  cluster.AddQueue("a", 8, {"dws"});
  cluster.Submit("job", "a", "main 2 cpu=1 required=rack");
  cluster.Cycle();
  api::Workload& job = cluster.workload("job");
  job.status.admission_checks.at(0).state = api::CheckState::kReady;
  job.status.admission->pod_set_assignments.at(0).delayed_topology_request = "Pending";
  cluster.Apply("job");
  EXPECT_EQ(cluster.scheduler().NextTurn(), std::nullopt) << "no cycle would ever look";
}

TEST(SecondPass, RetriesWithLongerPauses) {
  Cluster cluster;
  cluster.AddCheck("dws");
  cluster.AddQueue("a", 8, {"dws"});
  cluster.Submit("job", "a", "main 2 cpu=1 required=rack");
  cluster.Cycle();
  cluster.workload("job").status.admission_checks.at(0).state = api::CheckState::kReady;
  cluster.Apply("job");
  for (const int seconds : {1, 2, 4, 8, 16, 30, 30}) {
    ASSERT_EQ(cluster.scheduler().NextTurn(), cluster.now() + std::chrono::seconds(seconds));
    cluster.Wait(std::chrono::seconds(seconds));
    EXPECT_EQ(cluster.Cycle(), "job NoFit again Pending");
  }
  cluster.AddNode("r1/n1 cpu=4");
  cluster.Wait(std::chrono::seconds(30));
  EXPECT_EQ(cluster.Cycle(), "job Admitted again Ready n1=2");
}

// Two workloads wait for one node; their numbers, which a restart assigns again, must not decide
// which gets it.
TEST(SecondPass, OrdersByAgeThenByName) {
  struct Row {
    std::int64_t a_waits_since;
    std::int64_t b_waits_since;
    const char* first;
  };
  for (const Row& row : {Row{1, 2, "a"}, Row{2, 1, "b"}, Row{1, 1, "a"}}) {
    for (const bool fair : {false, true}) {
      for (const bool b_comes_first : {false, true}) {
        SchedulerConfig config;
        if (fair) config.fair_sharing.emplace();
        Cluster cluster(config);
        cluster.AddCheck("dws");
        cluster.AddQueue("q", 8, {"dws"});
        for (const bool is_b : {b_comes_first, !b_comes_first}) {
          const std::string name = is_b ? "b" : "a";
          cluster.Submit(name, "q", "main 2 cpu=1 required=host");
          cluster.workload(name).meta.creation_timestamp =
              WallTime(std::chrono::seconds(is_b ? row.b_waits_since : row.a_waits_since));
          cluster.Apply(name);
        }
        while (cluster.scheduler().HasHeads()) cluster.Cycle();
        cluster.AddNode("r1/n1 cpu=2");
        for (const char* name : {"a", "b"}) {
          cluster.workload(name).status.admission_checks.at(0).state = api::CheckState::kReady;
          cluster.Apply(name);
        }
        cluster.Wait(std::chrono::seconds(1));
        EXPECT_TRUE(cluster.Cycle().starts_with(row.first + std::string(" Admitted again")))
            << fair << b_comes_first;
      }
    }
  }
}

class FailedNode : public testing::Test {
 protected:
  void Start(const SchedulerConfig& config = {}) {
    cluster_ = std::make_unique<Cluster>(config);
    cluster_->AddNode("r1/n1 cpu=2");
    cluster_->AddNode("r1/n2 cpu=2");
    cluster_->AddQueue("a", 16);
    cluster_->Submit("job", "a", "main 4 cpu=1 required=rack");
    ASSERT_EQ(cluster_->Cycle(), "job Admitted n1=2 n2=2");
    cluster_->AddNode("r1/n2 cpu=2 notready");
    cluster_->workload("job").status.unhealthy_nodes = {"n2"};
  }
  std::string SecondPass() {
    cluster_->Apply("job");
    cluster_->Wait(std::chrono::seconds(1));
    return cluster_->Cycle();
  }
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(FailedNode, IsReplacedInItsRack) {
  Start();
  cluster_->AddNode("r1/n3 cpu=2");
  cluster_->AddNode("r2/n4 cpu=8");
  EXPECT_EQ(SecondPass(), "job Admitted again n1=2 n3=2");
  cluster_->Submit("next", "a", "main 1 cpu=1 required=host");
  EXPECT_EQ(cluster_->Cycle(), "next Admitted n4=1") << "n1 and n3 are full";
}

TEST_F(FailedNode, EvictsWithoutAReplacement) {
  Start();
  EXPECT_EQ(SecondPass(), "job EvictForNodeFailure again n1=2 n2=2");
  EXPECT_EQ(cluster_->message(),
            "Workload was evicted as there was no replacement for unhealthy node(s): n2");
}

TEST_F(FailedNode, WaitsForAReplacementWithoutFailFast) {
  SchedulerConfig config;
  config.gates.tas_failed_node_replacement_fail_fast = false;
  Start(config);
  EXPECT_EQ(SecondPass(), "job NoCandidates again n1=2 n2=2");
  cluster_->AddNode("r1/n3 cpu=2");
  cluster_->Wait(std::chrono::seconds(2));
  EXPECT_EQ(cluster_->Cycle(), "job Admitted again n1=2 n3=2");
}

TEST_F(FailedNode, IsReplacedThoughAdmissionWaitsForPods) {
  SchedulerConfig config;
  config.block_admission = true;
  Start(config);
  cluster_->AddNode("r1/n3 cpu=2");
  EXPECT_EQ(SecondPass(), "job Admitted again n1=2 n3=2");
}

TEST_F(FailedNode, IsReplacedBeforeNewHeadsArePlaced) {
  Start();
  cluster_->AddNode("r1/n3 cpu=2");
  cluster_->AddQueue("b", 16);
  cluster_->Submit("next", "b", "main 2 cpu=1 required=host", 9);
  EXPECT_EQ(SecondPass(), "job Admitted again n1=2 n3=2 | next NoCandidates n1=2");
}

}  // namespace
}  // namespace berth::admission
