// Goal: declared kinds have their entries in the configurations that the manifests create for them,
// with the address and the CA of the built-in entries, and lose them again.
#include "webhook/controller/kind_webhooks.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kRegistrations[] = "/apis/admissionregistration.k8s.io/v1/";
const DeclaredWebhook kSweep{"science.example", "v1", "Sweep", "sweeps",
                             "science-example-v1-sweep"};

Json BuiltIn(const std::string& name, const std::string& entry) {
  return {{"metadata", {{"name", name}}},
          {"webhooks",
           {{{"name", entry},
             {"clientConfig",
              {{"caBundle", "Q0E="},
               {"service", {{"namespace", "n"}, {"name", "s"}, {"path", "/x"}, {"port", 9443}}}}},
             {"namespaceSelector",
              {{"matchExpressions",
                {{{"key", "k"}, {"operator", "NotIn"}, {"values", {"kube-system"}}}}}}},
             {"sideEffects", "None"},
             {"admissionReviewVersions", {"v1"}}}}}};
}

class KindWebhooksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [plural, word, entry] :
         {std::tuple{"mutatingwebhookconfigurations", "mutating", "mjob.kb.io"},
          std::tuple{"validatingwebhookconfigurations", "validating", "vjob.kb.io"}}) {
      const std::string path = std::string(kRegistrations) + plural;
      api_.Put(path, BuiltIn(std::string("kueue-") + word + "-webhook-configuration", entry));
      api_.Put(path,
               {{"metadata",
                 {{"name", std::string("kueue-job-kinds-") + word + "-webhook-configuration"}}}});
    }
  }
  Json Entries(const std::string& word) {
    const Json* found = api_.Find(kRegistrations + word + "webhookconfigurations/kueue-job-kinds-" +
                                  word + "-webhook-configuration");
    return found == nullptr ? Json() : found->value("webhooks", Json::array());
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  std::vector<DeclaredWebhook> kinds_{kSweep};
  KindWebhooks webhooks_{client_, executor_, [this] { return kinds_; }};
};

TEST_F(KindWebhooksTest, RegistrationsFollowTheKinds) {
  webhooks_.Start();
  executor_.RunFor(1s);
  const Json mutating = Entries("mutating");
  ASSERT_EQ(mutating.size(), 1U);
  EXPECT_EQ(mutating[0]["name"], "msweep.science.example.kinds.berth.dev");
  EXPECT_EQ(mutating[0]["clientConfig"]["service"]["path"], "/mutate-science-example-v1-sweep");
  EXPECT_EQ(mutating[0]["clientConfig"]["service"]["port"], 9443);
  EXPECT_EQ(mutating[0]["clientConfig"]["caBundle"], "Q0E=");
  EXPECT_EQ(mutating[0]["failurePolicy"], "Ignore");
  EXPECT_EQ(mutating[0]["namespaceSelector"]["matchExpressions"][0]["key"], "k");
  EXPECT_EQ(mutating[0]["rules"][0]["operations"], Json{"CREATE"});
  const Json validating = Entries("validating");
  ASSERT_EQ(validating.size(), 1U);
  EXPECT_EQ(validating[0]["clientConfig"]["service"]["path"], "/validate-science-example-v1-sweep");
  EXPECT_EQ(validating[0]["rules"][0]["operations"], (Json{"CREATE", "UPDATE"}));
  EXPECT_EQ(validating[0]["rules"][0]["resources"], Json{"sweeps"});

  const std::size_t writes = api_.CountWrites();
  executor_.RunFor(300s);
  EXPECT_EQ(api_.CountWrites(), writes) << "what is there is not written again";

  kinds_.clear();
  webhooks_.Refresh();
  executor_.RunFor(1s);
  EXPECT_TRUE(Entries("mutating").empty());
  EXPECT_TRUE(Entries("validating").empty());
}

TEST_F(KindWebhooksTest, KindThatMutatesUpdatesRegistersUpdates) {
  kinds_[0].mutates_updates = true;
  webhooks_.Start();
  executor_.RunFor(1s);
  EXPECT_EQ(Entries("mutating")[0]["rules"][0]["operations"], (Json{"CREATE", "UPDATE"}));
}

TEST_F(KindWebhooksTest, CopiesAChangedCaBundle) {
  webhooks_.Start();
  executor_.RunFor(1s);
  Json built_in = BuiltIn("kueue-mutating-webhook-configuration", "mjob.kb.io");
  built_in["webhooks"][0]["clientConfig"]["caBundle"] = "TkVX";
  api_.Put(std::string(kRegistrations) + "mutatingwebhookconfigurations", built_in);
  executor_.RunFor(70s);
  EXPECT_EQ(Entries("mutating")[0]["clientConfig"]["caBundle"], "TkVX");
}

TEST_F(KindWebhooksTest, WithoutKindsNoRequestIsRepeated) {
  kinds_.clear();
  webhooks_.Start();
  executor_.RunFor(1s);
  const std::size_t requests = api_.requests().size();
  EXPECT_EQ(api_.CountWrites(), 0U);
  executor_.RunFor(300s);
  EXPECT_EQ(api_.requests().size(), requests);
}

TEST_F(KindWebhooksTest, NothingIsWrittenBeforeTheLeadership) {
  webhooks_.Refresh();
  executor_.RunFor(10s);
  EXPECT_TRUE(api_.requests().empty());
}

TEST(KindWebhooksPatchTest, UrlGetsTheKindsPath) {
  Json built_in = BuiltIn("c", "mjob.kb.io");
  built_in["webhooks"][0]["clientConfig"] = {{"url", "https://host:9443/mutate-batch-v1-job"}};
  const Json empty = {{"metadata", {{"resourceVersion", "1"}}}};
  const auto patch = KindWebhooksPatch(ReviewVerb::kMutate, built_in, empty, {kSweep});
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["webhooks"][0]["clientConfig"],
            (Json{{"url", "https://host:9443/mutate-science-example-v1-sweep"}}));
  EXPECT_FALSE(
      KindWebhooksPatch(ReviewVerb::kMutate, Json{{"webhooks", Json::array()}}, empty, {kSweep}));
}

}  // namespace
}  // namespace berth::webhook
