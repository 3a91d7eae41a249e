// Goal: an API server accepts manifests/: CRDs are structural, samples fit them without an
// unknown field, v1beta1 samples fit after conversion, webhook and role files name existing
// resources.
// Method: the embedded API server's own schema engine and YAML reader.
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration.h"
#include "api/codec/codec.h"
#include "api/yaml/yaml.h"
#include "local/apiserver/schema/crd_rule_cost.h"
#include "local/apiserver/schema/crd_schema.h"
#include "webhook/version_conversion.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::json;
namespace fs = std::filesystem;

const fs::path kRoot(BERTH_MANIFESTS);

std::vector<Json> Documents(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto documents = api::ParseYamlStream(text.str());
  EXPECT_TRUE(documents) << path << ": " << documents.error().message;
  std::vector<Json> values;
  for (const api::YamlDocument& document : *documents) {
    EXPECT_THAT(document.duplicate_keys, IsEmpty()) << path;
    values.push_back(document.value);
  }
  return values;
}

std::vector<fs::path> YamlFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Kind {
  std::shared_ptr<const local::CrdSchema> schema;
  bool namespaced = false;
};

// apiVersion/kind → schema, of every CRD in manifests/.
const std::map<std::string, Kind>& Kinds() {
  static const auto* kinds = [] {
    auto* result = new std::map<std::string, Kind>;
    for (const fs::path& path : YamlFiles(kRoot)) {
      for (const Json& crd : Documents(path)) {
        // A patch of a component is a list.
        if (!crd.is_object() || crd.value("kind", "") != "CustomResourceDefinition") continue;
        const Json& spec = crd["spec"];
        for (const Json& version : spec["versions"]) {
          std::vector<local::Cause> causes;
          auto schema =
              local::CrdSchema::Parse(version["schema"]["openAPIV3Schema"], "spec", causes);
          for (const local::Cause& cause :
               local::RuleCostErrors(version["schema"]["openAPIV3Schema"], "spec")) {
            causes.push_back(cause);
          }
          for (const local::Cause& cause : causes) {
            ADD_FAILURE() << path << ": " << cause.field << ": " << cause.message;
          }
          const std::string key = spec["group"].get<std::string>() + "/" +
                                  version["name"].get<std::string>() + "/" +
                                  spec["names"]["kind"].get<std::string>();
          (*result)[key] = {std::move(schema), spec["scope"] == "Namespaced"};
        }
      }
    }
    return result;
  }();
  return *kinds;
}

std::string KeyOf(const Json& object) {
  return object.value("apiVersion", "") + "/" + object.value("kind", "");
}

void ExpectValid(Json object, const std::string& context) {
  const auto kind = Kinds().find(KeyOf(object));
  ASSERT_NE(kind, Kinds().end()) << context << ": no CRD for " << KeyOf(object);
  ASSERT_NE(kind->second.schema, nullptr);
  EXPECT_EQ(object["metadata"].contains("namespace"), kind->second.namespaced) << context;
  EXPECT_THAT(kind->second.schema->Prune(object), IsEmpty()) << context;
  kind->second.schema->Default(object);
  for (const local::Cause& cause : kind->second.schema->Validate(object, nullptr)) {
    ADD_FAILURE() << context << ": " << cause.field << ": " << cause.message;
  }
}

TEST(CrdsTest, CrdsServeEveryKindInItsVersions) {
  std::set<std::string> names;
  for (const auto& [key, kind] : Kinds()) names.insert(key);
  for (const char* kind : {"ResourceFlavor", "ClusterQueue", "LocalQueue", "Cohort", "Workload",
                           "AdmissionCheck", "ProvisioningRequestConfig", "WorkloadPriorityClass",
                           "Topology", "MultiKueueCluster", "MultiKueueConfig"}) {
    for (const char* version : {"v1beta1", "v1beta2"}) {
      EXPECT_EQ(names.count(std::string("kueue.x-k8s.io/") + version + "/" + kind), 1U) << kind;
    }
  }
  EXPECT_EQ(names.count("autoscaling.x-k8s.io/v1/ProvisioningRequest"), 1U);
  EXPECT_EQ(names.count("autoscaling.x-k8s.io/v1beta1/ProvisioningRequest"), 1U);
  EXPECT_EQ(names.count("cloud.berth.dev/v1alpha1/NodePool"), 1U);
}

TEST(CrdsTest, OneVersionIsStoredAndConvertedKindsNameAConversion) {
  const std::set<std::string> converted{"ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster",
                                        "Workload"};
  for (const fs::path& path : YamlFiles(kRoot / "crds")) {
    for (const Json& crd : Documents(path)) {
      if (crd["kind"] != "CustomResourceDefinition") continue;
      int stored = 0;
      for (const Json& version : crd["spec"]["versions"]) stored += version["storage"] == true;
      EXPECT_EQ(stored, 1) << path;
      const auto kind = crd["spec"]["names"]["kind"].get<std::string>();
      EXPECT_EQ(crd["spec"].contains("conversion"), converted.count(kind) == 1) << path;
      EXPECT_EQ(crd["metadata"]["name"], crd["spec"]["names"]["plural"].get<std::string>() + "." +
                                             crd["spec"]["group"].get<std::string>());
    }
  }
}

TEST(CrdsTest, FilesAreSmallEnoughForClientSideApply) {
  for (const fs::path& path : YamlFiles(kRoot / "crds")) {
    EXPECT_LT(fs::file_size(path), 256U * 1024) << path;
  }
}

TEST(CrdsTest, DefaultsEqualThoseOfKueue) {
  Json queue = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                {"kind", "ClusterQueue"},
                {"metadata", {{"name", "q"}}},
                {"spec", Json::object()}};
  Kinds().at("kueue.x-k8s.io/v1beta2/ClusterQueue").schema->Default(queue);
  EXPECT_EQ(queue["spec"], Json::parse(R"({
    "queueingStrategy": "BestEffortFIFO", "stopPolicy": "None",
    "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
    "preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never",
                   "borrowWithinCohort": {"policy": "Never"}}})"));
  Json config = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                 {"kind", "ProvisioningRequestConfig"},
                 {"metadata", {{"name", "c"}}},
                 {"spec", {{"provisioningClassName", "x"}}}};
  Kinds().at("kueue.x-k8s.io/v1beta2/ProvisioningRequestConfig").schema->Default(config);
  EXPECT_EQ(config["spec"]["retryStrategy"]["backoffBaseSeconds"], 60);
}

TEST(CrdsTest, PodTemplatesOfWorkloadsKeepUnknownFields) {
  Json workload = Json::parse(R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"podSets": [{"name": "main", "template": {"spec": {"anything": {"goes": 1}}}}],
             "mistake": 1}})");
  EXPECT_THAT(Kinds().at("kueue.x-k8s.io/v1beta2/Workload").schema->Prune(workload),
              ElementsAre("spec.mistake"));
}

struct RefusedCase {
  std::string name;
  std::string yaml;
  std::string field;
};
void PrintTo(const RefusedCase& c, std::ostream* out) { *out << c.name; }
class RefusedTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedTest, FirstCauseNamesTheField) {
  Json object = api::ParseYaml(GetParam().yaml)->value;
  object["metadata"] = {{"name", "x"}};
  const auto& schema = Kinds().at(KeyOf(object)).schema;
  schema->Default(object);
  const auto causes = schema->Validate(object, nullptr);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes.front().field, GetParam().field) << causes.front().message;
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedTest,
    ::testing::ValuesIn(std::vector<RefusedCase>{
        {"UnknownStrategy",
         "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, spec: {queueingStrategy: Fifo}}",
         "spec.queueingStrategy"},
        {"BadQuantity",
         "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, spec: {resourceGroups: "
         "[{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: "
         "lots}]}]}]}}",
         "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"},
        {"BadCohortName",
         "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, spec: {cohortName: Org!}}",
         "spec.cohortName"},
        {"CheckWithoutController",
         "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, spec: {}}",
         "spec.controllerName"},
        {"DuplicateFlavor",
         "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, spec: {resourceGroups: "
         "[{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: "
         "1}]}, {name: f, resources: [{name: cpu, nominalQuota: 1}]}]}]}}",
         "spec.resourceGroups[0].flavors[1]"},
        {"ZeroCount",
         "{apiVersion: autoscaling.x-k8s.io/v1, kind: ProvisioningRequest, spec: "
         "{provisioningClassName: a, podSets: [{count: 0, podTemplateRef: {name: t}}]}}",
         "spec.podSets[0].count"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(SamplesTest, EveryObjectFitsItsKind) {
  int seen = 0;
  for (const fs::path& path : YamlFiles(kRoot / "samples")) {
    for (const Json& object : Documents(path)) {
      if (object["kind"] == "Kustomization") continue;
      // A workload of `berth simulate`, which tests/cli/test_day.py reads.
      if (object["kind"] == "JobGenerator") continue;
      ++seen;
      const std::string context =
          path.filename().string() + " " + object["metadata"].value("name", "");
      if (object["kind"] == "Job") {
        const auto job = api::Decode<api::Job>(object);
        EXPECT_TRUE(job) << context << ": " << job.error().message;
      } else if (object.value("apiVersion", "") == "kubernetes.dask.org/v1") {
        continue;  // its operator brings the CRD; tests/cluster/test_dask.py applies such objects
      } else if (object.value("apiVersion", "").starts_with("karpenter.")) {
        continue;  // Karpenter brings the CRDs; tests/cluster/test_reactive.py applies the objects
      } else if (object["kind"] == "Ingress") {
        continue;  // tests/cluster/test_page.py applies such objects
      } else if (object["kind"] != "Namespace") {
        ExpectValid(object, context);
      }
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(SamplesTest, Version1Beta1QueuesConvertToVersion1Beta2) {
  const std::vector<Json> old = Documents(kRoot / "samples/dws/queues-v1beta1.yaml");
  const std::vector<Json> now = Documents(kRoot / "samples/dws/queues.yaml");
  ASSERT_EQ(old.size(), now.size());
  for (std::size_t i = 0; i < old.size(); ++i) {
    const auto converted = webhook::Convert(old[i], "kueue.x-k8s.io/v1beta2");
    ASSERT_TRUE(converted) << converted.error().message;
    EXPECT_EQ(*converted, now[i]);
    ExpectValid(*converted, "converted " + KeyOf(old[i]));
  }
}

TEST(SamplesTest, QuotasInPlaceOfNoLimitAreRead) {
  for (const Json& object : Documents(kRoot / "samples/dws/queues.yaml")) {
    if (object["kind"] != "ClusterQueue") continue;
    const auto queue = api::Decode<api::ClusterQueue>(object);
    ASSERT_TRUE(queue) << queue.error().message;
    const auto& resources = queue->spec.resource_groups[0].flavors[0].resources;
    EXPECT_EQ(resources[0].nominal_quota, 1'000'000'000'000);      // milli-CPU
    EXPECT_EQ(resources[1].nominal_quota, 1'000'000'000LL << 30);  // bytes
    EXPECT_EQ(resources[2].nominal_quota, 1'000'000'000);
    EXPECT_EQ(queue->spec.admission_checks.front().check, "dws-prov");
  }
}

TEST(ControllerTest, ReadsEveryFieldOfItsConfiguration) {
  const Json config_map = Documents(kRoot / "controller/config.yaml").front();
  const auto text = config_map["data"]["controller_manager_config.yaml"].get<std::string>();
  const auto configuration = admission::ReadConfiguration(api::ParseYaml(text)->value);
  ASSERT_TRUE(configuration) << configuration.error().message;
  EXPECT_THAT(configuration->ignored, IsEmpty());
  const Json deployment = Documents(kRoot / "controller/deployment.yaml").front();
  EXPECT_EQ(deployment["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"],
            config_map["metadata"]["name"]);
}

// What the controller watches where it queues Deployments; without a right its log has a line twice
// a minute.
TEST(ServingTest, RoleAllowsListAndWatchOfServingKinds) {
  std::set<std::string> watched;
  const Json role = Documents(kRoot / "components/serving/role.yaml").front();
  for (const Json& rule : role["rules"]) {
    EXPECT_THAT(rule["verbs"], ElementsAre("list", "watch"));
    for (const Json& resource : rule["resources"]) watched.insert(resource.get<std::string>());
  }
  EXPECT_EQ(watched, (std::set<std::string>{"deployments", "leaderworkersets", "replicasets",
                                            "statefulsets"}));
}

TEST(KustomizationsTest, NameFilesThatExist) {
  for (const fs::path& path : YamlFiles(kRoot)) {
    if (path.filename() != "kustomization.yaml") continue;
    for (const Json& document : Documents(path)) {
      for (const char* list : {"resources", "components"}) {
        for (const Json& named : document.value(list, Json::array())) {
          EXPECT_TRUE(fs::exists(path.parent_path() / named.get<std::string>()))
              << path << " " << named;
        }
      }
    }
  }
}

}  // namespace
}  // namespace berth
