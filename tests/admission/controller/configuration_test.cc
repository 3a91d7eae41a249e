// Goal: a Kueue Configuration file means the same here, and what is not read is said.

#include "admission/controller/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

nlohmann::json Config(nlohmann::json fields, const std::string& version = "v1beta2") {
  fields["apiVersion"] = "config.kueue.x-k8s.io/" + version;
  fields["kind"] = "Configuration";
  return fields;
}

TEST(Configuration, EmptyIsKueuesDefault) {
  const auto config = ReadConfiguration(Config(nlohmann::json::object()));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->admission.pods_ready.enabled);
  EXPECT_EQ(config->admission.pods_ready.timeout, 30min);
  EXPECT_FALSE(config->admission.scheduler.fair_sharing.has_value());
  EXPECT_THAT(config->frameworks, ElementsAre("batch/job"));
  EXPECT_THAT(config->ignored, IsEmpty());
}

TEST(Configuration, ReadsWhatAdmissionNeeds) {
  const auto config = ReadConfiguration(Config(R"({
    "namespace": "queues", "manageJobsWithoutQueueName": true,
    "managedJobsNamespaceSelector": {"matchLabels": {"a": "b"}},
    "waitForPodsReady": {"timeout": "5m", "requeuingStrategy":
      {"timestamp": "Creation", "backoffLimitCount": 3, "backoffBaseSeconds": 10}},
    "fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]},
    "resources": {"excludeResourcePrefixes": ["example.com/"], "transformations": [
      {"input": "nvidia.com/mig-1g.5gb", "strategy": "Replace",
       "outputs": {"example.com/memory": "5Gi"}}]},
    "integrations": {"frameworks": ["batch/job", "pod"], "labelKeysToCopy": ["team"]},
    "leaderElection": {"leaderElect": false, "resourceName": "x"},
    "featureGates": {"PartialAdmission": false, "MultiKueue": true},
    "metrics": {"bindAddress": ":8443"}})"_json));
  ASSERT_TRUE(config) << config.error().message;
  const PodsReadyOptions& ready = config->admission.pods_ready;
  EXPECT_EQ(ready.timeout, 5min);
  EXPECT_EQ(ready.recovery_timeout, 5min);
  EXPECT_EQ(ready.backoff_limit_count, 3);
  EXPECT_EQ(ready.backoff_base, 10s);
  const SchedulerConfig& scheduler = config->admission.scheduler;
  EXPECT_EQ(scheduler.pods_ready_requeuing, queue::RequeuingTimestamp::kCreation);
  ASSERT_TRUE(scheduler.fair_sharing.has_value());
  EXPECT_THAT(scheduler.fair_sharing->rules, ElementsAre(FairSharingRule::kLessThanInitialShare));
  EXPECT_THAT(scheduler.excluded_resource_prefixes, ElementsAre("example.com/"));
  ASSERT_EQ(scheduler.transformations.size(), 1U);
  EXPECT_EQ(scheduler.transformations[0].outputs.at("example.com/memory").ToString(), "5Gi");
  EXPECT_FALSE(scheduler.gates.partial_admission);
  EXPECT_EQ(config->leader_election, false);
  EXPECT_TRUE(config->managed_jobs_namespace_selector->Matches({{"a", "b"}}));
  EXPECT_THAT(config->ignored,
              ElementsAre("metrics", "featureGates.MultiKueue", "leaderElection.resourceName"));
}

TEST(Configuration, OldVersionHasSwitches) {
  const auto config = ReadConfiguration(
      Config(R"({"waitForPodsReady": {"enable": false}, "fairSharing": {"enable": false}})"_json,
             "v1beta1"));
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->admission.pods_ready.enabled);
  EXPECT_FALSE(config->admission.scheduler.fair_sharing.has_value());
}

TEST(Configuration, MistakesAreNamed) {
  const std::vector<std::pair<nlohmann::json, std::string>> rows = {
      {Config({{"waitForPodsready", 1}}), "waitForPodsready: unknown field"},
      {Config({{"waitForPodsReady", {{"timeout", "soon"}}}}),
       "waitForPodsReady.timeout: \"soon\" is not a duration such as 30s or 5m"},
      {Config({{"fairSharing", {{"preemptionStrategies", {"Fair"}}}}}),
       "fairSharing.preemptionStrategies[0]: \"Fair\" is not one of LessThanOrEqualToFinalShare, "
       "LessThanInitialShare"},
      {Config({{"featureGates", {{"PartialAdmission", "no"}}}}),
       "featureGates.PartialAdmission: expected true or false, got string"},
      {nlohmann::json{{"kind", "Configuration"}},
       "apiVersion must be config.kueue.x-k8s.io/v1beta2 or v1beta1, kind Configuration"},
      {nlohmann::json(3),
       "apiVersion must be config.kueue.x-k8s.io/v1beta2 or v1beta1, kind Configuration"},
  };
  for (const auto& [document, message] : rows) {
    const auto config = ReadConfiguration(document);
    ASSERT_FALSE(config) << message;
    EXPECT_EQ(config.error().message, message);
  }
}

TEST(GoDuration, AsGoWritesThem) {
  EXPECT_EQ(ParseGoDuration("1h30m0s"), 90min);
  EXPECT_EQ(ParseGoDuration("300ms"), 300ms);
  EXPECT_EQ(ParseGoDuration("0"), 0s);
  for (const char* bad : {"", "5", "m", "-5m", "5x", "5m ", "99999999999h"}) {
    EXPECT_EQ(ParseGoDuration(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace berth::admission
