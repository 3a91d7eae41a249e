// Goal: an object of any kind survives conversion to the other version and back with its meaning,
// and applying its manifest to the stored object changes nothing, however often.
//
// Method: random objects of each kind in both versions, with fields that differ between the
// versions, and others. Apply is a merge patch on the stored object in the manifest's version. An
// oracle of the test expands the slices of topology assignments.
#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/support/property.h"
#include "webhook/version_conversion.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
using berth::support::Below;
using berth::support::CheckProperty;
constexpr char kV1[] = "kueue.x-k8s.io/v1beta1";
constexpr char kV2[] = "kueue.x-k8s.io/v1beta2";
constexpr int kCases = 300;  // cases of each kind

bool Sometimes() { return *Below(2) == 1; }
std::string Name() { return std::string(1, static_cast<char>('a' + *Below(4))); }
std::string OneOf(const std::vector<std::string>& words) {
  return words[static_cast<std::size_t>(*Below(static_cast<int>(words.size())))];
}

Json ClusterQueue() {
  Json spec = {{"namespaceSelector", Json::object()}};
  if (Sometimes()) spec["cohort"] = Name();
  if (Sometimes()) spec["stopPolicy"] = OneOf({"None", "Hold"});
  Json checks = Json::array();
  for (int i = *Below(3); i > 0; --i) {
    checks.push_back(std::string("check-") + static_cast<char>('a' + i));
  }
  if (Sometimes()) {
    spec["admissionChecks"] = checks;
  } else if (!checks.empty()) {
    for (Json& check : checks) {
      check = {{"name", check}};
      if (Sometimes()) check["onFlavors"] = {Name()};
    }
    spec["admissionChecksStrategy"] = {{"admissionChecks", checks}};
  }
  if (Sometimes()) {
    spec["flavorFungibility"] = {
        {"whenCanBorrow", OneOf({"Borrow", "MayStopSearch", "TryNextFlavor"})},
        {"whenCanPreempt", OneOf({"Preempt", "MayStopSearch", "TryNextFlavor"})}};
  }
  Json status = {{"pendingWorkloads", *Below(5)}};
  if (Sometimes()) status["pendingWorkloadsStatus"] = {{"clusterQueuePendingWorkload", {}}};
  if (Sometimes()) {
    status["fairSharing"] = {{"weightedShare", *Below(9)}, {"admissionFairSharingStatus", {}}};
  }
  return {{"spec", spec}, {"status", status}};
}

Json LocalQueue() {
  Json status = Json::object();
  if (Sometimes()) status["flavorUsage"] = {{{"name", Name()}}};
  if (Sometimes()) status["flavors"] = {{{"name", Name()}}};
  return {{"spec", {{"clusterQueue", Name()}}}, {"status", status}};
}

Json Domains(std::size_t levels) {
  Json domains = Json::array();
  for (int i = *Below(4); i >= 0; --i) {
    Json values = Json::array();
    for (std::size_t level = 0; level < levels; ++level) values.push_back(Name());
    domains.push_back({{"count", 1 + *Below(3)}, {"values", values}});
  }
  return domains;
}

Json Workload() {
  Json spec = {{"queueName", Name()}, {"podSets", {{{"name", "main"}, {"count", 1 + *Below(4)}}}}};
  if (Sometimes()) {
    spec["priorityClassName"] = Name();
    spec["priorityClassSource"] =
        OneOf({"kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""});
  }
  Json status = Json::object();
  if (Sometimes()) status["accumulatedPastExexcutionTimeSeconds"] = *Below(99);
  if (Sometimes()) {
    Json levels = {"block", "rack", "host"};
    levels.erase(levels.begin(), levels.begin() + *Below(3));
    const std::size_t count = levels.size();
    status["admission"] = {
        {"clusterQueue", Name()},
        {"podSetAssignments",
         {{{"name", "main"},
           {"topologyAssignment", {{"levels", levels}, {"domains", Domains(count)}}}}}}};
  }
  return {{"spec", spec}, {"status", status}};
}

Json MultiKueueCluster() {
  Json spec = Json::object();
  const Json file = {{"location", Name()}, {"locationType", "Secret"}};
  if (Sometimes()) {
    spec["kubeConfig"] = file;
  } else {
    spec["clusterProfileRef"] = {{"name", Name()}};
    if (Sometimes()) spec["kubeConfig"] = {{"location", ""}, {"locationType", "Secret"}};
  }
  return {{"spec", spec}};
}

Json Cohort() {
  Json object = {{"spec", {{"parentName", Name()}}}};
  if (Sometimes()) object["status"] = {{"fairSharing", {{"weightedShare", *Below(9)}}}};
  return object;
}

Json OldCohort() {
  Json object = Cohort();
  if (Sometimes()) {
    object["status"]["fairSharing"]["admissionFairSharingStatus"] = {
        {"consumedResources", {{"cpu", Name()}}}};
  }
  return object;
}

Json WorkloadPriorityClass() { return {{"value", *Below(9)}, {"description", Name()}}; }

Json ProvisioningRequestConfig() {
  Json spec = {{"provisioningClassName", Name()}, {"parameters", {{"x", Name()}}}};
  if (Sometimes()) spec["managedResources"] = {Name()};
  if (Sometimes()) spec["retryStrategy"] = {{"backoffLimitCount", *Below(3)}};
  if (Sometimes()) spec["podSetMergePolicy"] = "IdenticalPodTemplates";
  return {{"spec", spec}};
}

Json MultiKueueConfig() { return {{"spec", {{"clusters", {Name(), Name()}}}}}; }
Json ResourceFlavor() { return {{"spec", {{"nodeLabels", {{"x", Name()}}}}}}; }
Json Topology() { return {{"spec", {{"levels", {{{"nodeLabel", Name()}}}}}}}; }
Json AdmissionCheck() {
  return {{"spec", {{"controllerName", Name()}, {"parameters", {{"kind", Name()}}}}}};
}

// Objects in v1beta2.

Json NewClusterQueue() {
  Json spec = {{"namespaceSelector", Json::object()}};
  if (Sometimes()) spec["cohortName"] = Name();
  if (Sometimes()) {
    Json check = {{"name", Name()}};
    if (Sometimes()) check["onFlavors"] = {Name()};
    spec["admissionChecksStrategy"] = {{"admissionChecks", {check}}};
  }
  if (Sometimes()) {
    spec["flavorFungibility"] = {{"whenCanBorrow", OneOf({"MayStopSearch", "TryNextFlavor"})},
                                 {"whenCanPreempt", OneOf({"MayStopSearch", "TryNextFlavor"})}};
  }
  if (Sometimes()) spec["concurrentAdmissionPolicy"] = {{"migration", {{"mode", Name()}}}};
  return {{"spec", spec}, {"status", {{"pendingWorkloads", *Below(5)}}}};
}

Json NewLocalQueue() {
  Json status = Json::object();
  if (Sometimes()) status["flavorsUsage"] = {{{"name", Name()}}};
  return {{"spec", {{"clusterQueue", Name()}}}, {"status", status}};
}

Json Slice(std::size_t levels) {
  const int domains = 1 + *Below(4);
  Json values = Json::array();
  for (std::size_t level = 0; level < levels; ++level) {
    if (Sometimes()) {
      values.push_back({{"universal", Name()}});
      continue;
    }
    Json individual = {{"roots", Json::array()}};
    for (int i = 0; i < domains; ++i) individual["roots"].push_back(Name());
    if (Sometimes()) individual["prefix"] = Name();
    if (Sometimes()) individual["suffix"] = Name();
    values.push_back({{"individual", individual}});
  }
  Json counts = {{"universal", 1 + *Below(3)}};
  if (Sometimes()) {
    Json each = Json::array();
    for (int i = 0; i < domains; ++i) each.push_back(1 + *Below(3));
    counts = {{"individual", each}};
  }
  return {{"domainCount", domains}, {"podCounts", counts}, {"valuesPerLevel", values}};
}

Json NewWorkload() {
  Json pods = {{"name", "main"}, {"count", 1 + *Below(4)}};
  if (Sometimes()) {
    pods["topologyRequest"] = {{"required", Name()}};
    if (Sometimes()) {
      pods["topologyRequest"]["podsetSliceRequiredTopologyConstraints"] = {{{"size", 2}}};
    }
  }
  Json spec = {{"queueName", Name()}, {"podSets", {pods}}};
  if (Sometimes()) {
    spec["priorityClassRef"] =
        Sometimes()
            ? Json{{"group", "kueue.x-k8s.io"}, {"kind", "WorkloadPriorityClass"}, {"name", Name()}}
            : Json{{"group", "scheduling.k8s.io"}, {"kind", "PriorityClass"}, {"name", Name()}};
  }
  if (Sometimes()) spec["preemptionGates"] = {{{"name", Name()}}};
  Json status = Json::object();
  if (Sometimes()) status["preemptionGates"] = {{{"name", Name()}}};
  if (Sometimes()) status["accumulatedPastExecutionTimeSeconds"] = *Below(99);
  if (Sometimes()) {
    Json levels = {"block", "rack", "host"};
    levels.erase(levels.begin(), levels.begin() + *Below(3));
    Json slices = Json::array();
    for (int i = *Below(3); i >= 0; --i) slices.push_back(Slice(levels.size()));
    status["admission"] = {
        {"clusterQueue", Name()},
        {"podSetAssignments",
         {{{"name", "main"}, {"topologyAssignment", {{"levels", levels}, {"slices", slices}}}}}}};
  }
  return {{"spec", spec}, {"status", status}};
}

Json NewMultiKueueCluster() {
  const Json source = Sometimes()
                          ? Json{{"kubeConfig", {{"location", Name()}, {"locationType", "Secret"}}}}
                          : Json{{"clusterProfileRef", {{"name", Name()}}}};
  return {{"spec", {{"clusterSource", source}}}};
}

struct Kind {
  const char* name;
  Json (*in_v1)();
  Json (*in_v2)();
};
constexpr Kind kKinds[] = {
    {"AdmissionCheck", AdmissionCheck, AdmissionCheck},
    {"ClusterQueue", ClusterQueue, NewClusterQueue},
    {"Cohort", OldCohort, Cohort},
    {"LocalQueue", LocalQueue, NewLocalQueue},
    {"MultiKueueCluster", MultiKueueCluster, NewMultiKueueCluster},
    {"MultiKueueConfig", MultiKueueConfig, MultiKueueConfig},
    {"ProvisioningRequestConfig", ProvisioningRequestConfig, ProvisioningRequestConfig},
    {"ResourceFlavor", ResourceFlavor, ResourceFlavor},
    {"Topology", Topology, Topology},
    {"Workload", Workload, NewWorkload},
    {"WorkloadPriorityClass", WorkloadPriorityClass, WorkloadPriorityClass},
};

Json ObjectOf(const Kind& kind, std::string_view version) {
  Json object = version == kV1 ? kind.in_v1() : kind.in_v2();
  object["kind"] = kind.name;
  object["apiVersion"] = version;
  object["metadata"] = {{"name", Name()}, {"annotations", {{"a", Name()}}}};
  return object;
}

template <typename Property>
void CheckKinds(Property property) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    CheckProperty(kCases, [&] { property(kind); });
  }
}

void ExpectSame(const Json& now, const Json& expected) {
  if (now != expected) RC_FAIL(expected.dump(2) + "\nbecame\n" + now.dump(2));
}

Json Converted(const Json& object, const char* version) {
  const Result<Json> result = Convert(object, version);
  if (!result) throw std::runtime_error(result.error().message + ": " + object.dump());
  return *result;
}

// The domains of an assignment's slices, as v1beta1 lists them.
Json Expanded(const Json& slices) {
  Json domains = Json::array();
  for (const Json& slice : slices) {
    for (std::size_t i = 0; i < slice["domainCount"].get<std::size_t>(); ++i) {
      Json values = Json::array();
      for (const Json& level : slice["valuesPerLevel"]) {
        const Json each = level.value("individual", Json());
        values.push_back(each.is_null()
                             ? level["universal"].get<std::string>()
                             : each.value("prefix", "") + each["roots"][i].get<std::string>() +
                                   each.value("suffix", ""));
      }
      const Json& counts = slice["podCounts"];
      domains.push_back(
          {{"count", counts.contains("universal") ? counts["universal"] : counts["individual"][i]},
           {"values", values}});
    }
  }
  return domains;
}

// A v1beta2 object without the fields that v1beta1 does not have, its topology as domains.
Json Meaning(Json object) {
  if (!object.contains("spec")) return object;
  Json& spec = object["spec"];
  for (const char* key : {"concurrentAdmissionPolicy", "preemptionGates"}) spec.erase(key);
  if (object["kind"] != "Workload") return object;
  object["status"].erase("preemptionGates");
  for (Json& pods : spec["podSets"]) {
    if (pods.contains("topologyRequest")) {
      pods["topologyRequest"].erase("podsetSliceRequiredTopologyConstraints");
    }
  }
  if (!object["status"].contains("admission")) return object;
  for (Json& each : object["status"]["admission"]["podSetAssignments"]) {
    Json& assignment = each["topologyAssignment"];
    assignment["slices"] = Expanded(assignment["slices"]);
  }
  return object;
}

// The fields that one version alone has.
struct OwnField {
  std::string_view kind;
  std::string_view version;
  const char* path;
};
constexpr OwnField kOwnFields[] = {
    {"ClusterQueue", kV1, "/spec/cohort"},
    {"ClusterQueue", kV1, "/spec/admissionChecks"},
    {"ClusterQueue", kV1, "/status/pendingWorkloadsStatus"},
    {"ClusterQueue", kV1, "/status/fairSharing/admissionFairSharingStatus"},
    {"ClusterQueue", kV2, "/spec/cohortName"},
    {"ClusterQueue", kV2, "/spec/concurrentAdmissionPolicy"},
    {"Cohort", kV1, "/status/fairSharing/admissionFairSharingStatus"},
    {"LocalQueue", kV1, "/status/flavorUsage"},
    {"LocalQueue", kV1, "/status/flavors"},
    {"LocalQueue", kV2, "/status/flavorsUsage"},
    {"MultiKueueCluster", kV1, "/spec/kubeConfig"},
    {"MultiKueueCluster", kV1, "/spec/clusterProfileRef"},
    {"MultiKueueCluster", kV2, "/spec/clusterSource"},
    {"Workload", kV1, "/spec/priorityClassName"},
    {"Workload", kV1, "/spec/priorityClassSource"},
    {"Workload", kV1, "/status/accumulatedPastExexcutionTimeSeconds"},
    {"Workload", kV1, "/status/admission/podSetAssignments/0/topologyAssignment/domains"},
    {"Workload", kV2, "/spec/priorityClassRef"},
    {"Workload", kV2, "/spec/preemptionGates"},
    {"Workload", kV2, "/spec/podSets/0/topologyRequest/podsetSliceRequiredTopologyConstraints"},
    {"Workload", kV2, "/status/preemptionGates"},
    {"Workload", kV2, "/status/accumulatedPastExecutionTimeSeconds"},
    {"Workload", kV2, "/status/admission/podSetAssignments/0/topologyAssignment/slices"},
};

TEST(ConversionPropertyTest, GeneratesEveryKindOfTheApi) {
  std::set<std::string> served;
  for (const auto& file : std::filesystem::directory_iterator(BERTH_CRDS)) {
    if (file.path().filename().string().rfind("kueue.x-k8s.io_", 0) != 0) continue;
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("    kind: ", 0) == 0) served.insert(line.substr(10));
    }
  }
  std::set<std::string> generated;
  for (const Kind& kind : kKinds) generated.insert(kind.name);
  EXPECT_EQ(generated, served);
}

TEST(ConversionPropertyTest, AnObjectHasNoFieldOfTheOtherVersion) {
  CheckKinds([](const Kind& kind) {
    const bool up = Sometimes();
    const std::string_view from = up ? kV1 : kV2;
    const char* to = up ? kV2 : kV1;
    const Json object = Converted(ObjectOf(kind, from), to);
    for (const OwnField& field : kOwnFields) {
      if (kind.name != field.kind || field.version != from) continue;
      if (object.contains(Json::json_pointer(field.path)))
        RC_FAIL(field.path + ("\n" + object.dump(2)));
    }
  });
}

TEST(ConversionPropertyTest, RoundTripOfAStoredObjectChangesNothing) {
  CheckKinds([](const Kind& kind) {
    const Json stored = Converted(ObjectOf(kind, kV1), kV2);
    ExpectSame(Converted(Converted(stored, kV1), kV2), stored);
  });
}

TEST(ConversionPropertyTest, ApplyingAManifestAgainChangesNothing) {
  CheckKinds([](const Kind& kind) {
    const Json manifest = ObjectOf(kind, kV1);
    const Json stored = Converted(manifest, kV2);
    Json now = stored;
    for (int times = 0; times < 3; ++times) {
      Json shown = Converted(now, kV1);
      shown.merge_patch(manifest);
      now = Converted(shown, kV2);
      ExpectSame(now, stored);
    }
  });
}

TEST(ConversionPropertyTest, RoundTripOfV1beta1KeepsTheMeaning) {
  CheckKinds([](const Kind& kind) {
    const Json first = Converted(Converted(ObjectOf(kind, kV1), kV2), kV1);
    ExpectSame(Converted(Converted(first, kV2), kV1), first);
  });
}

TEST(ConversionPropertyTest, RoundTripOfV1beta2KeepsTheMeaning) {
  CheckKinds([](const Kind& kind) {
    const Json stored = ObjectOf(kind, kV2);
    const Json again = Converted(Converted(stored, kV1), kV2);
    ExpectSame(Meaning(again), Meaning(stored));
    ExpectSame(Converted(Converted(again, kV1), kV2), again);
  });
}

// A client of v1beta1 writes the object back as read between two applies.
TEST(ConversionPropertyTest, ApplyingAV1beta2ManifestAgainChangesNothing) {
  CheckKinds([](const Kind& kind) {
    const Json manifest = ObjectOf(kind, kV2);
    Json now = manifest;
    for (int times = 0; times < 3; ++times) {
      now = Converted(Converted(now, kV1), kV2);
      now.merge_patch(manifest);
      ExpectSame(now, manifest);
    }
  });
}

TEST(ConversionPropertyTest, ApplyingAManifestOfAnotherVersionTwiceChangesOnce) {
  CheckKinds([](const Kind& kind) {
    const Json manifest = ObjectOf(kind, kV1);
    const auto apply = [&](const Json& stored) {
      Json shown = Converted(stored, kV1);
      shown.merge_patch(manifest);
      return Converted(shown, kV2);
    };
    const Json first = apply(ObjectOf(kind, kV2));
    ExpectSame(apply(first), first);
  });
}

}  // namespace
}  // namespace berth::webhook
