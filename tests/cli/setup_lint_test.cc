// Goal: `berth lint` finds nothing in the manifests of any set-up, an API server accepts each of
// them, and the codecs read each.
// Method: every capacity, with and without borrowing, GPUs, a shared namespace; the embedded API
// server's own schemas.
#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration.h"
#include "api/codec/codec.h"
#include "api/codec/provisioning_policy.h"
#include "api/yaml/yaml.h"
#include "cli/lint_findings.h"
#include "local/apiserver/schema/crd_schema.h"
#include "program/embedded_manifests.h"
#include "view/screens/setup_manifests.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

// apiVersion/kind → schema, of the kinds that `berth up` installs.
const std::map<std::string, std::shared_ptr<const local::CrdSchema>>& Schemas() {
  static const auto* schemas = [] {
    auto* made = new std::map<std::string, std::shared_ptr<const local::CrdSchema>>;
    const auto documents = api::ParseYamlStream(program::CrdManifests());
    EXPECT_TRUE(documents);
    for (const api::YamlDocument& document : *documents) {
      const Json& spec = document.value["spec"];
      for (const Json& version : spec["versions"]) {
        std::vector<local::Cause> causes;
        auto schema = local::CrdSchema::Parse(version["schema"]["openAPIV3Schema"], "spec", causes);
        EXPECT_THAT(causes, IsEmpty());
        (*made)[spec["group"].get<std::string>() + "/" + version["name"].get<std::string>() + "/" +
                spec["names"]["kind"].get<std::string>()] = std::move(schema);
      }
    }
    return made;
  }();
  return *schemas;
}

Status Decodes(const Json& object) {
  const auto kind = object["kind"].get<std::string>();
  const auto status = [](const auto& decoded) {
    return decoded ? OkStatus() : Status(decoded.error());
  };
  if (kind == "Job") return status(api::Decode<api::Job>(object));
  if (kind == "ResourceFlavor") return status(api::Decode<api::ResourceFlavor>(object));
  if (kind == "ClusterQueue") return status(api::Decode<api::ClusterQueue>(object));
  if (kind == "LocalQueue") return status(api::Decode<api::LocalQueue>(object));
  if (kind == "AdmissionCheck") return status(api::Decode<api::AdmissionCheck>(object));
  if (kind == "ProvisioningPolicy") return status(api::Decode<api::ProvisioningPolicy>(object));
  if (kind == "ProvisioningRequestConfig") {
    return status(api::Decode<api::ProvisioningRequestConfig>(object));
  }
  if (kind == "Namespace") return OkStatus();
  return Error{ErrorCode::kInvalid, "no set-up has objects of the kind " + kind};
}

void ExpectAccepted(Json object, const std::string& context) {
  const Status decoded = Decodes(object);
  EXPECT_TRUE(decoded) << context << ": " << decoded.error().message;
  const auto kind = object["kind"].get<std::string>();
  if (kind == "Job" || kind == "Namespace") return;
  const auto schema = Schemas().find(object["apiVersion"].get<std::string>() + "/" + kind);
  ASSERT_NE(schema, Schemas().end()) << context << ": no CRD of " << kind;
  EXPECT_THAT(schema->second->Prune(object), IsEmpty()) << context << ": " << kind;
  schema->second->Default(object);
  for (const local::Cause& cause : schema->second->Validate(object, nullptr)) {
    ADD_FAILURE() << context << ": " << kind << ": " << cause.field << ": " << cause.message;
  }
}

std::vector<std::string> ProblemsOf(const std::string& queues, const std::string& job) {
  view::ManifestObjects objects =
      view::ManifestObjectsOf({{"queues.yaml", queues}, {"job.yaml", job}});
  const admission::Configuration configuration;
  const auto findings = FindingsOf(objects, configuration.admission.driver.scheduler, nullptr);
  EXPECT_TRUE(findings) << findings.error().message;
  std::vector<std::string> texts;
  for (const view::PlacedFinding& each : *findings) texts.push_back(view::ProblemText(each));
  return texts;
}

std::vector<view::SetupOptions> AllOptions() {
  std::vector<view::SetupOptions> all;
  for (const auto capacity : {view::SetupCapacity::kFixed, view::SetupCapacity::kDws,
                              view::SetupCapacity::kSpot, view::SetupCapacity::kKarpenter}) {
    for (const bool borrow : {true, false}) {
      for (const char* gpus : {"0", "1", "amd.com/gpu=9"}) {
        for (const char* space : {"", "jobs"}) {
          all.push_back({.teams = {{"red", {{"cpu", 2000}}}, {"123", {}}},
                         .gpus = *view::ParseSetupGpus(gpus),
                         .borrow = borrow,
                         .capacity = capacity,
                         .namespace_name = space});
        }
      }
    }
  }
  view::SetupOptions pool = all.front();
  pool.pools = {{"karpenter.k8s.aws/instance-gpu-name", "t4"}};
  all.push_back(pool);
  all.push_back({.teams = {{"alone", {}}}});
  return all;
}

TEST(SetupLint, EverySetupIsCleanAndAccepted) {
  for (const view::SetupOptions& options : AllOptions()) {
    const auto setup = view::PlanSetup(options);
    ASSERT_TRUE(setup) << setup.error().message;
    const std::string command = view::CommandOf(*setup);
    const view::SetupManifests manifests = view::ManifestsOf(*setup);
    EXPECT_THAT(ProblemsOf(manifests.queues, manifests.job), IsEmpty()) << command;
    const auto documents = api::ParseYamlStream(manifests.queues + "---\n" + manifests.job);
    ASSERT_TRUE(documents) << command << ": " << documents.error().message;
    for (const api::YamlDocument& document : *documents) {
      EXPECT_THAT(document.duplicate_keys, IsEmpty()) << command;
      ExpectAccepted(document.value, command);
    }
  }
}

TEST(SetupLint, AMistakeInAManifestIsFound) {
  const view::SetupManifests manifests =
      view::ManifestsOf(*view::PlanSetup({.teams = {{"red", {}}}}));
  std::string wrong = manifests.queues;
  const std::string quota = "nominalQuota: 8";
  wrong.replace(wrong.find(quota), quota.size(), "nominalQuota: 50m");
  const std::vector<std::string> problems = ProblemsOf(wrong, manifests.job);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0], HasSubstr("job.yaml:"));
  EXPECT_THAT(problems[0], HasSubstr("[never-admitted]"));
}

}  // namespace
}  // namespace berth::cli
