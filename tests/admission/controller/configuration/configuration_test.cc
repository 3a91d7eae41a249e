// Goal: a Kueue Configuration file has its meaning in Kueue, and ignored fields are reported.

#include "admission/controller/configuration/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

nlohmann::json Config(nlohmann::json fields, const std::string& version = "v1beta2") {
  fields["apiVersion"] = "config.kueue.x-k8s.io/" + version;
  fields["kind"] = "Configuration";
  return fields;
}

std::vector<std::string> FieldsOf(const Configuration& config) {
  std::vector<std::string> fields;
  for (const auto& [field, why] : config.ignored) {
    EXPECT_FALSE(why.empty()) << field;
    fields.push_back(field);
  }
  return fields;
}

TEST(Configuration, EmptyConfigurationHasKueuesDefaults) {
  const auto config = ReadConfiguration(Config(nlohmann::json::object()));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->admission.driver.pods_ready.enabled);
  EXPECT_EQ(config->admission.driver.pods_ready.timeout, 30min);
  EXPECT_FALSE(config->admission.driver.scheduler.fair_sharing.has_value());
  EXPECT_THAT(config->frameworks, ElementsAre("batch/job"));
  EXPECT_TRUE(config->admission.metrics.local_queues);
  EXPECT_THAT(config->ignored, IsEmpty());
}

TEST(Configuration, AnExternalFrameworkThatNamesAResourceHasNoEffect) {
  const auto why = [](const std::string& name) {
    const auto config =
        ReadConfiguration(Config({{"integrations", {{"externalFrameworks", {name}}}}}));
    EXPECT_TRUE(config.has_value()) << name;
    return !config || config->ignored.empty() ? "" : config->ignored.front().why;
  };
  EXPECT_EQ(why("PipelineRun.v1.tekton.dev"), "");
  EXPECT_EQ(why("Foo.v2beta1.example.com"), "");
  EXPECT_EQ(why("pipelineruns.tekton.dev"),
            "\"pipelineruns.tekton.dev\" names a resource, so that no job is of it: write "
            "Kind.version.group, such as \"Kind.v1.tekton.dev\" with the kind that `kubectl "
            "api-resources --api-group tekton.dev` shows");
  EXPECT_THAT(why("pipelineruns.v1beta1.tekton.dev"), HasSubstr("\"Kind.v1beta1.tekton.dev\""));
  EXPECT_THAT(why("PipelineRun.tekton.dev"), HasSubstr("\"Kind.v1.tekton.dev\""));
}

// The block switches the metrics off where it does not switch them on; Kueue does the same.
TEST(Configuration, LocalQueueMetricsAreOnUnlessTheirBlockIsNotEnabled) {
  for (const auto& [metrics, shown] : std::vector<std::pair<nlohmann::json, bool>>{
           {R"({})"_json, true},
           {R"({"localQueueMetrics": null})"_json, true},
           {R"({"localQueueMetrics": {}})"_json, false},
           {R"({"localQueueMetrics": {"enable": false}})"_json, false},
           {R"({"localQueueMetrics": {"enable": true}})"_json, true}}) {
    const auto config = ReadConfiguration(Config({{"metrics", metrics}}));
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->admission.metrics.local_queues, shown) << metrics;
  }
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
    "health": {"healthProbeBindAddress": "127.0.0.1:9"},
    "metrics": {"bindAddress": ":8444"}})"_json));
  ASSERT_TRUE(config) << config.error().message;
  const PodsReadyOptions& ready = config->admission.driver.pods_ready;
  EXPECT_EQ(ready.timeout, 5min);
  EXPECT_EQ(ready.recovery_timeout, 5min);
  EXPECT_EQ(ready.backoff_limit_count, 3);
  EXPECT_EQ(ready.backoff_base, 10s);
  const SchedulerConfig& scheduler = config->admission.driver.scheduler;
  EXPECT_EQ(scheduler.pods_ready_requeuing, queue::RequeuingTimestamp::kCreation);
  ASSERT_TRUE(scheduler.fair_sharing.has_value());
  EXPECT_THAT(scheduler.fair_sharing->rules, ElementsAre(FairSharingRule::kLessThanInitialShare));
  EXPECT_THAT(scheduler.excluded_resource_prefixes, ElementsAre("example.com/"));
  ASSERT_EQ(scheduler.transformations.size(), 1U);
  EXPECT_EQ(scheduler.transformations[0].outputs.at("example.com/memory").ToString(), "5Gi");
  EXPECT_FALSE(scheduler.gates.partial_admission);
  EXPECT_EQ(config->program.leader.enabled, false);
  EXPECT_TRUE(config->managed_jobs_namespace_selector->Matches({{"a", "b"}}));
  EXPECT_THAT(FieldsOf(*config), ElementsAre("featureGates.MultiKueue"));
  EXPECT_EQ(config->program.endpoints.metrics_address, ":8444");
  EXPECT_EQ(config->program.endpoints.health_address, "127.0.0.1:9");
}

TEST(Configuration, EnableFieldsOfV1beta1SwitchTheirBlocksOff) {
  const auto config = ReadConfiguration(
      Config(R"({"waitForPodsReady": {"enable": false}, "fairSharing": {"enable": false}})"_json,
             "v1beta1"));
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->admission.driver.pods_ready.enabled);
  EXPECT_FALSE(config->admission.driver.scheduler.fair_sharing.has_value());
}

TEST(Configuration, ReadsTheRecoveryTimeoutByVersion) {
  struct Row {
    const char* version;
    const char* block;
    Duration timeout;
    std::optional<Duration> recovery;
  };
  const std::vector<Row> rows = {
      {"v1beta2", R"({})", 30min, 30min},
      {"v1beta2", R"({"timeout": "5m"})", 5min, 5min},
      {"v1beta2", R"({"timeout": "5m", "recoveryTimeout": "1m"})", 5min, 1min},
      {"v1beta2", R"({"timeout": "5m", "recoveryTimeout": "0s"})", 5min, std::nullopt},
      {"v1beta2", R"({"timeout": "500ms", "recoveryTimeout": "1.5s"})", 500ms, 1500ms},
      {"v1beta1", R"({"enable": true})", 5min, std::nullopt},
      {"v1beta1", R"({"enable": true, "recoveryTimeout": "1m"})", 5min, 1min},
  };
  for (const Row& row : rows) {
    const auto config = ReadConfiguration(
        Config({{"waitForPodsReady", nlohmann::json::parse(row.block)}}, row.version));
    ASSERT_TRUE(config) << row.block << ": " << config.error().message;
    EXPECT_EQ(config->admission.driver.pods_ready.timeout, row.timeout) << row.version << row.block;
    EXPECT_EQ(config->admission.driver.pods_ready.recovery_timeout, row.recovery)
        << row.version << row.block;
  }
}

TEST(Configuration, BlockAdmissionIsTheDefaultOfV1beta1Only) {
  struct Row {
    const char* version;
    const char* fields;
    bool enabled;
    bool blocks;
  };
  const std::vector<Row> rows = {
      {"v1beta2", R"({"waitForPodsReady": {}})", true, false},
      {"v1beta2", R"({"waitForPodsReady": {"blockAdmission": true}})", true, true},
      {"v1beta2", R"({"waitForPodsReady": {"blockAdmission": true},
                      "featureGates": {"DisableWaitForPodsReady": true}})",
       false, false},
      {"v1beta1", R"({"waitForPodsReady": {"enable": true}})", true, true},
      {"v1beta1", R"({"waitForPodsReady": {"enable": true, "blockAdmission": false}})", true,
       false},
      {"v1beta1", R"({"waitForPodsReady": {"blockAdmission": true}})", false, false},
      {"v1beta1", R"({})", true, false},
  };
  for (const Row& row : rows) {
    const auto config = ReadConfiguration(Config(nlohmann::json::parse(row.fields), row.version));
    ASSERT_TRUE(config) << row.fields << ": " << config.error().message;
    EXPECT_EQ(config->admission.driver.pods_ready.enabled, row.enabled)
        << row.version << row.fields;
    EXPECT_EQ(config->admission.driver.scheduler.block_admission, row.blocks)
        << row.version << row.fields;
  }
}

TEST(Configuration, ReadsSharingRetentionAndMetrics) {
  const auto config = ReadConfiguration(Config(R"({
    "admissionFairSharing": {"usageHalfLifeTime": "168h", "usageSamplingInterval": "2m",
                             "resourceWeights": {"cpu": 2, "nvidia.com/gpu": 10.5}},
    "objectRetentionPolicies": {"workloads": {"afterFinished": "1h",
                                              "afterDeactivatedByKueue": "0s"}},
    "resources": {"quotaCheckStrategy": "IgnoreUndeclared"},
    "metrics": {"enableClusterQueueResources": true,
                "localQueueMetrics": {"enable": true, "selector": {"matchLabels": {"a": "b"}}}},
    "featureGates": {"LocalQueueMetrics": true, "AdmissionFairSharing": true}})"_json));
  ASSERT_TRUE(config) << config.error().message;
  const auto& sharing = config->admission.driver.scheduler.admission_fair_sharing;
  ASSERT_TRUE(sharing.has_value());
  EXPECT_EQ(sharing->half_life, Duration(168h));
  EXPECT_EQ(sharing->sampling_interval, Duration(2min));
  EXPECT_EQ(sharing->resource_weights.at("nvidia.com/gpu"), 10.5);
  EXPECT_EQ(config->admission.driver.keep_finished, Duration(1h));
  EXPECT_EQ(config->keep_deactivated, Duration(0s));
  EXPECT_TRUE(config->admission.driver.scheduler.ignore_undeclared_resources);
  EXPECT_TRUE(config->admission.metrics.cluster_queue_resources);
  EXPECT_TRUE(config->admission.metrics.local_queues);
  EXPECT_TRUE(config->admission.metrics.local_queue_selector->Matches({{"a", "b"}}));
  EXPECT_THAT(config->ignored, IsEmpty());
}

TEST(Configuration, DisabledGatesOverrideTheBlocksOfTheirFeatures) {
  const auto config = ReadConfiguration(Config(R"({
    "admissionFairSharing": {"usageHalfLifeTime": "1h"},
    "metrics": {"localQueueMetrics": {"enable": true}},
    "featureGates": {"AdmissionFairSharing": false, "LocalQueueMetrics": false}})"_json));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->admission.driver.scheduler.admission_fair_sharing.has_value());
  EXPECT_FALSE(config->admission.metrics.local_queues);
}

// Documents that are refused, and how.
using Mistakes = std::vector<std::pair<nlohmann::json, std::string>>;

void ExpectMistakes(const Mistakes& rows) {
  for (const auto& [document, message] : rows) {
    const auto config = ReadConfiguration(document);
    ASSERT_FALSE(config) << message;
    EXPECT_EQ(config.error().message, message);
  }
}

TEST(Configuration, ErrorNamesTheFieldAndTheMistake) {
  ExpectMistakes({
      {Config({{"waitForPodsready", 1}}), "waitForPodsready: unknown field"},
      {Config({{"waitForPodsReady", {{"timeout", "soon"}}}}),
       "waitForPodsReady.timeout: \"soon\" is not a duration such as 30s or 5m"},
      {Config({{"fairSharing", {{"preemptionStrategies", {"Fair"}}}}}),
       "fairSharing.preemptionStrategies[0]: \"Fair\" is not one of LessThanOrEqualToFinalShare, "
       "LessThanInitialShare"},
      {Config({{"featureGates", {{"PartialAdmission", "no"}}}}),
       "featureGates.PartialAdmission: expected true or false, got string"},
      {Config({{"featureGates", {{"NoSuchGate", true}}}}),
       "featureGates.NoSuchGate: Kueue has no feature gate of this name"},
      {Config({{"waitForPodsReady", {{"timeout", "-5m"}}}}),
       "waitForPodsReady.timeout: must not be negative"},
      {Config({{"waitForPodsReady", {{"enable", true}}}}),
       "waitForPodsReady.enable: unknown field: in v1beta2 the block itself switches it on"},
      {Config({{"waitForPodsReady", {{"requeuingStrategy", {{"backoffLimitCount", -1}}}}}}),
       "waitForPodsReady.requeuingStrategy.backoffLimitCount: must not be negative"},
      {Config({{"admissionFairSharing", {{"resourceWeights", {{"cpu", -1}}}}}}),
       "admissionFairSharing.resourceWeights.cpu: must not be negative"},
      {Config({{"objectRetentionPolicies", {{"jobs", 1}}}}),
       "objectRetentionPolicies.jobs: unknown field"},
      {Config({{"integrations", {{"frameworks", {"batch/jobs"}}}}}),
       "integrations.frameworks[0]: \"batch/jobs\" is no known kind of job"},
      {Config(R"({"resources": {"transformations": [{"input": "a"}, {"input": "a"}]}})"_json),
       "resources.transformations[1].input: \"a\" comes twice"},
      {Config(R"({"resources": {"quotaCheckStrategy": "IgnoreUndeclared",
                                "excludeResourcePrefixes": ["a"]}})"_json),
       "resources.quotaCheckStrategy: excludeResourcePrefixes is not allowed with "
       "IgnoreUndeclared"},
      {Config(R"({"managedJobsNamespaceSelector": {}})"_json),
       "managedJobsNamespaceSelector: must not match the namespace \"kube-system\": exclude it by "
       "its label kubernetes.io/metadata.name"},
      {Config(R"({"namespace": "queues", "managedJobsNamespaceSelector": {"matchExpressions": [
                  {"key": "kubernetes.io/metadata.name", "operator": "NotIn",
                   "values": ["kube-system"]}]}})"_json),
       "managedJobsNamespaceSelector: must not match the namespace \"queues\": exclude it by its "
       "label kubernetes.io/metadata.name"},
      {nlohmann::json{{"apiVersion", "config.kueue.x-k8s.io/v1beta2"}, {"kind", "Config"}},
       "apiVersion must be config.kueue.x-k8s.io/v1beta2 or v1beta1, kind Configuration"},
      {nlohmann::json{{"kind", "Configuration"}},
       "apiVersion must be config.kueue.x-k8s.io/v1beta2 or v1beta1, kind Configuration"},
      {nlohmann::json(3),
       "apiVersion must be config.kueue.x-k8s.io/v1beta2 or v1beta1, kind Configuration"},
  });
}

TEST(Configuration, ErrorNamesSelectorsDuplicatesAndGatesWithoutMeaning) {
  ExpectMistakes({
      {Config(R"({"managedJobsNamespaceSelector": {"matchLabel": {"a": "b"}}})"_json),
       "managedJobsNamespaceSelector.matchLabel: unknown field"},
      {Config(R"({"managedJobsNamespaceSelector": {"matchLabels": {"a b": "c"}}})"_json),
       "managedJobsNamespaceSelector.matchLabels: \"a b\" is not a label's key"},
      {Config(R"({"managedJobsNamespaceSelector": {"matchExpressions": [
                  {"key": "a", "operator": "Is", "values": ["b"]}]}})"_json),
       "managedJobsNamespaceSelector.matchExpressions[0].operator: \"Is\" is not one of In, NotIn, "
       "Exists, DoesNotExist"},
      {Config(R"({"metrics": {"localQueueMetrics": {"selector": {"matchExpressions": [
                  {"key": "a", "operator": "In"}]}}}})"_json),
       "metrics.localQueueMetrics.selector.matchExpressions[0].values: must be specified with In"},
      {Config(R"({"metrics": {"localQueueMetrics": {"selector": {"matchExpressions": [
                  {"key": "a", "operator": "Exists", "values": ["b"]}]}}}})"_json),
       "metrics.localQueueMetrics.selector.matchExpressions[0].values: must not be specified with "
       "Exists"},
      {Config(R"({"metrics": {"localQueueMetrics": {"selector": {},
                                                    "localQueueSelector": {}}}})"_json),
       "metrics.localQueueMetrics.localQueueSelector: is another name of selector: give one of "
       "them"},
      {Config(R"({"resources": {"transformations": [{"input": "a", "output": {}}]}})"_json),
       "resources.transformations[0].output: unknown field"},
      {Config({{"integrations", {{"frameworks", {"batch/job", "batch/job"}}}}}),
       "integrations.frameworks[1]: \"batch/job\" comes twice"},
      {Config(R"({"integrations": {"podOptions": {}}})"_json),
       "integrations.podOptions: unknown field: it is gone since v1beta2"},
      {Config(R"({"featureGates": {"AllAlpha": true}})"_json),
       "featureGates.AllAlpha: Berth takes gates one by one: name those that are meant"},
      {Config(R"({"featureGates": {"TopologyAwareScheduling": false,
                                   "TASBalancedPlacement": true}})"_json),
       "featureGates.TASBalancedPlacement: does nothing while TopologyAwareScheduling is off"},
  });
}

TEST(Configuration, SwitchesOwnRulesByName) {
  const auto read = [](const nlohmann::json& own) {
    return *ReadConfiguration({{"apiVersion", "config.kueue.x-k8s.io/v1beta2"},
                               {"kind", "Configuration"},
                               {"berth", own}});
  };
  const auto enabled = [](const Configuration& config) {
    return config.admission.driver.scheduler.own_rules.NamesOfEnabled();
  };
  EXPECT_EQ(Configuration().admission.driver.scheduler.own_rules.NamesOfDisabled(), "");
  Configuration config = read({{"decisions", "Kueue"}, {"rules", {{"hear-late-answers", true}}}});
  EXPECT_EQ(enabled(config), "hear-late-answers");
  SetDecisions(config, Decisions::kBerth);
  EXPECT_EQ(config.admission.driver.scheduler.own_rules.NamesOfDisabled(), "");
  config = read({{"rules", {{"no-preemption-in-return", false}, {"wake-the-flavor", false}}},
                 {"preemptionPlanTimeout", "90s"}});
  EXPECT_EQ(config.admission.driver.scheduler.own_rules.NamesOfDisabled(),
            "wake-the-flavor, no-preemption-in-return");
  EXPECT_EQ(config.admission.driver.scheduler.plan_timeout, 90s);
}

TEST(Configuration, ManagedOwnersFollowTheFrameworks) {
  Configuration config;
  EXPECT_EQ(ManagedOwners(config), (std::vector<OwnerKind>{{"batch", "Job"}}));
  config.external_frameworks = {"Foo.v1.example.com"};
  config.frameworks = {"pod"};
  EXPECT_EQ(ManagedOwners(config), (std::vector<OwnerKind>{{"example.com", "Foo"}}));
}

}  // namespace
}  // namespace berth::admission
