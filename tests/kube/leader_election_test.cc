// Goal: at most one replica leads at any instant, and another leads soon after a leader is gone.
// Method: two electors on one API in virtual time.

#include "kube/runtime/leader_election.h"

#include "tests/kube/kube_test_support.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

constexpr char kLeasePath[] =
    "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io";

class LeaderElectionTest : public KubeTest {
 protected:
  std::unique_ptr<LeaderElector> Make(const std::string& identity) {
    return std::make_unique<LeaderElector>(
        client_, clock_, LeaderElectionOptions{.identity = identity, .seed = identity.size()},
        [this, identity] { log_.push_back(identity + " leads"); },
        [this, identity] { log_.push_back(identity + " stopped"); });
  }
  std::vector<std::string> log_;
};

TEST_F(LeaderElectionTest, SecondCandidateLeadsAfterTheFirstEnds) {
  auto a = Make("a");
  auto bb = Make("bb");
  a->Start();
  executor_.RunFor(1s);
  bb->Start();
  executor_.RunFor(60s);
  EXPECT_TRUE(a->is_leader());
  EXPECT_FALSE(bb->is_leader());
  EXPECT_EQ(bb->holder(), "a");
  a.reset();  // like kill -9
  executor_.RunFor(14s);
  EXPECT_FALSE(bb->is_leader());
  executor_.RunFor(10s);
  EXPECT_TRUE(bb->is_leader());
  EXPECT_EQ(api_.Find(kLeasePath)->at("spec").at("leaseTransitions"), 1);
}

TEST_F(LeaderElectionTest, KilledLeaderIsReplacedTwoSecondsAfterItsLease) {
  for (Duration lived = 3s; lived < 8s; lived += 130ms) {
    auto a = Make("a");
    a->Start();
    executor_.RunFor(500ms);
    auto bb = Make("bb");
    bb->Start();
    executor_.RunFor(lived);
    ASSERT_TRUE(a->is_leader());
    a.reset();  // like kill -9
    executor_.RunFor(17s);
    EXPECT_TRUE(bb->is_leader()) << lived.count();
    bb->Release([] {});
    executor_.RunFor(1s);
  }
}

TEST_F(LeaderElectionTest, LeaseOfAPredecessorIsTakenAtOnce) {
  auto killed = Make("up_1");
  killed->Start();
  executor_.RunFor(3s);
  killed.reset();
  LeaderElector next(
      client_, clock_, {.identity = "up_2", .predecessors = "up_"},
      [this] { log_.push_back("up_2 leads"); }, [] {});
  next.Start();
  executor_.RunFor(100ms);
  EXPECT_TRUE(next.is_leader());

  auto other = std::make_unique<LeaderElector>(
      client_, clock_, LeaderElectionOptions{.identity = "x", .predecessors = "y"}, [] {}, [] {});
  other->Start();
  executor_.RunFor(30s);
  EXPECT_FALSE(other->is_leader());
}

TEST_F(LeaderElectionTest, ReleasedLeaseIsTakenAtOnce) {
  auto a = Make("a");
  auto bb = Make("bb");
  a->Start();
  executor_.RunFor(1s);
  bb->Start();
  executor_.RunFor(10s);
  a->Release([] {});
  executor_.RunFor(5s);
  EXPECT_TRUE(bb->is_leader());
  EXPECT_EQ(log_, (std::vector<std::string>{"a leads", "bb leads"}));
}

TEST_F(LeaderElectionTest, LeaderThatCannotRenewStopsBeforeAnotherMayStart) {
  auto a = Make("a");
  a->Start();
  executor_.RunFor(5s);
  const SteadyTime cut = clock_.SteadyNow();
  for (int i = 0; i < 100; ++i) api_.FailNext("leases", 503);
  executor_.RunUntil([&] { return !a->is_leader(); });
  EXPECT_EQ(log_.back(), "a stopped");
  EXPECT_LE(clock_.SteadyNow() - cut, 13s);
}

TEST_F(LeaderElectionTest, LeaderWithHangingRequestsStops) {
  auto a = Make("a");
  a->Start();
  executor_.RunFor(5s);
  const SteadyTime cut = clock_.SteadyNow();
  api_.set_latency(25s);  // shorter than the client's patience, longer than the lease
  executor_.RunUntil([&] { return !a->is_leader(); });
  EXPECT_EQ(log_.back(), "a stopped");
  EXPECT_LE(clock_.SteadyNow() - cut, 12s);
}

TEST_F(LeaderElectionTest, RenewalCountsFromTheTimeOfItsRequest) {
  auto a = Make("a");
  a->Start();
  executor_.RunFor(5s);
  api_.set_latency(4s);  // reading and writing take 16 s, which is too long to be sure of anything
  executor_.RunFor(12s);
  EXPECT_FALSE(a->is_leader());
}

TEST_F(LeaderElectionTest, LeaseGrantedTooLateIsNotUsed) {
  auto a = Make("a");
  api_.set_latency(11s);
  a->Start();
  executor_.RunFor(40s);
  EXPECT_TRUE(log_.empty());
  api_.set_latency(1ms);
  executor_.RunFor(30s);
  EXPECT_TRUE(a->is_leader());
}

TEST_F(LeaderElectionTest, ReleaseKeepsALeaseThatAnotherHolds) {
  auto a = Make("a");
  a->Start();
  executor_.RunFor(1500ms);
  Json lease = *api_.Find(kLeasePath);
  lease["spec"]["holderIdentity"] = "bb";
  const std::string path = kLeasePath;
  api_.Put(path.substr(0, path.rfind('/')), lease);
  a->Release([] {});
  executor_.RunFor(1s);
  EXPECT_EQ(api_.Find(kLeasePath)->at("spec").at("holderIdentity"), "bb");
}

TEST_F(LeaderElectionTest, DeletedLeaseIsTakenAfterItsDuration) {
  auto a = Make("a");
  auto bb = Make("bb");
  a->Start();
  executor_.RunFor(1s);
  bb->Start();
  executor_.RunFor(10s);
  api_.Remove(kLeasePath);
  executor_.RunFor(30s);
  EXPECT_TRUE(a->is_leader());
  EXPECT_FALSE(bb->is_leader());

  a.reset();  // like kill -9
  api_.Remove(kLeasePath);
  executor_.RunFor(11s);
  EXPECT_FALSE(bb->is_leader());
  executor_.RunFor(6s);
  EXPECT_TRUE(bb->is_leader());
}

TEST_F(LeaderElectionTest, FrozenLeaderStopsForGoodAfterAnotherLed) {
  auto a = Make("a");
  a->Start();
  executor_.RunFor(1500ms);
  Json lease = *api_.Find(kLeasePath);
  lease["spec"]["holderIdentity"] = "";  // another led, and gave the lease back
  lease["spec"]["leaseTransitions"] = 2;
  const std::string path = kLeasePath;
  api_.Put(path.substr(0, path.rfind('/')), lease);
  executor_.RunFor(60s);
  EXPECT_FALSE(a->is_leader());
  EXPECT_EQ(log_, (std::vector<std::string>{"a leads", "a stopped"}));
}

TEST_F(LeaderElectionTest, JumpsOfTheWallClockChangeNoLeader) {
  auto a = Make("a");
  auto bb = Make("bb");
  a->Start();
  bb->Start();
  executor_.RunFor(10s);
  clock_.JumpWall(48h);
  executor_.RunFor(30s);
  clock_.JumpWall(-96h);
  executor_.RunFor(30s);
  EXPECT_EQ(log_.size(), 1U);
}

}  // namespace
}  // namespace berth::kube
