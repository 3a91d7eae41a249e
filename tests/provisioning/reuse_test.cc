// Goal: idle nodes are used before capacity is asked for, by one Workload each, and no lease
// outlives its Workload.
// Method: tables of nodes; Worlds that share nodes; 200 random stories with crashes between any two
// writes, a failing seed is named and replays exactly.
#include "provisioning/reuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::World;

api::ProvisioningPolicy ReusingPolicy() {
  api::ProvisioningPolicy policy;
  policy.meta.name = "thrifty";
  policy.reuse = api::ProvisioningReuse{.enabled = true};
  return policy;
}

class ReuseTest : public ::testing::Test {
 protected:
  ReuseTest() {
    world_.policy = ReusingPolicy();
    world_.cluster = &cluster_;
  }

  std::vector<std::string> Log() const { return world_.log; }
  void ExpectAsks() {
    world_.Settle();
    EXPECT_EQ(world_.check().state, CheckState::kPending);
    EXPECT_EQ(world_.requests.size(), 1U);
  }
  void ExpectReuses(const std::string& message) {
    world_.Settle();
    EXPECT_EQ(world_.check().state, CheckState::kReady);
    EXPECT_EQ(world_.check().message, message);
    EXPECT_THAT(world_.requests, IsEmpty());
  }
  void Resize(std::int32_t count) {
    api::PodSet pods = world_.workload.spec.pod_sets[0];
    pods.count = count;
    world_.workload.spec.pod_sets = {pods};
    world_.GiveQuota();
  }

  Cluster cluster_;
  World world_;
};

TEST_F(ReuseTest, IdleNodeIsLeasedAndSelectedByThePods) {
  cluster_.Add("n1", "old");
  ExpectReuses("reusing 1 idle node");
  EXPECT_THAT(Log(), ElementsAre("lease n1"));
  const std::string holder = LeaseHolder("wl-uid", "dws-prov");
  ASSERT_EQ(world_.check().pod_set_updates.size(), 1U);
  const api::PodSetUpdate& update = world_.check().pod_set_updates[0];
  EXPECT_EQ(update.node_selector, (api::StringMap{{"berth.dev/lease", holder}}));
  ASSERT_EQ(update.tolerations.size(), 1U);
  EXPECT_EQ(update.tolerations[0].key, api::kGkeQueuedTaint);
  EXPECT_EQ(update.annotations.count(api::kConsumeProvisioningRequestAnnotation), 0U);
  const auto lease = LeaseOf(cluster_.members.at("n1").node);
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(lease->holder, holder);
  EXPECT_EQ(lease->until, world_.now + kLeaseLength);
  EXPECT_EQ(LeasedTo(cluster_.members.at("n1").node), world_.workload.meta.key());
}

TEST_F(ReuseTest, WithoutTheRuleNothingIsReused) {
  cluster_.Add("n1");
  world_.policy->reuse->enabled = false;
  ExpectAsks();
}

TEST_F(ReuseTest, UnfitNodesAreNotLeased) {
  struct UnfitNode {
    const char* why;
    std::function<void(Cluster&, api::Node&)> make;
  };
  const std::vector<UnfitNode> rows = {
      {"busy", [](Cluster& cluster, api::Node&) { cluster.members.at("n1").busy = true; }},
      {"not ready",
       [](Cluster&, api::Node& node) { node.conditions[0].status = api::ConditionStatus::kFalse; }},
      {"cordoned", [](Cluster&, api::Node& node) { node.unschedulable = true; }},
      {"a taint",
       [](Cluster&, api::Node& node) {
         node.taints.push_back({"t", "", "NoSchedule"});
       }},
      {"too small", [](Cluster&, api::Node& node) { node.allocatable["nvidia.com/gpu"] = 0; }},
      {"no room for pods", [](Cluster&, api::Node& node) { node.allocatable["pods"] = 0; }},
      {"ends soon",
       [](Cluster&, api::Node& node) {
         node.meta.annotations[api::kGkeNodeEndAnnotation] =
             FormatTime(World().now + std::chrono::seconds(3599));
       }},
      {"of another's request", [](Cluster& cluster, api::Node&) { cluster.booked = {"set"}; }},
      {"leased to another",
       [](Cluster&, api::Node& node) {
         node.meta.labels[api::kLeaseLabel] = "other";
         node.meta.annotations[api::kLeaseUntilAnnotation] =
             FormatTime(World().now + std::chrono::seconds(1));
       }},
  };
  for (const UnfitNode& row : rows) {
    SCOPED_TRACE(row.why);
    Cluster cluster;
    World world;
    world.policy = ReusingPolicy();
    world.cluster = &cluster;
    row.make(cluster, cluster.Add("n1", "set"));
    world.Settle();
    EXPECT_EQ(world.requests.size(), 1U);
    EXPECT_THAT(world.log, ::testing::Not(::testing::Contains("lease n1")));
  }
}

TEST_F(ReuseTest, NodesWithExpiredLeasesOrSoftTaintsAreLeased) {
  struct FitNode {
    const char* why;
    std::function<void(api::Node&)> make;
  };
  const std::vector<FitNode> rows = {
      {"lives long enough",
       [](api::Node& node) {
         node.meta.annotations[api::kGkeNodeEndAnnotation] =
             FormatTime(World().now + std::chrono::seconds(3600));
       }},
      {"another's lease is over",
       [](api::Node& node) {
         node.meta.labels[api::kLeaseLabel] = "other";
         node.meta.annotations[api::kLeaseUntilAnnotation] = FormatTime(World().now);
       }},
      {"a lease that nobody can have taken",
       [](api::Node& node) {
         node.meta.labels[api::kLeaseLabel] = "other";
         node.meta.annotations[api::kLeaseUntilAnnotation] = "9999-01-01T00:00:00Z";
       }},
      {"a label without an end", [](api::Node& node) { node.meta.labels[api::kLeaseLabel] = "x"; }},
      {"a soft taint",
       [](api::Node& node) {
         node.taints.push_back({"t", "", "PreferNoSchedule"});
       }},
  };
  for (const FitNode& row : rows) {
    SCOPED_TRACE(row.why);
    Cluster cluster;
    World world;
    world.policy = ReusingPolicy();
    world.cluster = &cluster;
    row.make(cluster.Add("n1", "set"));
    world.Settle();
    EXPECT_EQ(world.check().state, CheckState::kReady);
  }
}

TEST_F(ReuseTest, RunOfTheJobMustEndBeforeTheNode) {
  world_.job_deadline = 7200;
  api::Node& node = cluster_.Add("n1");
  node.meta.annotations[api::kGkeNodeEndAnnotation] =
      FormatTime(world_.now + std::chrono::seconds(7200 + 299));
  world_.Settle();
  EXPECT_EQ(world_.requests.size(), 1U);
  world_.requests.clear();
  node.meta.annotations[api::kGkeNodeEndAnnotation] =
      FormatTime(world_.now + std::chrono::seconds(7200 + 300));
  world_.Settle();
  EXPECT_EQ(world_.check().state, CheckState::kReady);
  EXPECT_EQ(world_.workload.meta.annotations.at(api::kExpiresAtAnnotation),
            FormatTime(world_.now + std::chrono::seconds(7500)));
}

TEST_F(ReuseTest, NodesAreLeasedForAllPodsOrNone) {
  Resize(3);
  cluster_.Add("n1");
  cluster_.Add("n2");
  ExpectAsks();
  EXPECT_FALSE(LeaseOf(cluster_.members.at("n1").node).has_value());
}

TEST_F(ReuseTest, SeveralPodsShareANode) {
  Resize(3);
  cluster_.Add("n1", "", 2);
  cluster_.Add("n2", "", 2);
  cluster_.Add("n3", "", 2);
  ExpectReuses("reusing 2 idle nodes");
}

TEST_F(ReuseTest, WholeSetIsLeasedBeforeOtherNodes) {
  Resize(2);
  cluster_.Add("a");
  cluster_.Add("b1", "b");
  cluster_.Add("b2", "b");
  ExpectReuses("reusing 2 idle nodes");
  EXPECT_THAT(Log(), ElementsAre("lease b1", "lease b2"));
}

TEST_F(ReuseTest, SetIsKeptForALargerWaitingGang) {
  for (const char* name : {"s1", "s2", "s3"}) cluster_.Add(name, "set");
  World gang;
  gang.workload.meta.uid = "gang";
  gang.workload.spec.pod_sets = {};
  gang.AddPodSet("main", 3, {{"nvidia.com/gpu", 1}});
  cluster_.waiting = {&gang.workload};
  ExpectAsks();
  world_.requests.clear();
  world_.policy->reuse->shape_rule = api::ProvisioningReuse::ShapeRule::kAny;
  ExpectReuses("reusing 1 idle node");
}

TEST_F(ReuseTest, SetIsLeasedIfTheWaitingGangCannotUseIt) {
  for (const char* name : {"s1", "s2"}) cluster_.Add(name, "set");
  World gang;
  gang.workload.spec.pod_sets = {};
  gang.AddPodSet("main", 3, {{"nvidia.com/gpu", 1}});
  api::PodSet pods = gang.workload.spec.pod_sets[0];
  pods.pod_template.spec.node_selector = {{"pool", "elsewhere"}};
  gang.workload.spec.pod_sets = {pods};
  cluster_.waiting = {&gang.workload};
  ExpectReuses("reusing 1 idle node");
}

TEST_F(ReuseTest, LargerGangLeasesTheWholeSet) {
  for (const char* name : {"s1", "s2", "s3"}) cluster_.Add(name, "set");
  Resize(3);
  World other;  // a world of the same size
  other.workload.spec.pod_sets = {};
  other.AddPodSet("main", 3, {{"nvidia.com/gpu", 1}});
  cluster_.waiting = {&other.workload};
  ExpectReuses("reusing 3 idle nodes");
}

TEST_F(ReuseTest, OnlyOneOfTwoDecisionsLeasesTheNode) {
  cluster_.Add("n1");
  World other;
  other.workload.meta = {.namespace_name = "default", .name = "other", .uid = "other-uid"};
  other.policy = ReusingPolicy();
  other.cluster = &cluster_;
  const Decision mine = Decide(world_.Observe(), {}, world_.now);
  const Decision theirs = Decide(other.Observe(), {}, other.now);
  ASSERT_EQ(mine.actions.size(), theirs.actions.size());
  other.Settle();
  EXPECT_EQ(other.check().state, CheckState::kReady);
  // The decision of an old view: its write names a resourceVersion that has passed.
  bool took = true;
  for (const Action& action : mine.actions) {
    const auto* take = std::get_if<TakeLease>(&action);
    if (take == nullptr) continue;
    took = cluster_.Write(take->node, take->resource_version, [](api::ObjectMeta&) {});
  }
  EXPECT_FALSE(took);
  ExpectAsks();
}

TEST_F(ReuseTest, ALeaseIsRenewedWhileTheJobRunsAndReleasedAtItsEnd) {
  cluster_.Add("n1");
  world_.Settle();
  world_.Admit();
  cluster_.members.at("n1").used_by = "pods";
  world_.Settle();
  ASSERT_TRUE(world_.last.next_wake.has_value());
  EXPECT_EQ(*world_.last.next_wake, kLeaseLength - kRenewBefore);
  world_.Pass(16 * 60);
  world_.Settle();
  EXPECT_EQ(LeaseOf(cluster_.members.at("n1").node)->until, world_.now + kLeaseLength);
  world_.SetCondition(api::kFinished, api::ConditionStatus::kTrue, "Succeeded");
  world_.Settle();
  EXPECT_FALSE(LeaseOf(cluster_.members.at("n1").node).has_value());
  EXPECT_EQ(world_.workload.meta.annotations.count(api::kExpiresAtAnnotation), 0U);
}

TEST_F(ReuseTest, NodeLostBeforeTheStartIsReplacedByARequest) {
  cluster_.Add("n1");
  world_.Settle();
  ASSERT_EQ(world_.check().state, CheckState::kReady);
  cluster_.members.clear();
  ExpectAsks();
  EXPECT_THAT(world_.check().pod_set_updates, IsEmpty());
}

TEST_F(ReuseTest, WorkloadWithATopologyRequestReusesNoNode) {
  cluster_.Add("n1");
  api::PodSet pods = world_.workload.spec.pod_sets[0];
  pods.topology_request = api::TopologyRequest{.required = "rack"};
  world_.workload.spec.pod_sets = {pods};
  ExpectAsks();
}

// Three Workloads and their crashing controllers share five nodes.
class LeaseStory {
 public:
  struct Tally {
    int reused = 0;
    int asked = 0;
    int crashed = 0;
  };

  LeaseStory(std::uint64_t seed, Tally& tally) : random_(seed), tally_(tally), worlds_(3) {
    for (int at = 0; at < 5; ++at) {
      cluster_.Add("n" + std::to_string(at), at < 3 ? "set" : "");
    }
    for (std::size_t at = 0; at < worlds_.size(); ++at) {
      World& world = worlds_[at];
      world.workload.meta.name = "w" + std::to_string(at);
      world.workload.meta.uid = "uid" + std::to_string(at);
      api::PodSet pods = world.workload.spec.pod_sets[0];
      pods.count = 1 + static_cast<std::int32_t>(random_.Below(3));
      world.workload.spec.pod_sets = {pods};
      world.GiveQuota();
      world.policy = ReusingPolicy();
      world.cluster = &cluster_;
    }
  }

  void Step() {
    const int pause = static_cast<int>(random_.Below(400));
    for (World& each : worlds_) each.Pass(pause);
    World& world = worlds_[random_.Below(worlds_.size())];
    switch (random_.Below(6)) {
      case 0: Finish(world); break;
      case 1: ComeAgain(world); break;
      case 2: Evict(world); break;
      default: break;
    }
    if (!world.workload.status.admission) world.GiveQuota();
    if (random_.Below(3) == 0) {
      world.crash_after = static_cast<int>(random_.Below(4));
      ++tally_.crashed;
    }
    world.Settle();
    world.crash_after = -1;
    if (world.check().state == CheckState::kReady && world.requests.empty()) {
      Run(world);
      ++tally_.reused;
    }
    tally_.asked += world.requests.empty() ? 0 : 1;
    Check();
  }

  // Nobody decides any more: the leases end by themselves.
  void End() {
    for (World& each : worlds_) each.Pass(36 * 60);
    for (const auto& [name, member] : cluster_.members) {
      const auto lease = LeaseOf(member.node);
      EXPECT_TRUE(!lease || !Lives(*lease, worlds_[0].now)) << name;
    }
  }

  // Every controller comes to rest: no node is leased to a Workload that does not run there.
  void Rest() {
    for (World& each : worlds_) {
      Finish(each);
      each.Settle();
    }
    for (const auto& [name, member] : cluster_.members) {
      EXPECT_FALSE(LeaseOf(member.node).has_value()) << name;
    }
  }

 private:
  static std::string HolderOf(const World& world) {
    return LeaseHolder(world.workload.meta.uid, "dws-prov");
  }

  void Run(World& world) {
    for (auto& [name, member] : cluster_.members) {
      const auto lease = LeaseOf(member.node);
      if (!lease || lease->holder != HolderOf(world)) continue;
      EXPECT_TRUE(member.used_by.empty() || member.used_by == HolderOf(world))
          << name << " is used by two";
      member.used_by = HolderOf(world);
    }
    world.Admit();
  }

  void Stop(World& world) {
    for (auto& [name, member] : cluster_.members) {
      if (member.used_by == HolderOf(world)) member.used_by.clear();
    }
  }

  void Finish(World& world) {
    Stop(world);
    world.SetCondition(api::kFinished, api::ConditionStatus::kTrue, "Succeeded");
  }

  void Evict(World& world) {
    Stop(world);
    world.Evict();
    world.SetCondition(api::kAdmitted, api::ConditionStatus::kFalse, "NoReservation");
    if (random_.Below(2) == 0) world.Settle();
  }

  // A new Workload of the same name, at times before the old one's leases are released.
  void ComeAgain(World& world) {
    Stop(world);
    world.workload.meta.uid += "x";
    world.workload.status = {};
    world.requests.clear();
    world.templates.clear();
    world.memory.clear();
    world.GiveQuota();
  }

  void Check() {
    for (const World& world : worlds_) {
      const bool ready = world.workload.status.admission_checks[0].state == CheckState::kReady;
      if (!ready || !world.requests.empty() || !world.workload.status.admission) continue;
      std::int64_t gpus = 0;
      for (const auto& [name, member] : cluster_.members) {
        if (member.used_by == HolderOf(world)) gpus += 1;
      }
      if (!api::IsTrue(world.workload.status.conditions, api::kFinished)) {
        EXPECT_GE(gpus, world.workload.spec.pod_sets[0].count) << "a Workload runs on its nodes";
      }
    }
  }

  Random random_;
  Tally& tally_;
  Cluster cluster_;
  std::vector<World> worlds_;
};

TEST(LeaseStoryTest, NoNodeHasTwoLeasesAndNoLeaseLeaks) {
  LeaseStory::Tally tally;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LeaseStory story(seed, tally);
    for (int step = 0; step < 40 && !::testing::Test::HasFailure(); ++step) story.Step();
    if (seed % 2 == 0) {
      story.End();
    } else {
      story.Rest();
    }
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(tally.reused, 300);
  EXPECT_GT(tally.asked, 300);
  EXPECT_GT(tally.crashed, 1000);
}

}  // namespace
}  // namespace berth::provisioning
