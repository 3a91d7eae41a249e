// Goal: a v1beta1 object of any kind survives conversion to v1beta2 and back with its meaning, and
// applying its manifest to the stored object changes nothing, however often.
//
// Method: random v1beta1 objects with fields that differ between the versions, and others. Apply is
// a merge patch on the stored object in v1beta1.
#include <nlohmann/json.hpp>

#include "tests/support/property.h"
#include "webhook/conversion.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
using berth::support::Below;
using berth::support::CheckProperty;
constexpr char kV1[] = "kueue.x-k8s.io/v1beta1";
constexpr char kV2[] = "kueue.x-k8s.io/v1beta2";
constexpr int kCases = 500;

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
  return {{"kind", "ClusterQueue"}, {"spec", spec}, {"status", status}};
}

Json LocalQueue() {
  Json status = Json::object();
  if (Sometimes()) status["flavorUsage"] = {{{"name", Name()}}};
  if (Sometimes()) status["flavors"] = {{{"name", Name()}}};
  return {{"kind", "LocalQueue"}, {"spec", {{"clusterQueue", Name()}}}, {"status", status}};
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
  return {{"kind", "Workload"}, {"spec", spec}, {"status", status}};
}

Json MultiKueueCluster() {
  Json spec = Json::object();
  if (Sometimes()) {
    spec["kubeConfig"] = {{"location", Name()}, {"locationType", "Secret"}};
  } else {
    spec["clusterProfileRef"] = {{"name", Name()}};
  }
  return {{"kind", "MultiKueueCluster"}, {"spec", spec}};
}

Json Other() {
  return {{"kind", OneOf({"Cohort", "ResourceFlavor", "AdmissionCheck", "Topology"})},
          {"spec", {{"parentName", Name()}, {"nodeLabels", {{"x", Name()}}}}}};
}

Json AnyObject() {
  Json object;
  switch (*Below(5)) {
    case 0: object = ClusterQueue(); break;
    case 1: object = LocalQueue(); break;
    case 2: object = Workload(); break;
    case 3: object = MultiKueueCluster(); break;
    default: object = Other(); break;
  }
  object["apiVersion"] = kV1;
  object["metadata"] = {{"name", Name()}, {"annotations", {{"a", Name()}}}};
  return object;
}

Json Converted(const Json& object, const char* version) {
  const Result<Json> result = Convert(object, version);
  if (!result) throw std::runtime_error(result.error().message + ": " + object.dump());
  return *result;
}

TEST(ConversionPropertyTest, TheWayDownAndUpChangesNothing) {
  CheckProperty(kCases, [] {
    const Json stored = Converted(AnyObject(), kV2);
    const Json again = Converted(Converted(stored, kV1), kV2);
    if (again != stored) RC_FAIL(stored.dump(2) + "\nbecame\n" + again.dump(2));
  });
}

TEST(ConversionPropertyTest, ApplyingAManifestAgainChangesNothing) {
  CheckProperty(kCases, [] {
    const Json manifest = AnyObject();
    const Json stored = Converted(manifest, kV2);
    Json now = stored;
    for (int times = 0; times < 3; ++times) {
      Json shown = Converted(now, kV1);
      shown.merge_patch(manifest);
      now = Converted(shown, kV2);
      if (now != stored) RC_FAIL(stored.dump(2) + "\nbecame\n" + now.dump(2));
    }
  });
}

TEST(ConversionPropertyTest, WhatV1beta1SaysComesBackWithTheSameMeaning) {
  CheckProperty(kCases, [] {
    const Json first = Converted(Converted(AnyObject(), kV2), kV1);
    const Json second = Converted(Converted(first, kV2), kV1);
    if (second != first) RC_FAIL(first.dump(2) + "\nbecame\n" + second.dump(2));
  });
}

}  // namespace
}  // namespace berth::webhook
