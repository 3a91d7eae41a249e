// Goal: a set-up becomes manifests with the quotas, checks and labels that it names, and a day with
// jobs of each team; the same set-up gives the same text.
// Method: one text as a whole; the objects of others. tests/cli/setup_lint_test.cc lints all kinds.
#include "view/screens/setup_manifests.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "view/screens/setup_day.h"

namespace berth::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

FirstSetup Plan(const SetupOptions& options) {
  auto setup = PlanSetup(options);
  EXPECT_TRUE(setup) << setup.error().message;
  return setup ? *std::move(setup) : FirstSetup();
}

// By kind and name.
std::map<std::string, Json> ObjectsOf(const std::string& text) {
  std::map<std::string, Json> objects;
  const auto documents = api::ParseYamlStream(text);
  EXPECT_TRUE(documents) << text;
  for (const api::YamlDocument& each : *documents) {
    const Json& object = each.value;
    objects[object.at("kind").get<std::string>() + " " +
            object.at("metadata").at("name").get<std::string>()] = object;
  }
  return objects;
}

constexpr char kOneTeam[] =
    R"(# Queues of teams: docs/guide/queues.md explains the fields. This command makes the file again:
# berth init --team red=cpu=8,memory=32Gi
# The nodes of the cluster.
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
# The namespace of the jobs of the team.
apiVersion: v1
kind: Namespace
metadata: {name: red}
---
# The quota of the team red.
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: red}
spec:
  # Only jobs of this namespace use the quota.
  namespaceSelector:
    matchLabels: {kubernetes.io/metadata.name: red}
  # A job that fits may pass a job that waits for more quota. With StrictFIFO no job passes another.
  queueingStrategy: BestEffortFIFO
  preemption:
    # A job with a higher priority may stop jobs of the team with a lower priority.
    withinClusterQueue: LowerPriority
  resourceGroups:
  # A job may request these resources and no others.
  - coveredResources: [cpu, memory]
    flavors:
    - name: default-flavor
      # The jobs of the team that run request at most this.
      resources:
      - {name: cpu, nominalQuota: 8}
      - {name: memory, nominalQuota: 32Gi}
---
# A job names this queue in its label: kueue.x-k8s.io/queue-name: red
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: red, name: red}
spec: {clusterQueue: red}
)";

TEST(SetupManifests, ManifestsOfOneTeamAreAsRecorded) {
  const FirstSetup setup = Plan({.teams = {{"red", {}}}});
  EXPECT_EQ(ManifestsOf(setup).queues, kOneTeam);
  const Json job = ObjectsOf(ManifestsOf(setup).job).at("Job sample");
  EXPECT_EQ(job["metadata"]["namespace"], "red");
  EXPECT_EQ(job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "red");
  EXPECT_EQ(job["spec"]["template"]["spec"]["containers"][0]["resources"],
            Json::parse(R"({"requests": {"cpu": "100m", "memory": "100Mi"}})"));
}

TEST(SetupManifests, TeamsThatBorrowAreInACohort) {
  SetupOptions options{.teams = {{"a", {{"gpu", 1}}}, {"b", {}}}};
  const auto objects = ObjectsOf(ManifestsOf(Plan(options)).queues);
  for (const char* name : {"ClusterQueue a", "ClusterQueue b"}) {
    EXPECT_EQ(objects.at(name)["spec"]["cohortName"], "teams");
    EXPECT_EQ(objects.at(name)["spec"]["preemption"]["reclaimWithinCohort"], "Any");
  }
  EXPECT_EQ(objects.at("ClusterQueue b")["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2],
            Json::parse(R"({"name": "nvidia.com/gpu", "nominalQuota": 0})"));
  options.borrow = false;
  EXPECT_THAT(ManifestsOf(Plan(options)).queues, Not(HasSubstr("cohort")));
}

TEST(SetupManifests, QueuedProvisioningHasItsCheckAndPool) {
  const auto objects = ObjectsOf(
      ManifestsOf(Plan({.teams = {{"a", {{"gpu", 8}}}}, .capacity = SetupCapacity::kDws})).queues);
  EXPECT_EQ(objects.at("ResourceFlavor dws")["spec"], Json::parse(R"({
    "nodeLabels": {"cloud.google.com/gke-nodepool": "dws-pool"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]})"));
  EXPECT_EQ(objects.at("ProvisioningRequestConfig dws")["spec"],
            Json::parse(R"({"provisioningClassName": "queued-provisioning.gke.io"})"));
  EXPECT_EQ(objects.at("AdmissionCheck dws")["spec"]["parameters"]["name"], "dws");
  EXPECT_EQ(objects.at("ClusterQueue a")["spec"]["admissionChecksStrategy"],
            Json::parse(R"({"admissionChecks": [{"name": "dws"}]})"));
}

TEST(SetupManifests, SpotFlavorPrecedesTheOnDemandFlavor) {
  SetupOptions options{.teams = {{"a", {}}},
                       .capacity = SetupCapacity::kSpot,
                       .pools = {{"kubernetes.azure.com/agentpool", "low"}, {"", "123"}}};
  const auto objects = ObjectsOf(ManifestsOf(Plan(options)).queues);
  EXPECT_EQ(objects.at("ResourceFlavor spot")["spec"], Json::parse(R"({
    "nodeLabels": {"kubernetes.azure.com/agentpool": "low"},
    "tolerations": [{"key": "kubernetes.azure.com/scalesetpriority", "operator": "Exists",
                     "effect": "NoSchedule"}]})"));
  EXPECT_EQ(objects.at("ResourceFlavor on-demand")["spec"],
            Json::parse(R"({"nodeLabels": {"cloud.google.com/gke-nodepool": "123"}})"));
  const Json& steps = objects.at("ProvisioningPolicy spot-then-on-demand")["spec"]["steps"];
  EXPECT_EQ(steps[0]["flavor"], "spot");
  EXPECT_EQ(steps[1]["flavor"], "on-demand");
  const Json& check = objects.at("AdmissionCheck spot-then-on-demand");
  EXPECT_EQ(check["spec"]["controllerName"], "berth.dev/reactive-capacity");
  EXPECT_EQ(check["metadata"]["annotations"]["berth.dev/provisioning-policy"],
            "spot-then-on-demand");
}

TEST(SetupManifests, NamesThatLookLikeOtherYamlValuesAreQuoted) {
  for (const char* name : {"123", "on", "null", "1e3"}) {
    const SetupManifests manifests = ManifestsOf(Plan({.teams = {{name, {}}}}));
    const auto objects = ObjectsOf(manifests.queues);
    EXPECT_EQ(objects.at(std::string("LocalQueue ") + name)["spec"]["clusterQueue"], name);
    EXPECT_EQ(objects.at(std::string("LocalQueue ") + name)["metadata"]["namespace"], name);
    EXPECT_EQ(ObjectsOf(manifests.job).at("Job sample")["metadata"]["namespace"], name);
  }
}

TEST(SetupManifests, TeamsMayShareOneNamespace) {
  const SetupOptions options{.teams = {{"a", {}}, {"b", {}}}, .namespace_name = "default"};
  const std::string text = ManifestsOf(Plan(options)).queues;
  const auto objects = ObjectsOf(text);
  EXPECT_EQ(objects.at("LocalQueue b")["metadata"]["namespace"], "default");
  EXPECT_EQ(objects.count("Namespace default"), 0U) << "every cluster has it";
  SetupOptions other = options;
  other.namespace_name = "jobs";
  EXPECT_EQ(ObjectsOf(ManifestsOf(Plan(other)).queues).count("Namespace jobs"), 1U);
  EXPECT_EQ(ManifestsOf(Plan(options)).queues, text);
}

TEST(SetupDay, EachTeamHasWorkForMostOfItsQuota) {
  const FirstSetup setup = Plan({.teams = {{"a", {{"gpu", 16}}}, {"b", {{"gpu", 1}}}, {"c", {}}}});
  const auto day = DayOf(setup);
  ASSERT_TRUE(day) << day.error().message;
  for (const SetupTeam& team : setup.teams) {
    const bool has_gpus = team.quota.at("gpu") > 0;
    const std::string resource = has_gpus ? "nvidia.com/gpu" : "cpu";
    double held = 0;
    for (const simulation::TraceJob& job : day->jobs) {
      if (job.queue != team.name + "/" + team.name) continue;
      ASSERT_EQ(job.requests.count("nvidia.com/gpu"), has_gpus ? 1U : 0U);
      EXPECT_LE(job.requests.at(resource), team.quota.at(has_gpus ? "gpu" : "cpu"));
      held += std::chrono::duration<double, std::ratio<3600>>(job.run).count() *
              static_cast<double>(job.requests.at(resource));
    }
    const double share = held / (24 * static_cast<double>(team.quota.at(has_gpus ? "gpu" : "cpu")));
    EXPECT_GT(share, 0.4) << team.name;
    EXPECT_LT(share, 1.1) << team.name;
  }
  EXPECT_EQ(DayOf(setup)->jobs, day->jobs);
}

}  // namespace
}  // namespace berth::view
