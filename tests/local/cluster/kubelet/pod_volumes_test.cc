// Goal: the files of volumes, and the places where containers see them.
// Method: rows with one volume or one mount each; whole values are compared.
#include "local/cluster/kubelet/pod_volumes.h"

#include <gtest/gtest.h>

namespace berth::local::cluster {
namespace {

Json VolumeData(DataKind kind, const std::string& name) {
  if (name == "none") return nullptr;
  if (kind == DataKind::kConfigMap) return {{"a", "1"}, {"b", "2"}};
  return {{"key", "secret"}};
}

Json PodWith(const std::string& volume) {
  Json pod = Json::parse(R"({"metadata": {"name": "p", "namespace": "n", "uid": "u",
      "labels": {"app": "x", "quoted": "a\"b"}},
      "spec": {"containers": [{"name": "c", "resources": {"limits": {"memory": "64Mi"}}}]}})");
  pod["spec"]["volumes"] = Json::array({Json::parse(volume)});
  return pod;
}

struct VolumeRow {
  const char* volume;
  PodVolume expected;
};

TEST(PodVolumesTest, VolumeHasTheFilesOfItsSources) {
  const std::vector<VolumeRow> rows = {
      {R"({"name": "v", "emptyDir": {"medium": "Memory"}})", {"v", true, false, {}}},
      {R"({"name": "v"})", {"v", true, false, {}}},
      {R"({"name": "v", "configMap": {"name": "m"}})",
       {"v", false, false, {{"a", "1", 0644}, {"b", "2", 0644}}}},
      {R"({"name": "v", "configMap": {"name": "m", "defaultMode": 256,
           "items": [{"key": "b", "path": "deep/er"}, {"key": "a", "path": "x", "mode": 493}]}})",
       {"v", false, false, {{"deep/er", "2", 0400}, {"x", "1", 0755}}}},
      {R"({"name": "v", "configMap": {"name": "none", "optional": true}})",
       {"v", false, false, {}}},
      {R"({"name": "v", "configMap": {"name": "m", "optional": true,
           "items": [{"key": "other", "path": "x"}]}})",
       {"v", false, false, {}}},
      {R"({"name": "v", "secret": {"secretName": "s"}})",
       {"v", false, false, {{"key", "secret", 0644}}}},
      {R"({"name": "v", "downwardAPI": {"items": [
           {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
           {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
           {"path": "mib", "resourceFieldRef": {"containerName": "c", "resource": "limits.memory",
            "divisor": "1Mi"}}]}})",
       {"v",
        false,
        false,
        {{"labels", "app=\"x\"\nquoted=\"a\\\"b\"", 0644},
         {"name", "p", 0644},
         {"mib", "64", 0644}}}},
      {R"({"name": "v", "projected": {"sources": [
           {"configMap": {"name": "m"}}, {"secret": {"name": "s", "items": [
           {"key": "key", "path": "a"}]}}, {"serviceAccountToken": {"path": "token"}}]}})",
       {"v", false, false, {{"a", "secret", 0644}, {"b", "2", 0644}}}},
  };
  for (const VolumeRow& row : rows) {
    const auto volumes = PlanVolumes(PodWith(row.volume), VolumeData);
    ASSERT_TRUE(volumes) << row.volume << volumes.error().message;
    ASSERT_EQ(volumes->size(), 1U) << row.volume;
    EXPECT_EQ(volumes->front(), row.expected) << row.volume;
  }
}

TEST(PodVolumesTest, ProjectedTokensAreRequested) {
  const Json pod = PodWith(R"({"name": "v", "projected": {"defaultMode": 420, "sources": [
      {"serviceAccountToken": {"path": "token"}},
      {"serviceAccountToken": {"path": "vault/token", "audience": "vault", "expirationSeconds": 700}}]}})");
  const auto volumes =
      PlanVolumes(pod, VolumeData, [](const std::string& audience, std::int64_t valid_seconds) {
        return Result<std::string>("token for " + (audience.empty() ? "the API" : audience) + ", " +
                                   std::to_string(valid_seconds) + " s");
      });
  ASSERT_TRUE(volumes) << volumes.error().message;
  EXPECT_EQ(volumes->front(), (PodVolume{"v",
                                         false,
                                         true,
                                         {{"token", "token for the API, 3600 s", 0644},
                                          {"vault/token", "token for vault, 700 s", 0644}}}));
  const auto refused = PlanVolumes(pod, VolumeData, [](const std::string&, std::int64_t) {
    return Result<std::string>(Error{ErrorCode::kUnavailable, "no tokens today"});
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "MountVolume.SetUp failed for volume \"v\" : no tokens today");
}

TEST(PodVolumesTest, ClaimsAreNotPlannedAsVolumes) {
  const auto volumes = PlanVolumes(
      PodWith(R"({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})"), VolumeData);
  ASSERT_TRUE(volumes);
  EXPECT_TRUE(volumes->empty());
}

TEST(PodVolumesTest, MissingSourcesAndWrongPathsAreNamed) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {R"({"name": "v", "configMap": {"name": "none"}})", "configmap \"none\" not found"},
      {R"({"name": "v", "secret": {"secretName": "none"}})", "secret \"none\" not found"},
      {R"({"name": "v", "configMap": {"name": "m", "items": [{"key": "z", "path": "z"}]}})",
       "references non-existent config key: z"},
      {R"({"name": "v", "configMap": {"name": "m", "items": [{"key": "a", "path": "../a"}]}})",
       "path \"../a\" leads out of the volume: write a relative path without .."},
  };
  for (const auto& [volume, message] : rows) {
    const auto volumes = PlanVolumes(PodWith(volume), VolumeData);
    ASSERT_FALSE(volumes) << volume;
    EXPECT_EQ(volumes.error().message,
              std::string("MountVolume.SetUp failed for volume \"v\" : ") + message);
  }
}

Result<std::vector<PodMount>> Mounts(const std::string& volume, const std::string& mounts) {
  return MountsOf(PodWith(volume), {{"volumeMounts", Json::parse(mounts)}}, "/volumes",
                  {{"DAY", "monday"}});
}

TEST(PodVolumesTest, EachMountHasItsSubPathAndFollowsOuterMounts) {
  const auto empty = Mounts(R"({"name": "v", "emptyDir": {}})",
                            R"j([{"name": "v", "mountPath": "/data/deep/", "readOnly": true},
      {"name": "v", "mountPath": "/data", "subPathExpr": "logs/$(DAY)"},
      {"name": "other", "mountPath": "/other"}])j");
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(*empty, (std::vector<PodMount>{
                        {"/volumes/v", "logs/monday", "/data", false, true},
                        {"/volumes/v", "", "/data/deep", true, true},
                    }));
  const auto files = Mounts(R"({"name": "v", "secret": {"secretName": "s"}})",
                            R"([{"name": "v", "mountPath": "/etc/key", "subPath": "key"}])");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(*files, (std::vector<PodMount>{{"/volumes/v", "key", "/etc/key", true, false}}));
}

TEST(PodVolumesTest, ClaimIsMountedFromItsFolder) {
  const Json pod = PodWith(R"({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})");
  const Json container = {
      {"volumeMounts", Json::parse(R"([{"name": "v", "mountPath": "/data"}])")}};
  for (const bool read_only : {false, true}) {
    const auto mounts =
        MountsOf(pod, container, "/volumes", {}, {{"v", {"/claims/pvc-1", read_only}}});
    ASSERT_TRUE(mounts) << mounts.error().message;
    EXPECT_EQ(*mounts, (std::vector<PodMount>{{"/claims/pvc-1", "", "/data", read_only, true}}));
  }
  EXPECT_TRUE(MountsOf(pod, container, "/volumes", {})->empty()) << "a volume that is no folder";
}

TEST(PodVolumesTest, BadMountsAreRefused) {
  for (const auto& [mount, word] : std::vector<std::pair<const char*, const char*>>{
           {R"([{"name": "v", "mountPath": "relative"}])", "mountPath"},
           {R"([{"name": "v", "mountPath": "/data/.."}])", "mountPath"},
           {R"([{"name": "v", "mountPath": "/data", "subPath": "../up"}])", "subPath"},
           {R"([{"name": "v", "mountPath": "/data", "subPath": "/etc"}])", "subPath"}}) {
    const auto mounts = Mounts(R"({"name": "v", "emptyDir": {}})", mount);
    ASSERT_FALSE(mounts) << mount;
    EXPECT_NE(mounts.error().message.find(word), std::string::npos) << mounts.error().message;
  }
}

}  // namespace
}  // namespace berth::local::cluster
