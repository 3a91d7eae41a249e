// Goal: the program of an image, and its command line.
// Method: rows.
#include "local/cluster/kubelet/image_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::local::cluster {
namespace {

using ::testing::ElementsAre;

std::string Path(const ImageMap& images, const std::string& image) {
  const auto program = images.Find(image);
  return program ? program->path : "none";
}

TEST(ImageMapTest, FindsImagesByNameTagAndDigest) {
  ImageMap images;
  ASSERT_TRUE(images.Add("busybox", "/bin/sh"));
  ASSERT_TRUE(images.Add("localhost:5000/app", "/opt/app"));
  ASSERT_TRUE(images.Add("tool:v2", "/opt/tool2"));
  EXPECT_EQ(Path(images, "busybox"), "/bin/sh");
  EXPECT_EQ(Path(images, "busybox:1.36"), "/bin/sh");
  EXPECT_EQ(Path(images, "docker.io/library/busybox@sha256:abc"), "/bin/sh");
  EXPECT_EQ(Path(images, "localhost:5000/app"), "/opt/app");
  EXPECT_EQ(Path(images, "localhost:5000/app:v1"), "/opt/app");
  EXPECT_EQ(Path(images, "tool:v2"), "/opt/tool2");
  EXPECT_EQ(Path(images, "tool:v1"), "none");
  EXPECT_EQ(Path(images, "gcr.io/k8s-staging-perf-tests/sleep:v0.0.3"), "/bin/sleep");
}

TEST(ImageMapTest, AnEmptyNameOrARelativePathIsRefused) {
  ImageMap images;
  EXPECT_EQ(images.Add("", "/bin/sh").error().message, "image: the name is empty");
  EXPECT_EQ(images.Add("x", "bin/sh").error().message,
            "image x: \"bin/sh\" is not an absolute path");
}

TEST(ImageMapTest, TheCommandLineComesFromImageCommandAndArguments) {
  const LocalProgram shell{"/bin/sh"};
  EXPECT_THAT(MakeCommandLine(shell, {}, {"-c", "true"}), ElementsAre("/bin/sh", "-c", "true"));
  EXPECT_THAT(MakeCommandLine(shell, {"sh", "-c"}, {"true"}), ElementsAre("/bin/sh", "-c", "true"));
  EXPECT_THAT(MakeCommandLine(shell, {"/bin/echo"}, {"1s"}), ElementsAre("/bin/echo", "1s"));
  const LocalProgram sleep{"/bin/sleep", LocalProgram::Arguments::kDurationInSeconds};
  EXPECT_THAT(MakeCommandLine(sleep, {}, {"1m30s"}), ElementsAre("/bin/sleep", "90"));
  EXPECT_THAT(MakeCommandLine(sleep, {}, {"250ms"}), ElementsAre("/bin/sleep", "0.25"));
  EXPECT_THAT(MakeCommandLine(sleep, {}, {"--help"}), ElementsAre("/bin/sleep", "--help"));
}

TEST(ImageMapTest, AGoDurationNeedsANumberAndAUnit) {
  EXPECT_EQ(ParseGoDuration("120s"), 120);
  EXPECT_EQ(ParseGoDuration("1.5h"), 5400);
  EXPECT_EQ(ParseGoDuration(""), std::nullopt);
  EXPECT_EQ(ParseGoDuration("120"), std::nullopt);
  EXPECT_EQ(ParseGoDuration("5x"), std::nullopt);
  EXPECT_EQ(ParseGoDuration("s"), std::nullopt);
}

}  // namespace
}  // namespace berth::local::cluster
