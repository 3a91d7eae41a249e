// Goal: reviews of policies see the labels of flavors and the zones of pools as these come and go.
#include "webhook/controller/zones_mirror.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::webhook {
namespace {

using namespace std::chrono_literals;

TEST(ZonesMirrorTest, FollowsFlavorsAndPools) {
  FakeClock clock;
  SimExecutor executor(clock);
  kube::RegistryTransport api(executor, clock);
  kube::ApiClient client(api, executor);
  kube::Manager manager(client, executor);
  const ZonesMirror mirror(manager, ZonesMirror::NodePools::kWatched);
  const ZonesMirror without_pools(manager, ZonesMirror::NodePools::kNone);
  manager.StartInformers();
  const std::string flavors = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";
  const std::string pools = "/apis/cloud.berth.dev/v1alpha1/nodepools";
  api.Put(flavors, {{"metadata", {{"name", "t4"}}}, {"spec", {{"nodeLabels", {{"a", "b"}}}}}});
  api.Put(pools, {{"metadata", {{"name", "p"}}},
                  {"spec", {{"machineType", "m"}, {"zones", {"z1", "z2"}}}}});
  executor.RunFor(1s);
  EXPECT_EQ(mirror.Known().flavors, (std::map<std::string, api::StringMap>{{"t4", {{"a", "b"}}}}));
  EXPECT_EQ(mirror.Known().pools,
            (std::map<std::string, std::set<std::string>>{{"p", {"z1", "z2"}}}));
  EXPECT_EQ(without_pools.Known().flavors.size(), 1U);
  EXPECT_TRUE(without_pools.Known().pools.empty());
  api.Put(pools,
          {{"metadata", {{"name", "p"}}}, {"spec", {{"machineType", "m"}, {"zones", {"z3"}}}}});
  api.Remove(flavors + "/t4");
  executor.RunFor(1s);
  EXPECT_TRUE(mirror.Known().flavors.empty());
  EXPECT_EQ(mirror.Known().pools, (std::map<std::string, std::set<std::string>>{{"p", {"z3"}}}));
  api.Remove(pools + "/p");
  executor.RunFor(1s);
  EXPECT_TRUE(mirror.Known().pools.empty());
}

}  // namespace
}  // namespace berth::webhook
