// Goal: claims get folders, keep them while pods use them, and lose them with the claim; volumes
// that people made are found. Method: virtual time on the embedded API in memory, folders in a
// temporary place.
#include "local/cluster/volumes/volume_controller.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "local/cluster/garbage/garbage_collector.h"
#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/apiserver/store/temp_folder.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

class VolumeControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folders_.Open());
    for (const ResourceId* resource :
         {&kStorageClasses, &kPersistentVolumes, &kPersistentVolumeClaims, &kPods}) {
      ASSERT_TRUE(cache_.Track(*resource));
    }
    volumes_.Start();
    Play();
  }
  void Play() { executor_.RunFor(std::chrono::seconds(2)); }

  void CreateClaim(const std::string& name, const Json& more = Json::object()) {
    Json spec = {{"accessModes", {"ReadWriteOnce"}},
                 {"resources", {{"requests", {{"storage", "1Gi"}}}}}};
    spec.merge_patch(more);
    const auto created = api_.Create(kPersistentVolumeClaims, "default",
                                     {{"metadata", {{"name", name}}}, {"spec", spec}}, {});
    ASSERT_TRUE(created) << created.error().message;
    Play();
  }
  void CreatePod(const std::string& name, const Json& source) {
    Json volume = source;
    volume["name"] = "data";
    const Json pod = {{"metadata", {{"name", name}}},
                      {"spec",
                       {{"nodeName", "n"},
                        {"volumes", Json::array({volume})},
                        {"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}};
    const auto created = api_.Create(kPods, "default", pod, {});
    ASSERT_TRUE(created) << created.error().message;
    Play();
  }
  void Delete(const ResourceId& resource, const std::string& space, const std::string& name) {
    DeleteOptions options;
    options.grace_period_seconds = 0;
    ASSERT_TRUE(api_.Delete(resource, space, name, options));
    Play();
  }
  Json Claim(const std::string& name) {
    const auto found = api_.Get(kPersistentVolumeClaims, "default", name);
    return found ? **found : Json();
  }
  std::string Phase(const std::string& claim) {
    return StringAt(Claim(claim), {"status", "phase"});
  }
  Json Volume(const std::string& name) {
    const auto found = api_.Get(kPersistentVolumes, "", name);
    return found ? **found : Json();
  }
  Json VolumeOf(const std::string& claim) {
    return Volume(StringAt(Claim(claim), {"spec", "volumeName"}));
  }
  std::string LastEvent(const std::string& claim) {
    Play();
    std::string text;
    const auto events = api_.List(kEvents, "default", {});
    for (const Object& event : events->items) {
      if (StringAt(*event, {"involvedObject", "name"}) == claim) {
        text = StringAt(*event, {"reason"}) + ": " + StringAt(*event, {"message"});
      }
    }
    return text;
  }

  TempFolder temp_;
  PodFolders folders_{temp_.path() + "/pods", temp_.path() + "/work", std::nullopt};
  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  VolumeController volumes_{api_, cache_, executor_, executor_, clock_, folders_};
};

TEST_F(VolumeControllerTest, ClaimIsBoundToAFolderAndReleasesIt) {
  CreateClaim("c");
  const Json claim = Claim("c");
  EXPECT_EQ(claim["spec"]["storageClassName"], "standard");
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(claim["status"]["capacity"]["storage"], "1Gi");
  const Json volume = VolumeOf("c");
  EXPECT_EQ(volume["status"]["phase"], "Bound");
  EXPECT_EQ(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
  EXPECT_EQ(LastEvent("c"),
            "ProvisioningSucceeded: Successfully provisioned volume " + NameOf(volume));
  const std::string folder = volume["spec"]["hostPath"]["path"];
  EXPECT_TRUE(fs::is_directory(folder));
  Delete(kPersistentVolumeClaims, "default", "c");
  EXPECT_TRUE(Claim("c").is_null());
  EXPECT_TRUE(Volume(NameOf(volume)).is_null());
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(VolumeControllerTest, ClaimInUseIsKept) {
  CreateClaim("c");
  const std::string folder = VolumeOf("c")["spec"]["hostPath"]["path"];
  CreatePod("p", {{"persistentVolumeClaim", {{"claimName", "c"}}}});
  const Object pod = *api_.Get(kPods, "default", "p");
  const auto found = ClaimFoldersOf(cache_, folders_, *pod);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->at("data").path, folder);
  Delete(kPersistentVolumeClaims, "default", "c");
  EXPECT_TRUE(IsDeleting(Claim("c")));
  EXPECT_EQ(ClaimsRefusal(cache_, *pod), "persistentvolumeclaim \"c\" is being deleted");
  Delete(kPods, "default", "p");
  EXPECT_TRUE(Claim("c").is_null());
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(VolumeControllerTest, RetainedVolumeIsReleased) {
  Json retain = DefaultStorageClass();
  retain["metadata"] = {{"name", "kept"}};
  retain["reclaimPolicy"] = "Retain";
  ASSERT_TRUE(api_.Create(kStorageClasses, "", retain, {}));
  CreateClaim("c", {{"storageClassName", "kept"}});
  const Json volume = VolumeOf("c");
  Delete(kPersistentVolumeClaims, "default", "c");
  EXPECT_EQ(Volume(NameOf(volume))["status"]["phase"], "Released");
  EXPECT_TRUE(fs::is_directory(volume["spec"]["hostPath"]["path"].get<std::string>()));
  Delete(kPersistentVolumes, "", NameOf(volume));
  EXPECT_TRUE(Volume(NameOf(volume)).is_null());
}

TEST_F(VolumeControllerTest, SmallestSufficientVolumeIsBound) {
  for (const auto& [name, size] : {std::pair("small", "1Gi"), {"large", "9Gi"}, {"fit", "5Gi"}}) {
    ASSERT_TRUE(api_.Create(kPersistentVolumes, "",
                            {{"metadata", {{"name", name}}},
                             {"spec",
                              {{"accessModes", {"ReadWriteOnce"}},
                               {"capacity", {{"storage", size}}},
                               {"storageClassName", "mine"},
                               {"hostPath", {{"path", "/nowhere"}}}}}},
                            {}));
  }
  Play();
  EXPECT_EQ(Volume("fit")["status"]["phase"], "Available");
  CreateClaim("c",
              {{"storageClassName", "mine"}, {"resources", {{"requests", {{"storage", "3Gi"}}}}}});
  EXPECT_EQ(Claim("c")["spec"]["volumeName"], "fit");
  EXPECT_EQ(Phase("c"), "Bound");
  CreateClaim("d",
              {{"storageClassName", "mine"}, {"resources", {{"requests", {{"storage", "30Gi"}}}}}});
  EXPECT_EQ(Phase("d"), "Pending");
  EXPECT_EQ(LastEvent("d"), "ProvisioningFailed: storageclass.storage.k8s.io \"mine\" not found");
  // Its folder is not one of ours: the pod runs without it.
  CreatePod("p", {{"persistentVolumeClaim", {{"claimName", "c"}}}});
  EXPECT_TRUE(ClaimFoldersOf(cache_, folders_, **api_.Get(kPods, "default", "p"))->empty());
  Delete(kPersistentVolumes, "", "fit");
  EXPECT_TRUE(IsDeleting(Volume("fit"))) << "a bound volume is protected";
}

TEST_F(VolumeControllerTest, ClaimWaitsForItsFirstPod) {
  Json late = DefaultStorageClass();
  late["metadata"] = {{"name", "late"}};
  late["volumeBindingMode"] = "WaitForFirstConsumer";
  ASSERT_TRUE(api_.Create(kStorageClasses, "", late, {}));
  CreateClaim("c", {{"storageClassName", "late"}});
  EXPECT_EQ(Phase("c"), "Pending");
  EXPECT_EQ(LastEvent("c"),
            "WaitForFirstConsumer: waiting for first consumer to be created before binding");
  CreatePod("p", {{"persistentVolumeClaim", {{"claimName", "c"}, {"readOnly", true}}}});
  EXPECT_EQ(Phase("c"), "Bound");
  const auto found = ClaimFoldersOf(cache_, folders_, **api_.Get(kPods, "default", "p"));
  EXPECT_TRUE(found->at("data").read_only);
}

TEST_F(VolumeControllerTest, EphemeralVolumeHasItsOwnClaim) {
  CreatePod("p", {{"ephemeral",
                   {{"volumeClaimTemplate",
                     {{"spec",
                       {{"accessModes", {"ReadWriteOnce"}},
                        {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}}}}}});
  EXPECT_EQ(Phase("p-data"), "Bound");
  EXPECT_EQ(Claim("p-data")["metadata"]["ownerReferences"][0]["kind"], "Pod");
  const auto found = ClaimFoldersOf(cache_, folders_, **api_.Get(kPods, "default", "p"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->contains("data"));
}

TEST_F(VolumeControllerTest, ClaimGrowsAndItsLossIsReported) {
  CreateClaim("c");
  const auto grown =
      api_.Patch(kPersistentVolumeClaims, "default", "c", PatchType::kMerge,
                 {{"spec", {{"resources", {{"requests", {{"storage", "2Gi"}}}}}}}}, {});
  ASSERT_TRUE(grown) << grown.error().message;
  Play();
  EXPECT_EQ(Claim("c")["status"]["capacity"]["storage"], "2Gi");
  EXPECT_EQ(VolumeOf("c")["spec"]["capacity"]["storage"], "2Gi");
  const std::string volume = NameOf(VolumeOf("c"));
  ASSERT_TRUE(api_.Patch(kPersistentVolumes, "", volume, PatchType::kMerge,
                         {{"metadata", {{"finalizers", nullptr}}}}, {}));
  Delete(kPersistentVolumes, "", volume);
  EXPECT_EQ(Phase("c"), "Lost");
}

}  // namespace
}  // namespace berth::local::cluster
