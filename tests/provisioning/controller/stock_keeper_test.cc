// Goal: the stock memory survives a restart and another writer, and its ConfigMap is made, written
// behind and bounded in writes. Method: keepers on the real API in memory, in virtual time.
#include "provisioning/controller/stock_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::provisioning {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::SizeIs;

constexpr char kClass[] = "queued-provisioning.gke.io";
constexpr char kMaps[] = "/api/v1/namespaces/kueue-system/configmaps";

class StockKeeperTest : public ::testing::Test {
 protected:
  StockKeeperTest() { api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "kueue-system"}}}}); }
  // Returns whether the memory of the class could be read.
  bool Load(StockKeeper& keeper) {
    bool loaded = false;
    keeper.Load({kClass}, [&loaded](const Status& status) { loaded = status.has_value(); });
    executor_.RunFor(1s);
    return loaded;
  }
  StockLesson Failure(const std::string& id, const std::string& flavor = "spot") const {
    return {.provisioning_class = kClass,
            .key = {.flavor = flavor, .shape = "gpu=1", .size = 1},
            .outcome = {.id = id,
                        .asked_at = clock_.Now(),
                        .wait_seconds = 30,
                        .pods = 1,
                        .result = api::StockResult::kStockout},
            .reason = "ResourcePoolExhausted",
            .at = clock_.Now()};
  }
  const Json* Stored() { return api_.Find(std::string(kMaps) + "/berth-stock-" + kClass); }
  int Writes() {
    int writes = 0;
    for (const auto& request : api_.requests()) {
      writes += request.method == "POST" || request.method == "PATCH" ? 1 : 0;
    }
    return writes;
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
};

TEST_F(StockKeeperTest, ANewProcessReadsWhatTheOldOneWrote) {
  StockKeeper first(client_, {});
  EXPECT_FALSE(first.IsLoaded({kClass}));
  ASSERT_TRUE(Load(first));
  EXPECT_TRUE(first.IsLoaded({kClass}));
  first.Record(Failure("a"));
  first.Record(Failure("b", "demand"));
  EXPECT_EQ(Stored(), nullptr) << "written behind";
  executor_.RunFor(6s);
  ASSERT_NE(Stored(), nullptr);
  EXPECT_EQ(Writes(), 1) << "outcomes of one moment are one write";
  EXPECT_EQ((*Stored())["metadata"]["labels"]["berth.dev/stock"], "true");
  StockKeeper second(client_, {});
  ASSERT_TRUE(Load(second));
  EXPECT_EQ(second.memory().Of(kClass), first.memory().Of(kClass));
  second.Record(Failure("c"));
  executor_.RunFor(6s);
  EXPECT_EQ(Writes(), 2);
}

TEST_F(StockKeeperTest, MergesWritesOfAnotherProcess) {
  StockKeeper old(client_, {});
  ASSERT_TRUE(Load(old));
  StockKeeper leader(client_, {});
  ASSERT_TRUE(Load(leader));
  old.Record(Failure("a"));
  executor_.RunFor(6s);
  leader.Record(Failure("b", "demand"));
  executor_.RunFor(30s);
  EXPECT_THAT(leader.memory().Of(kClass), SizeIs(2));
  StockKeeper third(client_, {});
  ASSERT_TRUE(Load(third));
  EXPECT_THAT(third.memory().Of(kClass), SizeIs(2)) << "neither writer has lost anything";
  old.Record(Failure("c"));
  executor_.RunFor(30s);
  EXPECT_THAT(old.memory().Of(kClass), SizeIs(2));
}

TEST_F(StockKeeperTest, ReplacesAnUnreadableConfigMap) {
  api_.Put(kMaps,
           {{"metadata",
             {{"name", std::string("berth-stock-") + kClass}, {"namespace", "kueue-system"}}},
            {"data", {{"stock", "[{]"}}}});
  StockKeeper keeper(client_, {});
  ASSERT_TRUE(Load(keeper));
  keeper.Record(Failure("a"));
  executor_.RunFor(6s);
  EXPECT_NE((*Stored())["data"]["stock"], "[{]");
}

TEST_F(StockKeeperTest, ADeletedConfigMapIsMadeAgain) {
  StockKeeper keeper(client_, {});
  ASSERT_TRUE(Load(keeper));
  keeper.Record(Failure("a"));
  executor_.RunFor(6s);
  ASSERT_NE(Stored(), nullptr);
  client_.Delete({"", "v1", "ConfigMap", "configmaps", true},
                 {"kueue-system", StockConfigMapName(kClass)}, {}, [](const Status&) {});
  executor_.RunFor(1s);
  ASSERT_EQ(Stored(), nullptr);
  keeper.Record(Failure("b"));
  executor_.RunFor(3min);
  ASSERT_NE(Stored(), nullptr);
  EXPECT_THAT(
      Json::parse((*Stored())["data"]["stock"].get<std::string>())["entries"][0]["outcomes"],
      SizeIs(2));
}

TEST_F(StockKeeperTest, ConfigMapNamesAreBoundedAndDistinct) {
  EXPECT_EQ(StockConfigMapName("a.example.com"), "berth-stock-a.example.com");
  EXPECT_LE(StockConfigMapName(std::string(253, 'a')).size(), 253U);
  EXPECT_NE(StockConfigMapName(std::string(253, 'a')), StockConfigMapName(std::string(252, 'a')));
}

}  // namespace
}  // namespace berth::provisioning
