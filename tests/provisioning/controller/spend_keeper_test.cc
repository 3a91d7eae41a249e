// Goal: a charge is written before anything follows from it, and survives a restart and another
// writer. Method: keepers on the real API in memory, in virtual time.
#include "provisioning/controller/spend_keeper.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::provisioning {
namespace {

using namespace std::chrono_literals;

constexpr char kQueue[] = "default/team";
constexpr char kSpendMaps[] = "/api/v1/namespaces/kueue-system/configmaps";

class SpendKeeperTest : public ::testing::Test {
 protected:
  SpendKeeperTest() { api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "kueue-system"}}}}); }
  // Returns whether the memory could be read or written.
  bool Settle(SpendKeeper& keeper) {
    bool settled = false;
    keeper.Settle(kQueue, [&settled](const Status& status) { settled = status.has_value(); });
    executor_.RunFor(1s);
    return settled;
  }
  const nlohmann::json* Stored() {
    return api_.Find(std::string(kSpendMaps) + "/" + SpendConfigMapName(kQueue));
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
};

TEST_F(SpendKeeperTest, ANewProcessReadsWhatTheOldOneWrote) {
  SpendKeeper first(client_, "kueue-system");
  EXPECT_FALSE(first.IsSettled(kQueue));
  ASSERT_TRUE(Settle(first));
  EXPECT_TRUE(first.IsSettled(kQueue));
  first.Record({kQueue, 1, "a", 7});
  EXPECT_FALSE(first.IsSettled(kQueue)) << "not before it is written";
  ASSERT_TRUE(Settle(first));
  EXPECT_TRUE(first.IsSettled(kQueue));
  ASSERT_NE(Stored(), nullptr);
  EXPECT_EQ((*Stored())["metadata"]["annotations"]["berth.dev/spend-of"], kQueue);
  first.Record({kQueue, 1, "b", 1});
  ASSERT_TRUE(Settle(first));
  SpendKeeper second(client_, "kueue-system");
  ASSERT_TRUE(Settle(second));
  EXPECT_EQ(second.memory().SpentBy(kQueue, 1, {}), 8);
}

TEST_F(SpendKeeperTest, MergesWritesOfAnotherProcess) {
  SpendKeeper old(client_, "kueue-system");
  SpendKeeper next(client_, "kueue-system");
  ASSERT_TRUE(Settle(old));
  ASSERT_TRUE(Settle(next));
  next.Record({kQueue, 1, "a", 7});
  ASSERT_TRUE(Settle(next));
  old.Record({kQueue, 1, "b", 1});
  EXPECT_FALSE(Settle(old)) << "the other has written meanwhile";
  EXPECT_TRUE(Settle(old)) << "reads";
  EXPECT_TRUE(Settle(old)) << "writes";
  SpendKeeper last(client_, "kueue-system");
  ASSERT_TRUE(Settle(last));
  EXPECT_EQ(last.memory().SpentBy(kQueue, 1, {}), 8);
}

TEST_F(SpendKeeperTest, TwoCallersWaitForOneWrite) {
  SpendKeeper keeper(client_, "kueue-system");
  ASSERT_TRUE(Settle(keeper));
  keeper.Record({kQueue, 1, "a", 7});
  int done = 0;
  keeper.Settle(kQueue, [&done](const Status& status) { done += status ? 1 : 0; });
  EXPECT_FALSE(keeper.IsSettled(kQueue)) << "the write is under way";
  keeper.Settle(kQueue, [&done](const Status& status) { done += status ? 1 : 0; });
  EXPECT_EQ(done, 0);
  executor_.RunFor(1s);
  EXPECT_EQ(done, 2);
  int writes = 0;
  for (const auto& request : api_.requests()) writes += request.method == "GET" ? 0 : 1;
  EXPECT_EQ(writes, 1);
}

TEST_F(SpendKeeperTest, ReplacesAnUnreadableConfigMap) {
  api_.Put(kSpendMaps,
           {{"metadata", {{"name", SpendConfigMapName(kQueue)}}}, {"data", {{"spend", "much"}}}});
  SpendKeeper keeper(client_, "kueue-system");
  ASSERT_TRUE(Settle(keeper));
  keeper.Record({kQueue, 1, "a", 7});
  ASSERT_TRUE(Settle(keeper));
  EXPECT_NE((*Stored())["data"]["spend"], "much");
}

}  // namespace
}  // namespace berth::provisioning
