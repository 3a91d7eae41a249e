// Goal: devices that pods claim are counted as the resources of their classes, and claims that
// cannot be counted say why. Method: a table of ResourceClaimTemplates and one workload; then a
// cycle with quota for devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/flavors/claimed_devices.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using ::testing::HasSubstr;

const DeviceClassMapping kClasses = {{"gpu.example.com", "gpus"}, {"big.example.com", "gpus"}};

// A workload of two pods. The key "existing" names a claim, other keys a template of claims.
api::Workload Claiming(const api::StringMap& claims) {
  api::Workload workload = support::MakeJob("w", "a", 2, {{"cpu", 100}});
  api::PodSpec& spec = workload.spec.pod_sets[0].pod_template.spec;
  spec.resource_claims = true;
  for (const auto& [key, value] : claims) {
    spec.claims.push_back(key == "existing" ? api::PodClaim{"", value} : api::PodClaim{value, ""});
  }
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

TEST(DeviceClaimsTest, CountsTheDevicesOfAClaimOrReportsTheProblem) {
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
       "spec.podSets[0].template.spec.resourceClaims[0].resourceClaimTemplateName: Not found: "
       "\"DeviceClass tpu.example.com is not mapped in DRA configuration for podset main\""},
  };
  for (const ClaimRow& row : rows) {
    SCOPED_TRACE(row.name);
    DeviceClaims claims;
    claims.Use(kClasses);
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

api::DeviceRequest With(api::DeviceRequest request, const std::string& selector) {
  request.selectors = {selector};
  return request;
}

// Two large devices and a small one of one driver, one of another.
void AddDevices(DeviceClaims& claims) {
  const auto device = [](const char* name, const char* memory, const char* version,
                         api::Amount counter) {
    return api::Device{.name = name,
                       .attributes = {{"model", std::string("a100")},
                                      {"driverVersion", api::DeviceVersion{version}},
                                      {"other.example.com/healthy", true}},
                       .capacity = {{"memory", memory}},
                       .counters = {{"memory", counter}}};
  };
  api::ResourceSlice slice;
  slice.meta.name = "node-1";
  slice.driver = "gpu.example.com";
  slice.pool = "node-1";
  slice.pool_slices = 1;
  slice.devices = {device("gpu-0", "80Gi", "2.0.0", 40), device("gpu-1", "80Gi", "1.0.0", 80),
                   device("gpu-2", "40Gi", "1.0.0", 20)};
  claims.pool().Set(slice);
  slice.meta.name = "node-2";
  slice.pool = "node-2";
  slice.pool_slices = 2;  // the other slice of the pool is missing
  slice.devices = {device("gpu-9", "96Gi", "3.0.0", 90)};
  claims.pool().Set(slice);
  slice.meta.name = "nic";
  slice.driver = "nic.example.com";
  slice.devices = {api::Device{.name = "nic-0",
                               .attributes = {{"model", std::string("x")}},
                               .capacity = {},
                               .counters = {}}};
  claims.pool().Set(slice);
  api::DeviceClass of_driver;
  of_driver.meta.name = "gpu.example.com";
  of_driver.selectors = {"device.driver == 'gpu.example.com'"};
  claims.pool().Set(of_driver);
  of_driver.meta.name = "part.example.com";
  claims.pool().Set(of_driver);
  of_driver.meta.name = "big.example.com";
  of_driver.selectors = {"device.driver =="};
  claims.pool().Set(of_driver);
}

constexpr char kLarge[] =
    R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0)";

const DeviceCounters kPartMemory = {
    {"part.example.com",
     {{.resource = "gpu-memory",
       .name = "memory",
       .driver = "gpu.example.com",
       .selector = "device.attributes['gpu.example.com'].model == 'a100'"}}}};

struct SelectionRow {
  const char* name;
  std::vector<api::DeviceRequest> requests;
  api::Amount gpus;
  api::Amount memory;
  const char* problem;
};
const SelectionRow kSelectionRows[] = {
    {"enough devices fit", {With(Of("gpu.example.com", 3), kLarge)}, 3, 0, ""},
    {"too few fit",
     {With(Of("gpu.example.com", 4), kLarge)},
     0,
     0,
     ".exactly.selectors: Internal error: ResourceClaimTemplate t: insufficient matching devices "
     "for CEL selector in DeviceClass gpu.example.com: 3 device(s) match in the cluster but 4 "
     "requested"},
    {"a device serves one request",
     {With(Of("gpu.example.com", 2), kLarge), With(Of("gpu.example.com", 2), kLarge)},
     0,
     0,
     "1 device(s) match in the cluster but 2 requested"},
    {"versions",
     {With(Of("gpu.example.com", 2),
           "device.attributes['gpu.example.com'].driverVersion.isGreaterThan(semver('1.5.0'))")},
     2,
     0,
     ""},
    {"attributes of another domain",
     {With(Of("gpu.example.com", 4), "device.attributes['other.example.com'].healthy")},
     4,
     0,
     ""},
    {"a domain that no device has",
     {With(Of("gpu.example.com"), "has(device.attributes['none.example.com'].x)")},
     0,
     0,
     "0 device(s) match in the cluster but 1 requested"},
    {"an expression that fails on a device",
     {With(Of("gpu.example.com"), "device.attributes['gpu.example.com'].absent == 1")},
     0,
     0,
     ".exactly.selectors: Invalid value: null: ResourceClaimTemplate t: CEL evaluation failed "
     "for DeviceClass gpu.example.com: no such key: absent"},
    {"an expression that is no condition",
     {With(Of("gpu.example.com"), "device.driver")},
     0,
     0,
     "must evaluate to a bool, not to string"},
    {"an expression that does not compile",
     {With(Of("gpu.example.com"), "device.driver ==")},
     0,
     0,
     ".exactly.selectors: Invalid value: null: ResourceClaimTemplate t: "
     "devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "
     "\"device.driver ==\": CEL compilation failed: "},
    {"a class that the cluster lacks",
     {With(Of("none.example.com"), "true")},
     0,
     0,
     ": Internal error: ResourceClaimTemplate t: failed to get DeviceClass none.example.com: "
     "deviceclasses.resource.k8s.io \"none.example.com\" not found"},
    {"a class whose selector does not compile",
     {With(Of("big.example.com"), "true")},
     0,
     0,
     "DeviceClass big.example.com has invalid CEL selector"},
    {"several problems",
     {With(Of("none.example.com"), "true"), With(Of("gpu.example.com", 9), kLarge)},
     0,
     0,
     "insufficient matching devices"},
    {"an administrator's selectors are compared too",
     {{.exactly = true,
       .device_class = "gpu.example.com",
       .count = 9,
       .admin_access = true,
       .selectors = {kLarge}}},
     0,
     0,
     "3 device(s) match in the cluster but 9 requested"},
    {"a counter: the largest value, of complete pools", {Of("part.example.com", 2)}, 0, 160, ""},
    {"a counter: of the devices that fit",
     {With(Of("part.example.com"),
           "device.capacity['gpu.example.com'].memory.compareTo(quantity('50Gi')) < 0")},
     0,
     20,
     ""},
    {"a counter: too few devices",
     {Of("part.example.com", 4)},
     0,
     0,
     ": Internal error: insufficient matching devices for counter driver: 3 device(s) match but "
     "4 requested"},
    {"a counter and devices", {Of("part.example.com"), Of("gpu.example.com", 2)}, 2, 80, ""},
    {"counts beyond all numbers",
     {Of("gpu.example.com", INT64_MAX), Of("gpu.example.com", INT64_MAX)},
     INT64_MAX,
     0,
     ""},
};

// Selectors are compared with the devices of the cluster; counters are read from them.
TEST(DeviceClaimsTest, SelectorsDecideDeviceCountAndCounters) {
  DeviceClassMapping classes = kClasses;
  classes["part.example.com"] = "gpu-memory";
  for (const SelectionRow& row : kSelectionRows) {
    SCOPED_TRACE(row.name);
    DeviceClaims claims;
    claims.Use(classes, kPartMemory);
    AddDevices(claims);
    claims.Set(Template("t", row.requests));
    const auto workload = std::make_shared<const api::Workload>(Claiming({{"claim", "t"}}));
    const std::string problem = claims.Problem(*workload);
    EXPECT_THAT(problem, HasSubstr(row.problem));
    EXPECT_EQ(problem.empty(), *row.problem == '\0');
    EXPECT_TRUE(problem.empty() || problem.find("resourceClaims[0]") != std::string::npos);
    auto requests = api::PodRequests(claims.Counted(workload)->spec.pod_sets[0].pod_template.spec);
    EXPECT_EQ(requests["gpus"], row.gpus);
    EXPECT_EQ(requests["gpu-memory"], row.memory);
  }
}

TEST(DeviceClaimsTest, ProblemFollowsDeviceClassesAndSlices) {
  DeviceClaims claims;
  claims.Use(kClasses);
  claims.Set(Template("t", {With(Of("gpu.example.com", 3), kLarge)}));
  const api::Workload workload = Claiming({{"claim", "t"}});
  EXPECT_THAT(claims.Problem(workload), HasSubstr("failed to get DeviceClass"));
  AddDevices(claims);
  EXPECT_EQ(claims.Problem(workload), "");
  claims.pool().RemoveSlice("node-2");
  EXPECT_THAT(claims.Problem(workload), HasSubstr("2 device(s) match"));
  claims.pool().RemoveClass("gpu.example.com");
  EXPECT_THAT(claims.Problem(workload), HasSubstr("failed to get DeviceClass"));
}

// Many devices, and an expression that takes many steps for each: the answer is a problem, in time.
TEST(DeviceClaimsTest, CostlySelectorIsAProblem) {
  DeviceClaims claims;
  claims.Use(kClasses);
  AddDevices(claims);
  api::ResourceSlice many;
  many.driver = "gpu.example.com";
  for (int i = 0; i < 128; ++i) many.devices.push_back({.name = "d" + std::to_string(i)});
  for (int i = 0; i < 100; ++i) {
    many.meta.name = "many-" + std::to_string(i);
    claims.pool().Set(many);
  }
  const std::string costly =
      "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, "
      "[1,2,3,4,5,6,7,8,9,10].all(c, a + b + c > 0))) && false";
  claims.Set(Template("t", {With(Of("gpu.example.com"), costly)}));
  EXPECT_THAT(claims.Problem(Claiming({{"claim", "t"}})), HasSubstr("CEL evaluation failed"));
}

// A container that asks for an extended resource which a device class serves.
TEST(DeviceClaimsTest, CountsExtendedResourcesOfDeviceClasses) {
  struct ExtendedRow {
    const char* name;
    api::ResourceAmounts inits;
    std::vector<api::ResourceAmounts> containers;
    const char* device_class;  // that serves example.com/gpu
    api::ResourceAmounts wanted;
    const char* problem;
  };
  const ExtendedRow rows[] = {
      {"of a mapped class",
       {},
       {{{"example.com/gpu", 2}}, {{"example.com/gpu", 1}, {"cpu", 100}}},
       "gpu.example.com",
       {{"cpu", 100}, {"gpus", 3}},
       ""},
      {"init containers run before the others",
       {{"example.com/gpu", 4}},
       {{{"example.com/gpu", 3}}},
       "gpu.example.com",
       {{"gpus", 4}},
       ""},
      {"of a class that is not mapped, the resource counts by its own name",
       {},
       {{{"example.com/gpu", 2}}},
       "other.example.com",
       {{"example.com/gpu", 2}},
       ""},
      {"another resource",
       {},
       {{{"example.com/nic", 2}}},
       "gpu.example.com",
       {{"example.com/nic", 2}},
       ""},
      {"of a class with counters",
       {},
       {{}, {{"example.com/gpu", 2}}},
       "part.example.com",
       {{"example.com/gpu", 2}},
       "spec.podSets[0].template.spec.containers[1]: Invalid value: \"example.com/gpu\": extended "
       "resource example.com/gpu resolves to DeviceClass part.example.com with counters "
       "configured; use ResourceClaimTemplates with CEL selectors for counter-based quota"},
  };
  DeviceClassMapping classes = kClasses;
  classes["part.example.com"] = "gpu-memory";
  for (const ExtendedRow& row : rows) {
    SCOPED_TRACE(row.name);
    DeviceClaims claims;
    claims.Use(classes, kPartMemory);
    api::DeviceClass serving;
    serving.meta.name = row.device_class;
    serving.extended_resource = "example.com/gpu";
    claims.pool().Set(serving);
    api::Workload asking = support::MakeJob("w", "a", 2, {});
    api::PodSpec& spec = asking.spec.pod_sets[0].pod_template.spec;
    spec.containers.clear();
    if (!row.inits.empty()) spec.init_containers.emplace_back().requests = row.inits;
    for (const auto& each : row.containers) spec.containers.emplace_back().requests = each;
    const auto workload = std::make_shared<const api::Workload>(asking);
    EXPECT_EQ(claims.Problem(*workload), row.problem);
    const auto counted = claims.Counted(workload);
    EXPECT_EQ(api::ClaimsDevices(*counted), *row.problem != '\0') << "it stays out of its queue";
    EXPECT_EQ(api::PodRequests(counted->spec.pod_sets[0].pod_template.spec), row.wanted);
  }
}

// Kubernetes takes the class that was created last, then the first by name.
TEST(DeviceClaimsTest, NewestClassServesAnExtendedResource) {
  DevicePool pool;
  const auto add = [&pool](const char* name, int second) {
    api::DeviceClass made;
    made.meta.name = name;
    made.meta.creation_timestamp = WallTime{std::chrono::seconds(second)};
    made.extended_resource = "r";
    pool.Set(made);
  };
  EXPECT_EQ(pool.ClassOf("r"), nullptr);
  add("b", 5);
  add("c", 5);
  add("a", 3);
  EXPECT_EQ(pool.ClassOf("r")->meta.name, "b");
  add("d", 9);
  EXPECT_EQ(pool.ClassOf("r")->meta.name, "d");
  pool.RemoveClass("d");
  pool.RemoveClass("b");
  EXPECT_EQ(pool.ClassOf("r")->meta.name, "c");
}

// Rules for the names of requested resources do not concern devices.
TEST(DeviceClaimsTest, DevicesAreNeitherExcludedNorTransformed) {
  SchedulerConfig config;
  config.device_classes = {{"gpu.example.com", "example.com/gpus"}};
  config.excluded_resource_prefixes = {"example.com/"};
  config.transformations = {{.input = "example.com/gpus",
                             .strategy = queue::ResourceTransformation::Strategy::kReplace,
                             .multiply_by = "",
                             .outputs = {}}};
  support::TableWorld world(
      {"f"}, {support::MakeQueue("a", "", {{"f", {{"cpu", 10'000}, {"example.com/gpus", 1}}}})},
      config);
  world.scheduler().device_claims().Set(Template("t", {Of("gpu.example.com")}));
  world.Apply(Claiming({{"claim", "t"}}));  // two pods
  EXPECT_EQ(world.Cycle(), "w NoFit");
}

TEST(DeviceClaimsTest, MissingTemplatesAndExistingClaimsAreProblems) {
  DeviceClaims claims;
  const api::Workload workload = Claiming({{"claim", "t"}});
  EXPECT_THAT(claims.Problem(workload), HasSubstr("deviceClassMappings"));
  claims.Use(kClasses);
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

TEST(DeviceClaimsTest, QuotaCountsClaimedDevicesOnceTheTemplateExists) {
  SchedulerConfig config;
  config.device_classes = kClasses;
  support::TableWorld world(
      {"f"}, {support::MakeQueue("a", "", {{"f", {{"cpu", 10'000}, {"gpus", 5}}}})}, config);
  api::Workload first = Claiming({{"claim", "t"}});
  world.Apply(first);
  EXPECT_FALSE(world.HasHeads());
  EXPECT_THAT(world.scheduler().PodProblem(first), HasSubstr("ResourceClaimTemplate t"));
  world.scheduler().device_claims().Set(Template("t", {Of("gpu.example.com", 2)}));
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
