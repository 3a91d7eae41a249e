// Goal: the environment of a container, from every source.
// Method: one pod with every source, and rows with one source missing each.
#include "local/cluster/kubelet/container_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::local::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const Json kPod = Json::parse(R"({"metadata": {"name": "p", "namespace": "ns", "uid": "u",
    "labels": {"batch.kubernetes.io/job-completion-index": "3"}, "annotations": {"a": "b"}},
    "spec": {"nodeName": "n", "containers": [
      {"name": "c", "resources": {"limits": {"cpu": "1500m", "memory": "64Mi"}}}]}})");

Json Lookup(DataKind kind, const std::string& name) {
  if (name == "none") return nullptr;
  if (kind == DataKind::kConfigMap) return {{"k", "from-map"}, {"z", "2"}};
  return {{"k", "from-secret"}};
}

Result<Environment> Make(const char* container) {
  return MakeEnvironment(kPod, Json::parse(container), Lookup);
}

TEST(ContainerEnvironmentTest, VariablesComeFromEverySource) {
  const auto environment =
      Make(R"json({"envFrom": [{"prefix": "P_", "configMapRef": {"name": "m"}}],
    "env": [
      {"name": "PLAIN", "value": "x"},
      {"name": "USES", "value": "$(PLAIN)-$(P_k)-$$(PLAIN)-$(NONE)"},
      {"name": "INDEX", "valueFrom": {"fieldRef": {
          "fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}},
      {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
      {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu",
          "containerName": "c"}}},
      {"name": "MIB", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory",
          "containerName": "c", "divisor": "1Mi"}}},
      {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
      {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "none", "key": "k",
          "optional": true}}},
      {"name": "P_z", "value": "own"}]
})json");
  ASSERT_TRUE(environment);
  EXPECT_THAT(*environment,
              ElementsAre(Pair("P_k", "from-map"), Pair("P_z", "own"), Pair("PLAIN", "x"),
                          Pair("USES", "x-from-map-$(PLAIN)-$(NONE)"), Pair("INDEX", "3"),
                          Pair("NODE", "n"), Pair("CPU", "2"), Pair("MIB", "64"),
                          Pair("SECRET", "from-secret")));
}

TEST(ContainerEnvironmentTest, MissingSourceIsNamed) {
  EXPECT_EQ(Make(R"({"envFrom": [{"configMapRef": {"name": "none"}}]})").error().message,
            "configmap \"none\" not found");
  EXPECT_EQ(Make(R"({"env": [{"name": "A", "valueFrom": {"secretKeyRef":
                {"name": "s", "key": "gone"}}}]})")
                .error()
                .message,
            "couldn't find key gone in secret s");
}

TEST(ContainerEnvironmentTest, OnlyKnownUnescapedVariablesAreExpanded) {
  const Environment environment{{"A", "1"}};
  EXPECT_EQ(ExpandVariables("$(A)$(B)$A$", environment), "1$(B)$A$");
  EXPECT_EQ(ExpandVariables("$$(A) $(A", environment), "$(A) $(A");
}

}  // namespace
}  // namespace berth::local::cluster
