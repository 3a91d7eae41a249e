// Goal: the documents of an image folder, and the refusals.
// Method: rows of texts.
#include "local/images/image_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::local::images {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kDigest(64, 'a');

std::string Descriptor(const std::string& fields) {
  return R"({"digest": "sha256:)" + kDigest + R"(", "size": 5)" + fields + "}";
}

std::string Index(const std::string& descriptors) {
  return R"({"manifests": [)" + descriptors + "]}";
}

template <typename T>
std::string RefusalOf(const Result<T>& result) {
  return result ? "" : result.error().message;
}

TEST(ImageDocumentsTest, IndexNamesTheImageOfThePlatform) {
  const std::string other =
      R"({"digest": "sha256:)" + std::string(64, 'b') +
      R"(", "size": 1, "platform": {"os": "linux", "architecture": "arm64"}})";
  const std::string own = Descriptor(R"(, "platform": {"os": "linux", "architecture": "amd64"})");
  const auto found = ReadIndex(Index(other + "," + own), "amd64");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->blob, (BlobReference{kDigest, 5}));
  EXPECT_FALSE(found->is_index);
  EXPECT_THAT(RefusalOf(ReadIndex(Index(other), "amd64")), HasSubstr("no image for linux/amd64"));
  const auto inner = ReadIndex(
      Index(Descriptor(R"(, "mediaType": "application/vnd.oci.image.index.v1+json")")), "x");
  ASSERT_TRUE(inner);
  EXPECT_TRUE(inner->is_index);
}

TEST(ImageDocumentsTest, MalformedDigestsAreRefused) {
  for (const std::string digest :
       {"sha256:../../etc/passwd", "sha256:", "md5:aa", "",
        "sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}) {
    const std::string index = Index(R"({"digest": ")" + digest + R"(", "size": 5})");
    EXPECT_THAT(RefusalOf(ReadIndex(index, "amd64")), HasSubstr("write sha256:DIGITS")) << digest;
  }
  EXPECT_THAT(
      RefusalOf(ReadIndex(Index(R"({"digest": "sha256:)" + kDigest + R"(", "size": -1})"), "x")),
      HasSubstr("size"));
}

TEST(ImageDocumentsTest, ManifestListsLayers) {
  const auto layer = [](const std::string& type) {
    return Descriptor(R"(, "mediaType": ")" + type + "\"");
  };
  const auto manifest =
      ReadManifest(R"({"config": )" + Descriptor("") + R"(, "layers": [)" +
                   layer("application/vnd.oci.image.layer.v1.tar") + "," +
                   layer("application/vnd.oci.image.layer.v1.tar+gzip") + "," +
                   layer("application/vnd.oci.image.layer.v1.tar+zstd") + "," +
                   layer("application/vnd.docker.image.rootfs.diff.tar.gzip") + "]}");
  ASSERT_TRUE(manifest) << manifest.error().message;
  std::vector<LayerCompression> found;
  for (const LayerReference& one : manifest->layers) found.push_back(one.compression);
  EXPECT_THAT(found, ElementsAre(LayerCompression::kNone, LayerCompression::kGzip,
                                 LayerCompression::kZstd, LayerCompression::kGzip));
  const std::string squashed = R"({"config": )" + Descriptor("") + R"(, "layers": [)" +
                               layer("application/x-squashfs") + "]}";
  EXPECT_THAT(RefusalOf(ReadManifest(squashed)), HasSubstr("not a tar archive"));
  EXPECT_THAT(RefusalOf(ReadManifest("{}")), HasSubstr("config"));
  EXPECT_THAT(RefusalOf(ReadManifest("[]")), HasSubstr("write an object"));
}

TEST(ImageDocumentsTest, ConfigNamesTheProgram) {
  const auto program = ReadImageConfig(
      R"({"config": {"Entrypoint": ["e"], "Cmd": ["c"], "Env": ["A=b=c"], "WorkingDir": "/w", "User": "u:g"}})");
  ASSERT_TRUE(program);
  EXPECT_EQ(*program, (ImageProgram{{"e"}, {"c"}, {"A=b=c"}, "/w", "u:g"}));
  EXPECT_EQ(*ReadImageConfig(R"({"config": {"Cmd": null}})"), ImageProgram{});
  EXPECT_THAT(RefusalOf(ReadImageConfig(R"({"config": {"Env": ["A"]}})")), HasSubstr("NAME=value"));
  EXPECT_THAT(RefusalOf(ReadImageConfig(R"({"config": {"WorkingDir": "w"}})")),
              HasSubstr("absolute"));
  EXPECT_THAT(RefusalOf(ReadImageConfig(R"({"config": {"Cmd": ["a\u0000b"]}})")),
              HasSubstr("zero bytes"));
  EXPECT_EQ(
      ReadRuntimeConfig(R"({"process": {"args": ["a"], "user": {"uid": 5, "gid": 6}}})")->user,
      "5:6");
}

}  // namespace
}  // namespace berth::local::images
