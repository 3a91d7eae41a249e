// Goal: devices that pods claim are counted as the resources of their classes, and claims that
// cannot be counted say why. Method: a table of ResourceClaimTemplates and one workload; then a
// cycle with quota for devices.
#include "admission/device_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using ::testing::HasSubstr;

const DeviceClassMapping kClasses = {{"gpu.example.com", "gpus"}, {"big.example.com", "gpus"}};

std::vector<api::PodClaim> ClaimsInLabels(const api::PodTemplate& pod_template) {
  std::vector<api::PodClaim> claims;
  for (const auto& [key, value] : pod_template.labels) {
    if (key == "existing") claims.push_back({"", value});
    if (key.starts_with("claim")) claims.push_back({value, ""});
  }
  return claims;
}

// A workload of two pods, whose claims stand in the labels of its template.
api::Workload Claiming(const api::StringMap& claims) {
  api::Workload workload = support::MakeJob("w", "a", 2, {{"cpu", 100}});
  workload.spec.pod_sets[0].pod_template.labels = claims;
  workload.spec.pod_sets[0].pod_template.spec.resource_claims = true;
  return workload;
}

api::ResourceClaimTemplate Template(const std::string& name,
                                    std::vector<api::DeviceRequest> requests) {
  api::ResourceClaimTemplate made;
  made.meta.namespace_name = "default";
  made.meta.name = name;
  made.requests = std::move(requests);
  return made;
}

api::DeviceRequest Of(const std::string& device_class, std::int64_t count = 1) {
  return {.exactly = true, .device_class = device_class, .count = count};
}

TEST(DeviceClaimsTest, CountsOrSaysWhyNot) {
  struct ClaimRow {
    const char* name;
    std::vector<api::DeviceRequest> requests;
    api::Amount gpus;
    const char* problem;
  };
  const ClaimRow rows[] = {
      {"one device", {Of("gpu.example.com")}, 1, ""},
      {"several requests add up", {Of("gpu.example.com", 2), Of("big.example.com", 3)}, 5, ""},
      {"the mode by name",
       {{.exactly = true, .device_class = "gpu.example.com", .allocation_mode = "ExactCount"}},
       1,
       ""},
      {"no requests", {}, 0, ""},
      {"administrators take none",
       {{.exactly = true, .device_class = "other", .admin_access = true}},
       0,
       ""},
      {"all devices",
       {{.exactly = true, .device_class = "gpu.example.com", .allocation_mode = "All"}},
       0,
       "spec.podSets[0].template.spec.resourceClaims[0].devices.requests[0].exactly."
       "allocationMode: Invalid value: \"All\": ResourceClaimTemplate t: AllocationMode 'All' is "
       "not supported"},
      {"an unknown mode",
       {{.exactly = true, .device_class = "gpu.example.com", .allocation_mode = "Some"}},
       0,
       "unsupported allocation mode: Some"},
      {"alternatives",
       {Of("gpu.example.com"), {.first_available = true}},
       0,
       "devices.requests[1]: Invalid value: null: ResourceClaimTemplate t: FirstAvailable device "
       "selection is not supported"},
      {"neither form", {{}}, 0, "Exactly must be set if FirstAvailable is nil"},
      {"a class that is not mapped",
       {Of("tpu.example.com")},
       0,
       "resourceClaims[0].resourceClaimTemplateName.deviceClassName: Not found: "
       "\"tpu.example.com\""},
  };
  for (const ClaimRow& row : rows) {
    SCOPED_TRACE(row.name);
    DeviceClaims claims;
    claims.Use(kClasses, ClaimsInLabels);
    claims.Set(Template("t", row.requests));
    const auto workload = std::make_shared<const api::Workload>(Claiming({{"claim", "t"}}));
    EXPECT_THAT(claims.Problem(*workload), HasSubstr(row.problem));
    EXPECT_EQ(claims.Problem(*workload).empty(), *row.problem == '\0');
    const auto counted = claims.Counted(workload);
    EXPECT_EQ(counted == workload, *row.problem != '\0');
    const api::PodSpec& spec = counted->spec.pod_sets[0].pod_template.spec;
    EXPECT_EQ(spec.resource_claims, *row.problem != '\0');
    const auto requests = api::PodRequests(spec);
    const auto gpus = requests.find("gpus");
    EXPECT_EQ(gpus == requests.end() ? 0 : gpus->second, row.gpus);
  }
}

TEST(DeviceClaimsTest, TemplatesThatComeLaterAndClaimsThatExist) {
  DeviceClaims claims;
  const api::Workload workload = Claiming({{"claim", "t"}});
  EXPECT_THAT(claims.Problem(workload), HasSubstr("deviceClassMappings"));
  claims.Use(kClasses, ClaimsInLabels);
  EXPECT_THAT(claims.Problem(workload),
              HasSubstr("failed to get claim spec for ResourceClaimTemplate t in podset main"));
  claims.Set(Template("t", {Of("gpu.example.com")}));
  EXPECT_EQ(claims.Problem(workload), "");
  claims.Remove({"default", "t"});
  EXPECT_NE(claims.Problem(workload), "");
  EXPECT_THAT(claims.Problem(Claiming({{"existing", "c"}})),
              HasSubstr("resourceClaims[0].resourceClaimName: Forbidden"));
  EXPECT_EQ(claims.Problem(support::MakeJob("plain", "a", 1, {})), "");
}

TEST(DeviceClaimsTest, QuotaCountsThemAndATemplateWakesItsWorkloads) {
  SchedulerConfig config;
  config.device_classes = kClasses;
  config.claims_of = ClaimsInLabels;
  support::TableWorld world(
      {"f"}, {support::MakeQueue("a", "", {{"f", {{"cpu", 10'000}, {"gpus", 5}}}})}, config);
  api::Workload first = Claiming({{"claim", "t"}});
  world.Apply(first);
  EXPECT_FALSE(world.HasHeads());
  EXPECT_THAT(world.scheduler().PodProblem(first), HasSubstr("ResourceClaimTemplate t"));
  world.scheduler().ApplyClaimTemplate(Template("t", {Of("gpu.example.com", 2)}));
  world.scheduler().Reconsider(
      std::make_shared<const api::Workload>(*world.Find(support::KeyOf("w"))), world.now());
  EXPECT_EQ(world.Cycle(), "w Admitted");
  EXPECT_EQ(world.Find(support::KeyOf("w"))
                ->status.admission->pod_set_assignments[0]
                .resource_usage.at("gpus"),
            4);
  api::Workload second = Claiming({{"claim", "t"}});
  second.meta.name = "v";
  world.Apply(second);
  EXPECT_EQ(world.Cycle(), "v NoCandidates");
  EXPECT_THAT(world.MessageOf("v"), HasSubstr("insufficient unused quota for gpus"));
}

}  // namespace
}  // namespace berth::admission
