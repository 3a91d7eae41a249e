// Goal: Services get addresses, Endpoints and EndpointSlices, which follow the pods.
// Method: virtual time on the embedded API in memory; the test plays kubelet.
#include "local/cluster/network/service_controller.h"

#include <gtest/gtest.h>

#include "local/cluster/garbage/garbage_collector.h"
#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

class ServiceControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const ResourceId* resource : {&kServices, &kEndpoints, &kEndpointSlices, &kPods}) {
      ASSERT_TRUE(cache_.Track(*resource));
    }
    services_.Start();
    garbage_.Start();
  }

  ApiResult<Object> CreateService(const std::string& name, const Json& spec = Json::object()) {
    Json service = {{"metadata", {{"name", name}}},
                    {"spec",
                     {{"selector", {{"app", "db"}}},
                      {"ports", Json::array({{{"port", 80}, {"targetPort", 8080}}})}}}};
    service["spec"].merge_patch(spec);
    return api_.Create(kServices, "default", service, {});
  }

  void CreatePod(const std::string& name, const std::string& address, bool ready) {
    Json pod = {
        {"metadata", {{"name", name}, {"labels", {{"app", "db"}}}}},
        {"spec",
         {{"nodeName", "n1"}, {"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}};
    pod["status"] = {{"phase", "Running"}, {"podIP", address}};
    SetCondition(pod["status"], {"Ready", ready ? "True" : "False", "", ""}, clock_.Now());
    ASSERT_TRUE(api_.CreateWithStatus(kPods, "default", pod));
  }

  Json Subsets(const std::string& name) {
    const auto endpoints = api_.Get(kEndpoints, "default", name);
    return endpoints ? (*endpoints)->value("subsets", Json::array()) : Json();
  }
  void Run() { executor_.RunFor(std::chrono::seconds(1)); }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  ServiceController services_{api_, cache_, executor_, executor_, clock_, nullptr};
  GarbageCollector garbage_{api_, cache_, executor_, clock_};
};

TEST_F(ServiceControllerTest, ServiceAddressesAreUniqueAndStay) {
  const auto a = CreateService("a");
  ASSERT_TRUE(a) << a.error().message;
  const std::string address = StringAt(**a, {"spec", "clusterIP"});
  EXPECT_EQ((**a)["spec"]["clusterIPs"], Json::array({address}));
  EXPECT_EQ((**a)["status"], Json::parse(R"({"loadBalancer": {}})"));
  const auto b = CreateService("b");
  ASSERT_TRUE(b);
  EXPECT_NE(StringAt(**b, {"spec", "clusterIP"}), address);
  const auto taken = CreateService("c", {{"clusterIP", address}});
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find("provided IP is already allocated"), std::string::npos);
  const auto headless = CreateService("d", {{"clusterIP", "None"}});
  ASSERT_TRUE(headless);
  EXPECT_EQ(StringAt(**headless, {"spec", "clusterIP"}), "None");
  // A manifest without the address leaves it.
  Json again = **a;
  for (const char* field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    again["spec"].erase(field);
  }
  const auto kept = api_.Update(kServices, "default", "a", again, {});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(StringAt(**kept, {"spec", "clusterIP"}), address);
  again["spec"]["clusterIP"] = "127.1.2.3";
  const auto moved = api_.Update(kServices, "default", "a", again, {});
  ASSERT_FALSE(moved);
  EXPECT_NE(moved.error().message.find("may not change once set"), std::string::npos);
}

TEST_F(ServiceControllerTest, BadServicesAreRefusedByField) {
  EXPECT_NE(CreateService("a", {{"ports", nullptr}}).error().message.find("spec.ports"),
            std::string::npos);
  EXPECT_NE(CreateService("a", {{"ports", Json::array({{{"port", 0}}})}})
                .error()
                .message.find("spec.ports[0].port"),
            std::string::npos);
  EXPECT_NE(CreateService("a", {{"ports", Json::array({{{"port", 1}}, {{"port", 2}}})}})
                .error()
                .message.find("spec.ports[0].name"),
            std::string::npos);
  EXPECT_NE(CreateService("a", {{"type", "Magic"}}).error().message.find("spec.type"),
            std::string::npos);
}

TEST_F(ServiceControllerTest, EndpointsFollowPods) {
  ASSERT_TRUE(CreateService("db"));
  Run();
  EXPECT_EQ(Subsets("db"), Json::array());
  CreatePod("a", "127.9.0.1", true);
  CreatePod("b", "127.9.0.2", false);
  Run();
  EXPECT_EQ(Subsets("db")[0]["addresses"][0]["ip"], "127.9.0.1");
  EXPECT_EQ(Subsets("db")[0]["notReadyAddresses"][0]["ip"], "127.9.0.2");
  const auto slices = api_.List(kEndpointSlices, "default", {});
  ASSERT_EQ(slices->items.size(), 1U);
  EXPECT_EQ(LabelOf(*slices->items[0], "kubernetes.io/service-name"), "db");
  EXPECT_EQ((*slices->items[0])["endpoints"].size(), 2U);
  ASSERT_TRUE(api_.Delete(kPods, "default", "a", {.grace_period_seconds = 0}));
  ASSERT_TRUE(api_.Delete(kPods, "default", "b", {.grace_period_seconds = 0}));
  Run();
  EXPECT_EQ(Subsets("db"), Json::array());
  EXPECT_TRUE(api_.List(kEndpointSlices, "default", {})->items.empty());
  ASSERT_TRUE(api_.Delete(kServices, "default", "db", {}));
  Run();
  EXPECT_TRUE(Subsets("db").is_null());
}

TEST_F(ServiceControllerTest, EndpointsOfUsersAreLeftAlone) {
  ASSERT_TRUE(api_.Create(kEndpoints, "default", {{"metadata", {{"name", "db"}}}}, {}));
  ASSERT_TRUE(CreateService("db"));
  CreatePod("a", "127.9.0.1", true);
  Run();
  EXPECT_EQ(Subsets("db"), Json::array());
}

TEST_F(ServiceControllerTest, LoadBalancerHasTheAddressOfItsService) {
  const auto service = CreateService("db", {{"type", "LoadBalancer"}});
  ASSERT_TRUE(service);
  Run();
  const auto now = api_.Get(kServices, "default", "db");
  EXPECT_EQ((**now)["status"]["loadBalancer"]["ingress"][0]["ip"],
            StringAt(**service, {"spec", "clusterIP"}));
}

TEST_F(ServiceControllerTest, EventReportsPortsThatAreNotServed) {
  const std::string folder = testing::TempDir() + "/berth-service-hosts";
  auto loopback = LoopbackNetwork::Claim(folder);
  ASSERT_TRUE(loopback);
  PodNetwork network(loopback->prefix(), folder, {.of_service = 1});
  ObjectCache cache(api_, executor_);
  ServiceController services(api_, cache, executor_, executor_, clock_, &network);
  for (const ResourceId* resource : {&kServices, &kEndpoints, &kEndpointSlices, &kPods}) {
    ASSERT_TRUE(cache.Track(*resource));
  }
  services.Start();
  const Json ports = Json::array({{{"name", "a"}, {"port", 80}, {"targetPort", 8080}},
                                  {{"name", "b"}, {"port", 81}, {"targetPort", 8081}}});
  const auto service = CreateService("db", {{"ports", ports}});
  ASSERT_TRUE(service) << service.error().message;
  CreatePod("a", "127.9.0.1", true);
  Run();
  const auto events = api_.List({"", "v1", "events"}, "default", {});
  ASSERT_TRUE(events);
  ASSERT_FALSE(events->items.empty());
  EXPECT_EQ((*events->items[0])["reason"], "PortsNotServed");
  EXPECT_EQ((*events->items[0])["message"],
            "at most 1 TCP ports of a Service are served: the others refuse connections");
}

}  // namespace
}  // namespace berth::local::cluster
