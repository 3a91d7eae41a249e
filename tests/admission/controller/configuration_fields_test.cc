// Goal: no field of Kueue's Configuration is silently ignored: each field is read, named in a
// warning with the reason, or refused with its path. Method: one row per field, as
// docs/configuration.md lists them.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/configuration.h"

namespace berth::admission {
namespace {

enum class Fate { kRead, kWarned, kRefused };
struct FieldRow {
  const char* fields;  // of a Configuration with one field that is no default
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
    {R"({"resources": {"deviceClassMappings": [{"name": "a"}]}})", Fate::kRefused,
     "resources.deviceClassMappings"},
    {R"({"objectRetentionPolicies": {"workloads": {"afterFinished": "1h"}}})", Fate::kRead},
    {R"({"objectRetentionPolicies": {"workloads": {"afterDeactivatedByKueue": "1h"}}})",
     Fate::kRead},
    {R"({"integrations": {"frameworks": ["batch/job"]}})", Fate::kRead},
    {R"({"integrations": {"frameworks": ["pod"]}})", Fate::kWarned, "integrations.frameworks: pod"},
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
    {R"({"leaderElection": {"leaderElect": false}})", Fate::kRead},
    {R"({"leaderElection": {"leaseDuration": "1s"}})", Fate::kWarned,
     "leaderElection.leaseDuration"},
    {R"({"leaderElection": {"renewDeadline": "1s"}})", Fate::kWarned,
     "leaderElection.renewDeadline"},
    {R"({"leaderElection": {"retryPeriod": "1s"}})", Fate::kWarned, "leaderElection.retryPeriod"},
    {R"({"leaderElection": {"resourceName": "a"}})", Fate::kWarned, "leaderElection.resourceName"},
    {R"({"leaderElection": {"resourceLock": "leases"}})", Fate::kWarned,
     "leaderElection.resourceLock"},
    {R"({"leaderElection": {"resourceNamespace": "a"}})", Fate::kWarned,
     "leaderElection.resourceNamespace"},
    {R"({"featureGates": {"PartialAdmission": false}})", Fate::kRead},
    {R"({"featureGates": {"MultiKueue": true}})", Fate::kWarned, "featureGates.MultiKueue"},
    {R"({"featureGates": {"ConcurrentAdmission": true}})", Fate::kRefused,
     "featureGates.ConcurrentAdmission"},
    {R"({"webhook": {"port": 1}})", Fate::kWarned, "webhook"},
    {R"({"health": {"healthProbeBindAddress": ":1"}})", Fate::kRead},
    {R"({"health": {"healthProbeBindAddress": 1}})", Fate::kRefused,
     "health.healthProbeBindAddress"},
    {R"({"health": {"readinessEndpointName": "a"}})", Fate::kWarned,
     "health.readinessEndpointName"},
    {R"({"health": {"livenessEndpointName": "a"}})", Fate::kWarned, "health.livenessEndpointName"},
    {R"({"pprofBindAddress": ":1"})", Fate::kWarned, "pprofBindAddress"},
    {R"({"controller": {"groupKindConcurrency": {}}})", Fate::kWarned, "controller"},
    {R"({"tls": {"minVersion": "VersionTLS13"}})", Fate::kWarned, "tls"},
    {R"({"internalCertManagement": {"enable": false}})", Fate::kWarned, "internalCertManagement"},
    {R"({"clientConnection": {"qps": 1}})", Fate::kWarned, "clientConnection"},
    {R"({"multiKueue": {"origin": "a"}})", Fate::kWarned, "multiKueue"},
    {R"({"visibilityServer": {"bindPort": 1}})", Fate::kWarned, "visibilityServer"},
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

TEST(ConfigurationFields, AreReadWarnedOfOrRefused) {
  for (const char* version : {"v1beta1", "v1beta2"}) {
    for (const FieldRow& row : kRows) ExpectFate(row, version, row.fate);
  }
  for (const FieldRow& row : kOldRows) {
    ExpectFate(row, "v1beta1", row.fate);
    ExpectFate(row, "v1beta2", Fate::kRefused);
  }
}

// An unknown field is refused at every depth.
TEST(ConfigurationFields, UnknownOnesAreRefusedWhereverTheyStand) {
  for (const char* pointer :
       {"/x", "/waitForPodsReady/x", "/waitForPodsReady/requeuingStrategy/x", "/fairSharing/x",
        "/admissionFairSharing/x", "/resources/x", "/objectRetentionPolicies/x",
        "/objectRetentionPolicies/workloads/x", "/metrics/x", "/metrics/localQueueMetrics/x",
        "/integrations/x", "/leaderElection/x", "/health/x"}) {
    nlohmann::json document = {{"apiVersion", "config.kueue.x-k8s.io/v1beta2"},
                               {"kind", "Configuration"}};
    document[nlohmann::json::json_pointer(pointer)] = 1;
    const auto config = ReadConfiguration(document);
    ASSERT_FALSE(config) << pointer;
    EXPECT_NE(config.error().message.find("x: unknown field"), std::string::npos)
        << config.error().message;
  }
}

}  // namespace
}  // namespace berth::admission
