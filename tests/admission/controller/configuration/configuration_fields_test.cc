// Goal: no field of Kueue's Configuration is silently ignored: each field is read, named in a
// warning with the reason, or refused with its path. Method: one row per field, as
// docs/reference/configuration.md lists them.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration.h"

namespace berth::admission {
namespace {

enum class Fate { kRead, kWarned, kRefused };
struct FieldRow {
  const char* fields;  // a Configuration's one field that is no default
  Fate fate;
  const char* path = "";  // named in the warning or refusal
};

constexpr FieldRow kRows[] = {
    {R"({"namespace": "queues"})", Fate::kRead},
    {R"({"manageJobsWithoutQueueName": true})", Fate::kRead},
    {R"({"managedJobsNamespaceSelector": {"matchLabels": {"a": "b"}}})", Fate::kRead},
    {R"({"waitForPodsReady": {"timeout": "1m"}})", Fate::kRead},
    {R"({"waitForPodsReady": {"recoveryTimeout": "1m"}})", Fate::kRead},
    {R"({"waitForPodsReady": {"blockAdmission": true}})", Fate::kRead},
    {R"({"waitForPodsReady": {"requeuingStrategy": {"timestamp": "Creation"}}})", Fate::kRead},
    {R"({"waitForPodsReady": {"requeuingStrategy": {"backoffLimitCount": 1}}})", Fate::kRead},
    {R"({"waitForPodsReady": {"requeuingStrategy": {"backoffBaseSeconds": 1}}})", Fate::kRead},
    {R"({"waitForPodsReady": {"requeuingStrategy": {"backoffMaxSeconds": 1}}})", Fate::kRead},
    {R"({"fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]}})", Fate::kRead},
    {R"({"admissionFairSharing": {"usageHalfLifeTime": "1h"}})", Fate::kRead},
    {R"({"admissionFairSharing": {"usageSamplingInterval": "1m"}})", Fate::kRead},
    {R"({"admissionFairSharing": {"resourceWeights": {"cpu": 2}}})", Fate::kRead},
    {R"({"resources": {"excludeResourcePrefixes": ["a/"]}})", Fate::kRead},
    {R"({"resources": {"transformations": [{"input": "a", "strategy": "Replace"}]}})", Fate::kRead},
    {R"({"resources": {"quotaCheckStrategy": "IgnoreUndeclared"}})", Fate::kRead},
    {R"({"resources": {"deviceClassMappings": [{"name": "a", "deviceClassNames": ["c", "d"]}]}})",
     Fate::kRead},
    {R"({"resources": {"deviceClassMappings": [{"name": "a"}]}})", Fate::kRefused,
     "resources.deviceClassMappings[0].deviceClassNames"},
    {R"({"resources": {"deviceClassMappings": [{"name": "a", "deviceClassNames": ["c"]},
                                               {"name": "b", "deviceClassNames": ["c"]}]}})",
     Fate::kRefused, "resources.deviceClassMappings[1].deviceClassNames"},
    {R"({"resources": {"deviceClassMappings": [{"name": "a", "deviceClassNames": ["C!"]}]}})",
     Fate::kRefused, "resources.deviceClassMappings[0].deviceClassNames"},
    {R"({"resources": {"deviceClassMappings": [{"name": "a b", "deviceClassNames": ["c"]}]}})",
     Fate::kRefused, "resources.deviceClassMappings[0].name"},
    {R"({"resources": {"deviceClassMappings": [{"name": "a", "deviceClassNames": ["c"],
                                                "sources": []}]}})",
     Fate::kRefused, "resources.deviceClassMappings[0].sources"},
    {R"({"resources": {"deviceClassMappings": [{"name": "a", "deviceClassNames": ["c"], "sources": [
      {"counter": {"name": "memory", "driver": "d.example.com",
                   "deviceSelector": {"cel": {"expression": "true"}}}}]}]}})",
     Fate::kRead},
    {R"({"resources": {"deviceClassMappings": [{"name": "a", "deviceClassNames": ["c"], "sources": [
      {"counter": {"name": "memory", "driver": "d.example.com",
                   "deviceSelector": {"cel": {"expression": "(" }}}}]}]}})",
     Fate::kRefused, "resources.deviceClassMappings[0].sources[0].counter.deviceSelector"},
    {R"({"resources": {"deviceClassMappings": [{"name": "a", "deviceClassNames": ["c"],
                                                "sources": [{"capacity": {}}]}]}})",
     Fate::kRefused, "resources.deviceClassMappings[0].sources[0].capacity"},
    {R"({"objectRetentionPolicies": {"workloads": {"afterFinished": "1h"}}})", Fate::kRead},
    {R"({"objectRetentionPolicies": {"workloads": {"afterDeactivatedByKueue": "1h"}}})",
     Fate::kRead},
    {R"({"integrations": {"frameworks": ["batch/job"]}})", Fate::kRead},
    {R"({"integrations": {"labelKeysToCopy": ["team"]}})", Fate::kRead},
    {R"({"integrations": {"externalFrameworks": ["Foo.v1.example.com"]}})", Fate::kRead},
    {R"({"integrations": {"externalFrameworks": ["Foo"]}})", Fate::kRefused,
     "integrations.externalFrameworks[0]"},
    {R"({"berth": {"decisions": "Kueue"}})", Fate::kRead},
    {R"({"berth": {"decisions": "Mine"}})", Fate::kRefused, "berth.decisions"},
    {R"({"berth": {"rules": {"no-preemption-in-return": false}}})", Fate::kRead},
    {R"({"berth": {"rules": {"no-such-rule": false}}})", Fate::kRefused,
     "berth.rules.no-such-rule"},
    {R"({"berth": {"preemptionPlanTimeout": "1m"}})", Fate::kRead},
    {R"({"berth": {"preemptionPlanTimeout": "0s"}})", Fate::kRefused,
     "berth.preemptionPlanTimeout"},
    {R"({"metrics": {"bindAddress": ":1"}})", Fate::kRead},
    {R"({"metrics": {"bindAddress": 1}})", Fate::kRefused, "metrics.bindAddress"},
    {R"({"metrics": {"enableClusterQueueResources": true}})", Fate::kRead},
    {R"({"metrics": {"localQueueMetrics": {"enable": true, "selector": {}}}})", Fate::kRead},
    {R"({"metrics": {"customLabels": [{"name": "a"}]}})", Fate::kWarned, "metrics.customLabels"},
    {R"({"metrics": {"customLabels": [{"name": "a"}]}, "featureGates": {"CustomMetricLabels": true}})",
     Fate::kRead},
    {R"({"metrics": {"customLabels": [{"name": "1a"}]}})", Fate::kRefused,
     "metrics.customLabels[0].name"},
    {R"({"metrics": {"customLabels": [{"name": "a"}, {"name": "a"}]}})", Fate::kRefused,
     "metrics.customLabels[1].name"},
    {R"({"metrics": {"customLabels": [{"name": "a", "sourceLabelKey": "b",
                                       "sourceAnnotationKey": "c"}]}})",
     Fate::kRefused, "metrics.customLabels[0].sourceAnnotationKey"},
    {R"({"metrics": {"customLabels": [{"name": "a", "sourceKind": "Workload"}]}})", Fate::kRefused,
     "metrics.customLabels[0].trackedValues"},
    {R"({"metrics": {"customLabels": [{"name": "a", "sourceKind": "Node"}]}})", Fate::kRefused,
     "metrics.customLabels[0].sourceKind"},
    {R"({"metrics": {"customLabels": [{"name": "a", "trackedValues": ["x", "x"]}]}})",
     Fate::kRefused, "metrics.customLabels[0].trackedValues"},
    {R"({"leaderElection": {"leaderElect": false}})", Fate::kRead},
    {R"({"leaderElection": {"leaseDuration": "20s"}})", Fate::kRead},
    {R"({"leaderElection": {"leaseDuration": "10s"}})", Fate::kRefused,
     "leaderElection.leaseDuration"},
    {R"({"leaderElection": {"leaseDuration": "500ms", "renewDeadline": "400ms",
                            "retryPeriod": "100ms"}})",
     Fate::kRefused, "leaderElection.leaseDuration"},
    {R"({"leaderElection": {"renewDeadline": "5s"}})", Fate::kRead},
    {R"({"leaderElection": {"renewDeadline": "2400ms"}})", Fate::kRefused,
     "leaderElection.renewDeadline"},
    {R"({"leaderElection": {"retryPeriod": "1500ms"}})", Fate::kRead},
    {R"({"leaderElection": {"retryPeriod": "9s"}})", Fate::kRefused,
     "leaderElection.renewDeadline"},
    {R"({"leaderElection": {"resourceName": "a"}})", Fate::kRead},
    {R"({"leaderElection": {"resourceName": "A"}})", Fate::kRefused, "leaderElection.resourceName"},
    {R"({"leaderElection": {"resourceLock": "leases"}})", Fate::kRead},
    {R"({"leaderElection": {"resourceLock": "configmaps"}})", Fate::kRefused,
     "leaderElection.resourceLock"},
    {R"({"leaderElection": {"resourceNamespace": "a"}})", Fate::kRead},
    {R"({"featureGates": {"PartialAdmission": false}})", Fate::kRead},
    {R"({"featureGates": {"MultiKueue": true}})", Fate::kWarned, "featureGates.MultiKueue"},
    {R"({"featureGates": {"ConcurrentAdmission": true}})", Fate::kRefused,
     "featureGates.ConcurrentAdmission"},
    {R"({"featureGates": {"ReclaimablePods": false}})", Fate::kRead},
    {R"({"featureGates": {"WorkloadPriorityClassDefaulting": false}})", Fate::kRead},
    {R"({"featureGates": {"WorkloadIdentifierAnnotations": true}})", Fate::kRead},
    {R"({"featureGates": {"WorkloadIdentifierAnnotations": false}})", Fate::kWarned,
     "featureGates.WorkloadIdentifierAnnotations"},
    {R"({"featureGates": {"LWSImmutableGroupSize": true}})", Fate::kRead},
    {R"({"featureGates": {"PodIntegrationValidateGroupOwner": true}})", Fate::kRead},
    {R"({"featureGates": {"QuotaCheckStrategy": false}})", Fate::kRead},
    {R"({"featureGates": {"CustomMetricLabels": true}})", Fate::kRead},
    {R"({"featureGates": {"TASRespectNodeAffinityPreferred": true}})", Fate::kRead},
    {R"({"featureGates": {"TASRespectNodeAffinityPreferred": true,
                          "TopologyAwareScheduling": false}})",
     Fate::kRefused, "featureGates.TASRespectNodeAffinityPreferred"},
    {R"({"webhook": {"port": 1}})", Fate::kRead},
    {R"({"webhook": {"port": 65536}})", Fate::kRefused, "webhook.port"},
    {R"({"webhook": {"host": "127.0.0.1"}})", Fate::kRead},
    {R"({"webhook": {"certDir": "/c"}})", Fate::kWarned, "webhook.certDir"},
    {R"({"webhook": {"certDir": "/c"}, "internalCertManagement": {"enable": false}})", Fate::kRead},
    {R"({"health": {"healthProbeBindAddress": ":1"}})", Fate::kRead},
    {R"({"health": {"healthProbeBindAddress": 1}})", Fate::kRefused,
     "health.healthProbeBindAddress"},
    {R"({"health": {"readinessEndpointName": "a"}})", Fate::kRead},
    {R"({"health": {"readinessEndpointName": "a/b"}})", Fate::kRefused,
     "health.readinessEndpointName"},
    {R"({"health": {"livenessEndpointName": "/a"}})", Fate::kRead},
    {R"({"health": {"livenessEndpointName": "readyz"}})", Fate::kRefused,
     "health.readinessEndpointName"},
    {R"({"pprofBindAddress": ":1"})", Fate::kWarned, "pprofBindAddress"},
    {R"({"controller": {"groupKindConcurrency": {"Job.batch": 5}}})", Fate::kRead},
    {R"({"controller": {"groupKindConcurrency": {"Job.batch": -1}}})", Fate::kRefused,
     "controller.groupKindConcurrency.Job.batch"},
    {R"({"controller": {"groupKindConcurrency": {"JobSet.jobset.x-k8s.io": 5}}})", Fate::kRead},
    {R"({"controller": {"groupKindConcurrency": {"PyTorchJob.kubeflow.org": 5}}})", Fate::kRead},
    {R"({"controller": {"groupKindConcurrency": {"StatefulSet.apps": 5}}})", Fate::kRead},
    {R"({"controller": {"groupKindConcurrency": {"JobSet.batch": 5}}})", Fate::kWarned,
     "controller.groupKindConcurrency.JobSet.batch"},
    {R"({"controller": {"groupKindConcurrency": {"Node": 1}}})", Fate::kWarned,
     "controller.groupKindConcurrency.Node"},
    {R"({"controller": {"cacheSyncTimeout": 1}})", Fate::kWarned, "controller.cacheSyncTimeout"},
    {R"({"tls": {"minVersion": "VersionTLS13"}})", Fate::kWarned, "tls"},
    {R"({"internalCertManagement": {"enable": false}})", Fate::kRead},
    {R"({"internalCertManagement": {"webhookServiceName": "s"}})", Fate::kRead},
    {R"({"internalCertManagement": {"webhookServiceName": "a.b"}})", Fate::kRefused,
     "internalCertManagement.webhookServiceName"},
    {R"({"internalCertManagement": {"webhookSecretName": "s"}})", Fate::kRead},
    {R"({"internalCertManagement": {"webhookSecretName": "S"}})", Fate::kRefused,
     "internalCertManagement.webhookSecretName"},
    {R"({"clientConnection": {"qps": 1.5}})", Fate::kRead},
    {R"({"clientConnection": {"qps": 0.0001}})", Fate::kRefused, "clientConnection.qps"},
    {R"({"clientConnection": {"burst": -1}})", Fate::kRefused, "clientConnection.burst"},
    {R"({"multiKueue": {"origin": "a"}})", Fate::kWarned, "multiKueue"},
    {R"({"visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": 1}})", Fate::kRead},
    {R"({"visibilityServer": {"bindPort": -1}})", Fate::kRefused, "visibilityServer.bindPort"},
};

// Fields of v1beta1 only.
constexpr FieldRow kOldRows[] = {
    {R"({"integrations": {"podOptions": {}}})", Fate::kWarned, "integrations.podOptions"},
    {R"({"queueVisibility": {}})", Fate::kWarned, "queueVisibility"},
};

void ExpectFate(const FieldRow& row, const std::string& version, Fate fate) {
  SCOPED_TRACE(version + " " + row.fields);
  nlohmann::json document = nlohmann::json::parse(row.fields);
  document["apiVersion"] = "config.kueue.x-k8s.io/" + version;
  document["kind"] = "Configuration";
  const auto config = ReadConfiguration(document);
  ASSERT_EQ(static_cast<bool>(config), fate != Fate::kRefused);
  if (!config) {
    EXPECT_EQ(config.error().message.rfind(std::string(row.path) + ": ", 0), 0U)
        << config.error().message;
    return;
  }
  ASSERT_EQ(config->ignored.size(), fate == Fate::kWarned ? 1U : 0U);
  if (fate != Fate::kWarned) return;
  EXPECT_EQ(config->ignored[0].field, row.path);
  EXPECT_FALSE(config->ignored[0].why.empty());
}

TEST(ConfigurationFields, EachFieldIsReadIgnoredWithAWarningOrRejected) {
  for (const char* version : {"v1beta1", "v1beta2"}) {
    for (const FieldRow& row : kRows) ExpectFate(row, version, row.fate);
  }
  for (const FieldRow& row : kOldRows) {
    ExpectFate(row, "v1beta1", row.fate);
    ExpectFate(row, "v1beta2", Fate::kRefused);
  }
}

// An unknown field is refused at every depth.
TEST(ConfigurationFields, RejectsUnknownFieldsInEveryBlock) {
  for (const char* pointer :
       {"/x", "/waitForPodsReady/x", "/waitForPodsReady/requeuingStrategy/x", "/fairSharing/x",
        "/admissionFairSharing/x", "/resources/x", "/objectRetentionPolicies/x",
        "/objectRetentionPolicies/workloads/x", "/metrics/x", "/metrics/localQueueMetrics/x",
        "/integrations/x", "/leaderElection/x", "/health/x", "/webhook/x", "/controller/x",
        "/internalCertManagement/x", "/clientConnection/x"}) {
    nlohmann::json document = {{"apiVersion", "config.kueue.x-k8s.io/v1beta2"},
                               {"kind", "Configuration"}};
    document[nlohmann::json::json_pointer(pointer)] = 1;
    const auto config = ReadConfiguration(document);
    ASSERT_FALSE(config) << pointer;
    EXPECT_NE(config.error().message.find("x: unknown field"), std::string::npos)
        << config.error().message;
  }
}

Configuration ProgramOf(const char* fields) {
  nlohmann::json document = nlohmann::json::parse(fields);
  document["apiVersion"] = "config.kueue.x-k8s.io/v1beta2";
  document["kind"] = "Configuration";
  const auto config = ReadConfiguration(document);
  EXPECT_TRUE(config) << config.error().message;
  return config ? *config : Configuration{};
}

TEST(ConfigurationFields, ReadsTheValuesOfTheProgramsFields) {
  const Configuration config = ProgramOf(R"({
    "webhook": {"host": "::1", "port": 9000, "certDir": "/certs"},
    "internalCertManagement": {"enable": false, "webhookServiceName": "s", "webhookSecretName": "t"},
    "health": {"readinessEndpointName": "ready", "livenessEndpointName": "/live"},
    "clientConnection": {"qps": 1.5, "burst": 4},
    "controller": {"groupKindConcurrency": {"Job.batch": 7, "Workload.kueue.x-k8s.io": 3}},
    "leaderElection": {"leaseDuration": "4s", "renewDeadline": "2500ms", "retryPeriod": "500ms",
                       "resourceName": "l", "resourceNamespace": "n"}})");
  const ProgramOptions& program = config.program;
  EXPECT_EQ(program.webhook.host, "::1");
  EXPECT_EQ(program.webhook.port, 9000);
  EXPECT_EQ(program.webhook.certificate_folder, "/certs");
  EXPECT_FALSE(program.certificate.internal);
  EXPECT_EQ(program.certificate.service, "s");
  EXPECT_EQ(program.certificate.secret, "t");
  EXPECT_EQ(program.endpoints.readiness_endpoint, "ready");
  EXPECT_EQ(program.endpoints.liveness_endpoint, "live");
  ASSERT_TRUE(program.request_limit);
  EXPECT_EQ(program.request_limit->per_second, 1.5);
  EXPECT_EQ(program.request_limit->burst, 4);
  EXPECT_EQ(program.concurrency,
            (std::map<std::string, std::size_t>{{"Job.batch", 7}, {"Workload.kueue.x-k8s.io", 3}}));
  EXPECT_EQ(program.leader.lease_duration, std::chrono::seconds(4));
  EXPECT_EQ(program.leader.renew_deadline, std::chrono::milliseconds(2500));
  EXPECT_EQ(program.leader.retry_period, std::chrono::milliseconds(500));
  EXPECT_EQ(program.leader.resource_name, "l");
  EXPECT_EQ(program.leader.resource_namespace, "n");
  EXPECT_FALSE(ProgramOf("{}").program.request_limit) << "no limit where none is set";
  EXPECT_FALSE(ProgramOf(R"({"clientConnection": {"qps": -1}})").program.request_limit);
}

// A Go program that changes one field writes the zero values of all others. Each row has the zero
// values of one part of the Configuration, as Go's encoding writes them.
TEST(ConfigurationFields, ZeroValuesAreTheDefaults) {
  for (const char* fields :
       {R"({"namespace": "", "manageJobsWithoutQueueName": false})",
        R"({"managedJobsNamespaceSelector": null, "featureGates": null})",
        R"({"leaderElection": {"leaderElect": null, "leaseDuration": "0s", "renewDeadline": "0s",
            "retryPeriod": "0s", "resourceLock": "", "resourceName": "", "resourceNamespace": ""}})",
        R"({"leaderElection": null})", R"({"webhook": {"host": "", "port": 0, "certDir": ""}})",
        R"({"internalCertManagement": {"enable": null, "webhookServiceName": "",
            "webhookSecretName": ""}})",
        R"({"health": {"healthProbeBindAddress": "", "readinessEndpointName": "",
            "livenessEndpointName": ""}})",
        R"({"metrics": {"bindAddress": "", "enableClusterQueueResources": false,
            "customLabels": null, "localQueueMetrics": null}})",
        R"({"clientConnection": {"qps": 0, "burst": 0}})",
        R"({"controller": {"groupKindConcurrency": {"Job.batch": 0}, "cacheSyncTimeout": null}})",
        R"({"integrations": {"frameworks": [], "externalFrameworks": null,
            "labelKeysToCopy": null}})",
        R"({"resources": {"excludeResourcePrefixes": null, "transformations": [],
            "quotaCheckStrategy": "", "deviceClassMappings": null}})",
        R"({"visibilityServer": {"bindAddress": "", "bindPort": 0}})",
        R"({"objectRetentionPolicies": {"workloads": {"afterFinished": null,
            "afterDeactivatedByKueue": null}}})",
        R"({"pprofBindAddress": "", "tls": null, "multiKueue": null})"}) {
    SCOPED_TRACE(fields);
    ExpectFate({.fields = fields, .fate = Fate::kRead}, "v1beta1", Fate::kRead);
    ExpectFate({.fields = fields, .fate = Fate::kRead}, "v1beta2", Fate::kRead);
    const Configuration config = ProgramOf(fields);
    const Configuration none = ProgramOf("{}");
    EXPECT_EQ(config.namespace_name, none.namespace_name);
    EXPECT_EQ(config.frameworks, none.frameworks);
    const ProgramOptions& program = config.program;
    EXPECT_EQ(program.webhook.port, none.program.webhook.port);
    EXPECT_EQ(program.webhook.certificate_folder, none.program.webhook.certificate_folder);
    EXPECT_EQ(program.certificate.service, none.program.certificate.service);
    EXPECT_EQ(program.certificate.secret, none.program.certificate.secret);
    EXPECT_EQ(program.endpoints.readiness_endpoint, none.program.endpoints.readiness_endpoint);
    EXPECT_EQ(program.visibility.port, none.program.visibility.port);
    EXPECT_EQ(program.leader.enabled, none.program.leader.enabled);
    EXPECT_EQ(program.leader.resource_name, none.program.leader.resource_name);
    EXPECT_EQ(program.leader.lease_duration, none.program.leader.lease_duration);
    EXPECT_EQ(program.leader.renew_deadline, none.program.leader.renew_deadline);
    EXPECT_EQ(program.leader.retry_period, none.program.leader.retry_period);
    EXPECT_FALSE(program.request_limit);
    EXPECT_TRUE(program.concurrency.empty());
  }
}

// In a block whose presence means something, zeros inside are defaults too.
TEST(ConfigurationFields, ZeroValuesInAGivenBlockAreTheDefaults) {
  const Configuration ready = ProgramOf(R"({"waitForPodsReady": {
    "timeout": "0s", "recoveryTimeout": null, "blockAdmission": null, "requeuingStrategy":
    {"timestamp": "", "backoffLimitCount": null, "backoffBaseSeconds": null}}})");
  const Configuration bare = ProgramOf(R"({"waitForPodsReady": {}})");
  EXPECT_TRUE(ready.admission.driver.pods_ready.enabled);
  EXPECT_EQ(ready.admission.driver.pods_ready.timeout, std::chrono::minutes(30));
  EXPECT_EQ(ready.admission.driver.pods_ready.recovery_timeout, std::chrono::minutes(30));
  EXPECT_EQ(ready.admission.driver.pods_ready.timeout, bare.admission.driver.pods_ready.timeout);
  EXPECT_EQ(ready.admission.driver.pods_ready.backoff_base,
            bare.admission.driver.pods_ready.backoff_base);
  const Configuration sharing = ProgramOf(R"({"admissionFairSharing": {
    "usageHalfLifeTime": "0s", "usageSamplingInterval": "0s", "resourceWeights": null}})");
  ASSERT_TRUE(sharing.admission.driver.scheduler.admission_fair_sharing);
  EXPECT_EQ(sharing.admission.driver.scheduler.admission_fair_sharing->sampling_interval,
            std::chrono::minutes(5));
  const Configuration connection = ProgramOf(R"({"clientConnection": {"qps": 7, "burst": 0}})");
  ASSERT_TRUE(connection.program.request_limit);
  EXPECT_EQ(connection.program.request_limit->per_second, 7);
  EXPECT_EQ(connection.program.request_limit->burst, RequestLimitOptions{}.burst);
}

TEST(ConfigurationFields, CustomLabelsAreReadWhereTheirGateIsOn) {
  const char* labels = R"("metrics": {"customLabels": [
    {"name": "team"},
    {"name": "cost", "sourceAnnotationKey": "example.com/cost", "sourceKind": "LocalQueue",
     "trackedValues": ["a", "b"]}]})";
  const Configuration on = ProgramOf(
      (std::string("{\"featureGates\": {\"CustomMetricLabels\": true}, ") + labels + "}").c_str());
  using Label = CustomMetricLabel;
  EXPECT_EQ(on.admission.metrics.custom_labels,
            (std::vector<Label>{{.name = "team", .key = "team", .tracked_values = {}},
                                {.name = "cost",
                                 .source = Label::Source::kLocalQueue,
                                 .metadata = Label::Metadata::kAnnotation,
                                 .key = "example.com/cost",
                                 .tracked_values = {"a", "b"}}}));
  const Configuration off = ProgramOf((std::string("{") + labels + "}").c_str());
  EXPECT_TRUE(off.admission.metrics.custom_labels.empty());
}

TEST(ConfigurationFields, DisabledGatesSwitchOffTheirFields) {
  const Configuration config = ProgramOf(R"({
    "resources": {"quotaCheckStrategy": "IgnoreUndeclared", "excludeResourcePrefixes": ["a/"]},
    "featureGates": {"QuotaCheckStrategy": false, "ReclaimablePods": false,
                     "SchedulerLongRequeueInterval": true,
                     "WorkloadPriorityClassDefaulting": false}})");
  EXPECT_EQ(config.admission.driver.wake_up_batch, std::chrono::seconds(10));
  EXPECT_FALSE(config.admission.driver.scheduler.ignore_undeclared_resources);
  EXPECT_FALSE(config.admission.driver.scheduler.gates.reclaimable_pods);
  EXPECT_FALSE(config.default_priority_class);
}

}  // namespace
}  // namespace berth::admission
