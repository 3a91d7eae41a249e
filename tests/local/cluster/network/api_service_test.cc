// Goal: the Service `kubernetes` leads to the API, comes back when it is deleted, and follows the
// API's port. Method: virtual time on the embedded API in memory.
#include "local/cluster/network/api_service.h"

#include <gtest/gtest.h>

#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

class ApiServiceTest : public ::testing::Test {
 protected:
  struct Keeper {
    Keeper(Api& api, Executor& executor, const Clock& clock, std::uint16_t port)
        : cache(api, executor), service(api, cache, executor, clock, {"127.0.0.1", port}) {
      for (const ResourceId* resource : {&kServices, &kEndpoints, &kEndpointSlices}) {
        EXPECT_TRUE(cache.Track(*resource));
      }
      service.Start();
    }
    ObjectCache cache;
    ApiService service;
  };
  void Run() { executor_.RunFor(std::chrono::seconds(1)); }
  Json Get(const ResourceId& resource) {
    const auto object = api_.Get(resource, "default", "kubernetes");
    return object ? **object : Json();
  }
  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
};

TEST_F(ApiServiceTest, ServiceRoutesToTheApiAndIsRestored) {
  Keeper keeper(api_, executor_, clock_, 6443);
  Run();
  for (int round = 0; round < 2; ++round) {
    const Json service = Get(kServices);
    EXPECT_EQ(IntAt(ArrayAt(service, {"spec", "ports"})[0], {"port"}), 443) << service;
    EXPECT_FALSE(StringAt(service, {"spec", "clusterIP"}).empty());
    EXPECT_EQ(IntAt(ArrayAt(Get(kEndpointSlices), {"ports"})[0], {"port"}), 6443);
    const auto routes = RoutesOf(service, ArrayAt(Get(kEndpoints), {"subsets"}));
    ASSERT_EQ(routes.size(), 1U);
    EXPECT_EQ(routes[0].backends, (std::vector<ServiceBackend>{{"127.0.0.1", 6443}}));
    for (const ResourceId* resource : {&kServices, &kEndpoints, &kEndpointSlices}) {
      ASSERT_TRUE(api_.Delete(*resource, "default", "kubernetes", {}));
    }
    Run();
  }
}

TEST_F(ApiServiceTest, EndpointsFollowThePortOfTheApi) {
  {
    const Keeper earlier(api_, executor_, clock_, 6443);
    Run();
  }
  const std::string address = StringAt(Get(kServices), {"spec", "clusterIP"});
  const Keeper keeper(api_, executor_, clock_, 7443);
  Run();
  EXPECT_EQ(IntAt(ArrayAt(ArrayAt(Get(kEndpoints), {"subsets"})[0], {"ports"})[0], {"port"}), 7443);
  EXPECT_EQ(StringAt(Get(kServices), {"spec", "clusterIP"}), address);
}

TEST(ApiBackendTest, BackendIsAnAddressOfIPv4) {
  EXPECT_EQ(ApiBackend("https://127.0.0.1:6443"), (ServiceBackend{"127.0.0.1", 6443}));
  EXPECT_EQ(ApiBackend("https://0.0.0.0:1"), (ServiceBackend{"127.0.0.1", 1}));
  for (const char* url : {"", "https://[::1]:6443", "https://host:6443", "https://127.0.0.1"}) {
    EXPECT_EQ(ApiBackend(url), std::nullopt) << url;
  }
}

}  // namespace
}  // namespace berth::local::cluster
