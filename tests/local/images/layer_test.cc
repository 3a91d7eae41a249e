// Goal: layers add, replace and remove files below their root, within bounds.
// Method: archives that the test writes, applied to a folder.
#include "local/images/layer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace berth::local::images {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The types of entries in a header.
constexpr char kFile = '0';
constexpr char kHardLink = '1';
constexpr char kLink = '2';
constexpr char kFolder = '5';
constexpr char kPipe = '6';

struct Entry {
  std::string path;
  std::string content;  // a link: its target
  char type = kFile;
  unsigned mode = 0644;
};

class LayerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-layer-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = fs::canonical(pattern);
    fs::create_directory(base_ + "/root");
  }
  void TearDown() override { fs::remove_all(base_); }

  // The archive as POSIX 1003.1-1988 (ustar) has it.
  std::string Write(const std::vector<Entry>& entries) const {
    std::string archive;
    for (const Entry& one : entries) {
      std::string header(512, '\0');
      const auto put = [&header](std::size_t at, const std::string& text) {
        header.replace(at, text.size(), text);
      };
      const bool has_data = one.type == kFile;
      put(0, one.path);
      put(100, fmt::format("{:07o}", one.mode));
      put(108, fmt::format("{:07o}", geteuid()));
      put(116, fmt::format("{:07o}", getegid()));
      put(124, fmt::format("{:011o}", has_data ? one.content.size() : 0));
      put(136, "00000000000");
      put(148, "        ");
      put(156, std::string(1, one.type));
      if (!has_data) put(157, one.content);
      put(257, std::string("ustar\00000", 8));
      unsigned sum = 0;
      for (const char byte : header) sum += static_cast<unsigned char>(byte);
      put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
      archive += header;
      if (!has_data) continue;
      archive += one.content;
      archive.resize((archive.size() + 511) / 512 * 512, '\0');
    }
    archive.resize(archive.size() + 1024, '\0');
    const std::string path = base_ + "/layer.tar";
    std::ofstream(path) << archive;
    return path;
  }

  std::string Apply(const std::vector<Entry>& entries, ImageBudget budget = {}) const {
    const auto root = RootFolder::Open(base_ + "/root");
    const Status applied = ApplyLayer(Write(entries), LayerCompression::kNone, *root, budget);
    return applied ? "" : applied.error().message;
  }

  std::set<std::string> Files() const {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(base_ + "/root")) {
      if (!entry.is_directory() || entry.is_symlink()) {
        files.insert(entry.path().lexically_relative(base_ + "/root"));
      }
    }
    return files;
  }
  std::string Read(const std::string& path) const {
    std::ifstream file(base_ + "/root/" + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string base_;
};

TEST_F(LayerTest, WhiteoutsRemoveFilesOfLowerLayers) {
  ASSERT_EQ(
      Apply({{"a/one", "1"}, {"a/two", "2"}, {"b/x/three", "3"}, {"b/x/four", "4"}, {"c", "5"}}),
      "");
  // The order within a layer does not count.
  ASSERT_EQ(
      Apply(
          {{"a/.wh.one", ""}, {"b/x/new", "6"}, {"b/.wh..wh..opq", ""}, {"c", "7"}, {".wh.c", ""}}),
      "");
  EXPECT_THAT(Files(), ElementsAre("a/two", "b/x/new", "c"));
  EXPECT_EQ(Read("c"), "7");
  ASSERT_EQ(Apply({{".wh.a", ""}, {"d/.wh..wh.plnk", ""}, {"d/.wh.nothing", ""}}), "");
  EXPECT_THAT(Files(), ElementsAre("b/x/new", "c"));
}

TEST_F(LayerTest, LaterEntriesReplaceEarlierOnes) {
  ASSERT_EQ(Apply({{"folder/file", "1"}, {"file", "2"}, {"link", "file", kLink}}), "");
  ASSERT_EQ(Apply({{"folder", "3"}, {"file/inner", "4"}}).substr(0, 5), "entry");  // under a file
  ASSERT_EQ(Apply({{"file", "", kFolder, 0755}, {"file/inner", "4"}, {"link", "5"}}), "");
  EXPECT_EQ(Read("file/inner"), "4");
  EXPECT_EQ(Read("link"), "5");
  EXPECT_FALSE(fs::is_symlink(base_ + "/root/link"));
}

TEST_F(LayerTest, LayersWriteNothingOutsideTheRoot) {
  fs::create_directory(base_ + "/outside");
  std::ofstream(base_ + "/outside/file") << "machine";
  EXPECT_THAT(Apply({{"../outside/new", "1"}}), HasSubstr("has \"..\""));
  EXPECT_NE(Apply({{"up", "../outside", kLink}, {"up/new", "1"}}), "");
  EXPECT_NE(Apply({{"abs", base_ + "/outside", kLink}, {"abs/new", "1"}}), "");
  EXPECT_EQ(Apply({{"up/.wh.file", ""}, {"abs/.wh..wh..opq", ""}}), "");
  EXPECT_NE(Apply({{"hard", "up/file", kHardLink}}), "");
  EXPECT_NE(Apply({{"hard", "../outside/file", kHardLink}}), "");
  EXPECT_THAT(Apply({{".wh...", ""}}), HasSubstr("names no file"));
  EXPECT_THAT(Apply({{".wh..", ""}}), HasSubstr("names no file"));
  // A link in the place of a file is replaced, not written through.
  ASSERT_EQ(Apply({{"through", base_ + "/outside/file", kLink}, {"through", "2"}}), "");
  std::ifstream file(base_ + "/outside/file");
  std::string text;
  file >> text;
  EXPECT_EQ(text, "machine");
  EXPECT_EQ(std::distance(fs::directory_iterator(base_ + "/outside"), fs::directory_iterator()), 1);
}

TEST_F(LayerTest, LayersAreBoundedAndLoseSetuidBits) {
  EXPECT_THAT(Apply({{"a", std::string(100, 'x')}}, {.bytes = 99, .entries = 10}),
              HasSubstr("too large"));
  EXPECT_THAT(Apply({{"a", ""}, {"b", ""}}, {.bytes = 99, .entries = 1}),
              HasSubstr("too many files"));
  ASSERT_EQ(
      Apply({{"program", "1", kFile, 06755}, {"open", "", kFolder, 01777}, {"pipe", "", kPipe}}),
      "");
  EXPECT_EQ(fs::status(base_ + "/root/program").permissions(), fs::perms(0755));
  EXPECT_EQ(fs::status(base_ + "/root/open").permissions(), fs::perms(01777));
  ASSERT_EQ(Apply({{"same", "program", kHardLink}, {"same", "same", kHardLink}}), "");
  EXPECT_EQ(Read("same"), "1");
  std::ofstream(base_ + "/noise") << std::string(2000, 'z');
  const auto root = RootFolder::Open(base_ + "/root");
  ImageBudget budget;
  EXPECT_FALSE(ApplyLayer(base_ + "/noise", LayerCompression::kNone, *root, budget));
  EXPECT_FALSE(ApplyLayer(base_ + "/noise", LayerCompression::kGzip, *root, budget));
}

}  // namespace
}  // namespace berth::local::images
