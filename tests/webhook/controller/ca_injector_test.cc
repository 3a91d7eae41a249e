// Goal: the CA is in every registration, also in later and overwritten ones.
#include "webhook/controller/ca_injector.h"

#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"
#include "tests/webhook/controller/configurations.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kCrds[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

class CaInjectorTest : public ::testing::Test {
 protected:
  void PutConfiguration() {
    api_.Put(kMutating,
             {{"metadata", {{"name", kMutatingName}}}, {"webhooks", {Hook("a"), Hook("b")}}});
  }
  static Json Hook(const std::string& name) {
    return {
        {"name", name + ".example.com"},
        {"clientConfig", {{"service", {{"namespace", "n"}, {"name", "s"}, {"path", "/" + name}}}}},
        {"sideEffects", "None"},
        {"admissionReviewVersions", {"v1"}}};
  }
  Json Configuration() { return *api_.Find(std::string(kMutating) + "/" + kMutatingName); }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  CaInjector injector_{client_, executor_, "PEM", {.crds = {"queues.example"}}};
};

TEST_F(CaInjectorTest, WritesTheBundleAndKeepsOtherFields) {
  PutConfiguration();
  api_.Put(kCrds, Json::parse(R"({"metadata": {"name": "queues.example"}, "spec": {
      "group": "example", "scope": "Namespaced",
      "names": {"plural": "queues", "singular": "queue", "kind": "Queue", "listKind": "QueueList"},
      "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}],
      "conversion": {"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "n", "name": "s", "path": "/convert"}}}}}})"));
  std::optional<bool> complete;
  injector_.Start([&](bool all) { complete = all; });
  executor_.RunFor(1s);
  EXPECT_EQ(complete, false) << "the validating configuration is missing";
  const std::string bundle = Base64Encode("PEM");
  EXPECT_EQ(Configuration()["webhooks"][0]["clientConfig"]["caBundle"], bundle);
  EXPECT_EQ(Configuration()["webhooks"][0]["clientConfig"]["service"]["path"], "/a");
  EXPECT_EQ(Configuration()["webhooks"][1]["clientConfig"]["caBundle"], bundle);
  const Json crd = *api_.Find(std::string(kCrds) + "/queues.example");
  const Json& config = crd["spec"]["conversion"]["webhook"]["clientConfig"];
  EXPECT_EQ(config["caBundle"], bundle);
  EXPECT_EQ(config["service"]["path"], "/convert");
  EXPECT_EQ(crd["spec"]["group"], "example");
  const std::size_t writes = api_.CountWrites();
  executor_.RunFor(60s);
  EXPECT_EQ(api_.CountWrites(), writes) << "what is there is not written again";
}

TEST_F(CaInjectorTest, WritesARemovedBundleAgainAtOnce) {
  PutConfiguration();
  injector_.Start([](bool) {});
  executor_.RunFor(10s);
  PutConfiguration();  // the manifests' form: without a bundle
  ASSERT_FALSE(Configuration()["webhooks"][0]["clientConfig"].contains("caBundle"));
  executor_.RunFor(2s);
  EXPECT_EQ(Configuration()["webhooks"][0]["clientConfig"]["caBundle"], Base64Encode("PEM"));
  api_.DropWatches();
  PutConfiguration();
  executor_.RunFor(5s);
  EXPECT_EQ(Configuration()["webhooks"][0]["clientConfig"]["caBundle"], Base64Encode("PEM"))
      << "a new watch begins with the object";
}

TEST_F(CaInjectorTest, WithoutRegistrationsSendsNoRequest) {
  CaInjector none(client_, executor_, "PEM",
                  {.mutating = "", .validating = "", .crds = {}, .api_services = {}});
  std::optional<bool> complete;
  none.Start([&](bool all) { complete = all; });
  executor_.RunFor(1s);
  EXPECT_EQ(complete, true);
  EXPECT_TRUE(api_.requests().empty());
}

TEST_F(CaInjectorTest, FailedApiServiceDoesNotDelayTheWebhooksCertificate) {
  CaInjector injector(client_, executor_, "OLD",
                      {.mutating = "", .validating = "", .crds = {}, .api_services = {"v1.x"}});
  std::optional<bool> complete;
  injector.Start([&](bool all) { complete = all; });
  executor_.RunFor(1s);
  EXPECT_EQ(complete, true);
  api_.FailNext("apiservices/v1.x", 403);
  std::optional<bool> trusted;
  injector.SetCa("NEW", [&](bool all) { trusted = all; });
  executor_.RunFor(1s);
  EXPECT_EQ(trusted, true);
  api_.ClearRequests();
  executor_.RunFor(61s);
  EXPECT_EQ(api_.requests().size(), 2U) << "looked for again, and not all the time";
}

TEST_F(CaInjectorTest, FindsRegistrationsThatAreCreatedLater) {
  injector_.Start([](bool) {});
  executor_.RunFor(7s);
  PutConfiguration();
  executor_.RunFor(10s);
  EXPECT_TRUE(Configuration()["webhooks"][1]["clientConfig"].contains("caBundle"));
  PutConfiguration();  // a user applies the manifest again
  executor_.RunFor(10min);
  EXPECT_TRUE(Configuration()["webhooks"][1]["clientConfig"].contains("caBundle"));
}

}  // namespace
}  // namespace berth::webhook
