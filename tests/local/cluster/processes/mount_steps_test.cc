// Goal: the steps that show volumes at the paths of containers, and the refusals.
// Method: targets in a folder of the test; what stands beside them is this machine's. The steps are
// performed by pod_executor_test.cc.
#include "local/cluster/processes/mount_steps.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;
using Kind = MountStep::Kind;

class MountStepsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-mounts-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = fs::canonical(pattern);
    for (const char* folder : {"volume", "other", "here", "root"}) {
      fs::create_directory(base_ + "/" + folder);
    }
    std::ofstream(base_ + "/volume/file") << "x";
    std::ofstream(base_ + "/here/file") << "y";
    fs::create_directory_symlink(base_ + "/here", base_ + "/link");
  }
  void TearDown() override { fs::remove_all(base_); }

  Result<std::vector<MountStep>> Plan(std::vector<MountPoint> mounts) const {
    for (MountPoint& mount : mounts) {
      mount.source.insert(0, base_ + "/");
      mount.target.insert(0, base_ + "/");
    }
    return PlanMounts(mounts, base_ + "/root");
  }
  std::string RefusalOf(const MountPoint& mount) const {
    const auto planned = Plan({mount});
    return planned ? "" : planned.error().message;
  }

  std::string base_;
};

TEST_F(MountStepsTest, ExistingPathsAreMountedOver) {
  const auto steps = Plan({{"volume", "here"}, {"volume/file", "here/file"}, {"other", "link"}});
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_EQ(*steps, (std::vector<MountStep>{
                        {Kind::kBind, base_ + "/volume", base_ + "/here"},
                        {Kind::kBind, base_ + "/volume/file", base_ + "/here/file"},
                        {Kind::kBind, base_ + "/other", base_ + "/here"},
                    }));
  const auto reading = Plan({{"volume", "here", true}});
  ASSERT_TRUE(reading);
  ASSERT_EQ(reading->size(), 2U);
  EXPECT_EQ(reading->back().kind, Kind::kReadOnly);
  EXPECT_EQ(reading->back().to, base_ + "/here");
}

bool Has(const std::vector<MountStep>& steps, const MountStep& step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

// The file system that takes the folder's place shows all that the folder has beside the path.
TEST_F(MountStepsTest, MissingPathReplacesItsExistingFolder) {
  fs::create_directory(base_ + "/here/beside");
  fs::create_directory_symlink("beside", base_ + "/here/name");
  const auto steps = Plan({{"volume", "here/new/deep"}, {"other", "here/beside", true}});
  ASSERT_TRUE(steps) << steps.error().message;
  const std::string tree = base_ + "/root/0";
  EXPECT_EQ(steps->front(), (MountStep{Kind::kEmpty, "", base_ + "/root"}));
  EXPECT_EQ(steps->back(), (MountStep{Kind::kMove, tree, base_ + "/here"}));
  EXPECT_TRUE(Has(*steps, {Kind::kEmpty, "", tree}));
  EXPECT_TRUE(Has(*steps, {Kind::kFile, "", tree + "/file"}));
  EXPECT_TRUE(Has(*steps, {Kind::kShow, base_ + "/here/file", tree + "/file"}));
  EXPECT_TRUE(Has(*steps, {Kind::kLink, "beside", tree + "/name"}));
  EXPECT_TRUE(Has(*steps, {Kind::kFolder, "", tree + "/new"}));
  EXPECT_TRUE(Has(*steps, {Kind::kBind, base_ + "/volume", tree + "/new/deep"}));
  EXPECT_TRUE(Has(*steps, {Kind::kBind, base_ + "/other", tree + "/beside"}));
  EXPECT_FALSE(fs::exists(base_ + "/here/new"));
  for (const MountStep& step : *steps) EXPECT_NE(step.from, "/proc") << "the rest stays";
}

TEST_F(MountStepsTest, OutermostFolderOfMissingPathsIsReplaced) {
  fs::create_directories(base_ + "/here/inner/most");
  const auto steps = Plan({{"volume", "link/new"},
                           {"volume", "here/inner/most/new"},
                           {"other", "other/new"},
                           {"other", "volume"}});
  ASSERT_TRUE(steps) << steps.error().message;
  const std::string here = base_ + "/root/0";
  const std::string other = base_ + "/root/1";
  EXPECT_TRUE(Has(*steps, {Kind::kBind, base_ + "/volume", here + "/new"}));
  EXPECT_TRUE(Has(*steps, {Kind::kFolder, "", here + "/inner/most"}));
  EXPECT_TRUE(Has(*steps, {Kind::kBind, base_ + "/volume", here + "/inner/most/new"}));
  EXPECT_TRUE(Has(*steps, {Kind::kBind, base_ + "/other", other + "/new"}));
  EXPECT_TRUE(Has(*steps, {Kind::kBind, base_ + "/other", base_ + "/volume"}));
  EXPECT_EQ((*steps)[steps->size() - 2], (MountStep{Kind::kMove, here, base_ + "/here"}));
  EXPECT_EQ(steps->back(), (MountStep{Kind::kMove, other, base_ + "/other"}));
}

// The new root shows all that the machine has beside the path.
TEST_F(MountStepsTest, MissingPathsBelowTheRootReplaceTheRoot) {
  const std::string root = base_ + "/root";
  const auto steps = PlanMounts({{base_ + "/volume", "/berth-no-such-folder/deep"},
                                 {base_ + "/other", base_ + "/here/new"},
                                 {base_ + "/other", base_ + "/link"}},
                                root);
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_EQ(steps->front(), (MountStep{Kind::kEmpty, "", root}));
  EXPECT_EQ(steps->back(), (MountStep{Kind::kRoot, "", root}));
  EXPECT_TRUE(Has(*steps, {Kind::kShow, "/proc", root + "/proc"}));
  EXPECT_TRUE(Has(*steps, {Kind::kBind, base_ + "/volume", root + "/berth-no-such-folder/deep"}));
  EXPECT_TRUE(Has(*steps, {Kind::kFolder, "", root + base_ + "/here"}));
  EXPECT_TRUE(Has(*steps, {Kind::kShow, base_ + "/here/file", root + base_ + "/here/file"}));
  EXPECT_TRUE(Has(*steps, {Kind::kBind, base_ + "/other", root + base_ + "/here/new"}));
  EXPECT_TRUE(Has(*steps, {Kind::kBind, base_ + "/other", root + base_ + "/here"}));
}

TEST_F(MountStepsTest, VolumeIsMountedInsideAVolume) {
  const auto steps = Plan({{"volume", "here"}, {"other", "here/in/ner"}});
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_EQ(steps->back(), (MountStep{Kind::kBind, base_ + "/other", base_ + "/here/in/ner"}));
  EXPECT_TRUE(fs::is_directory(base_ + "/volume/in/ner"));
}

TEST_F(MountStepsTest, ImpossibleMountIsRefused) {
  EXPECT_EQ(RefusalOf({"none", "here"}), base_ + "/none is not there");
  EXPECT_EQ(RefusalOf({"volume/file", "here"}),
            "mountPath " + base_ + "/here: " + base_ + "/here is a folder, the volume a file");
  EXPECT_EQ(RefusalOf({"volume", "here/file"}),
            "mountPath " + base_ + "/here/file: " + base_ + "/here/file is not a folder");
  EXPECT_EQ(RefusalOf({"volume", "here/file/below"}),
            "mountPath " + base_ + "/here/file/below: " + base_ + "/here/file is not a folder");
  fs::create_directory(base_ + "/many");
  for (int i = 0; i < 3000; ++i) fs::create_directory(base_ + "/many/" + std::to_string(i));
  EXPECT_NE(RefusalOf({"volume", "many/new"}).find("too many entries"), std::string::npos);
}

}  // namespace
}  // namespace berth::local::cluster
