// Goal: paths below a root never leave it.
// Method: a folder with links that lead out, upwards, in a circle and nowhere.
#include "local/images/root_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace berth::local::images {
namespace {

namespace fs = std::filesystem;

class RootFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-root-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = fs::canonical(pattern);
    fs::create_directories(base_ + "/root/data/inner");
    fs::create_directory(base_ + "/outside");
    std::ofstream(base_ + "/outside/file") << "machine";
    std::ofstream(base_ + "/root/data/file") << "image";
    fs::create_symlink(base_ + "/outside", base_ + "/root/absolute");
    fs::create_symlink("../../outside", base_ + "/root/upwards");
    fs::create_symlink("/data", base_ + "/root/within");
    fs::create_symlink("circle", base_ + "/root/circle");
  }
  void TearDown() override { fs::remove_all(base_); }

  RootFolder Root() const { return *RootFolder::Open(base_ + "/root"); }
  std::string Located(const std::string& path) const {
    const auto place = Root().Locate(path);
    return place ? place->existing + " " + place->missing : "refused";
  }

  std::string base_;
};

TEST_F(RootFolderTest, LinksAreResolvedBelowTheRoot) {
  EXPECT_EQ(Located("/within/inner"), "/data/inner ");
  EXPECT_EQ(Located("/within/new/deep"), "/data new/deep");
  EXPECT_EQ(Located("/"), "/ ");
  EXPECT_EQ(Located("/absolute/file"), "refused");
  EXPECT_EQ(Located("/upwards/file"), "refused");
  EXPECT_EQ(Located("/circle/x"), "refused");
  EXPECT_EQ(Located("/data/../../outside"), "refused");
  EXPECT_EQ(Located("/data/file/below"), "refused");
  EXPECT_EQ(Root().ReadFile("/within/file", 100), "image");
  EXPECT_EQ(Root().ReadFile("/absolute/file", 100), std::nullopt);
  EXPECT_EQ(Root().ReadFile("/upwards/file", 100), std::nullopt);
  EXPECT_EQ(Root().ReadFile("/data", 100), std::nullopt);
}

TEST_F(RootFolderTest, FoldersAreCreatedOnlyBelowTheRoot) {
  EXPECT_TRUE(Root().MakeFolder({"within", "a", "b"}));
  EXPECT_TRUE(fs::is_directory(base_ + "/root/data/a/b"));
  EXPECT_EQ(fs::status(base_ + "/root/data/a").permissions(), fs::perms(0755));
  EXPECT_FALSE(Root().MakeFolder({"absolute", "a"}));
  EXPECT_FALSE(Root().MakeFolder({"upwards", "a"}));
  EXPECT_FALSE(Root().MakeFolder({"data", "file", "a"}));
  EXPECT_FALSE(fs::exists(base_ + "/outside/a"));
}

TEST_F(RootFolderTest, RemovingALinkLeavesItsTarget) {
  const int folder = open((base_ + "/root").c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_TRUE(RemoveEntry(folder, "absolute"));
  EXPECT_TRUE(RemoveEntry(folder, "data"));
  EXPECT_TRUE(RemoveEntry(folder, "nothing"));
  close(folder);
  EXPECT_FALSE(fs::exists(fs::symlink_status(base_ + "/root/absolute")));
  EXPECT_FALSE(fs::exists(base_ + "/root/data"));
  EXPECT_TRUE(fs::exists(base_ + "/outside/file"));
}

TEST_F(RootFolderTest, PathsOfArchivesAreSplitOrRefused) {
  EXPECT_EQ(*PathParts("./a//b/"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*PathParts("/a"), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(PathParts("/")->empty());
  EXPECT_FALSE(PathParts("a/../b"));
  EXPECT_FALSE(PathParts(std::string("a\0b", 3)));
  EXPECT_FALSE(PathParts(std::string(300, 'a')));
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "a/";
  EXPECT_FALSE(PathParts(deep));
}

}  // namespace
}  // namespace berth::local::images
