// local/images/image_documents.h — the JSON documents of an image folder.
//
//     index.json ──▶ (an index of platforms) ──▶ manifest ──▶ config, layers     image-spec 1.1
//     config.json beside rootfs/                                                  runtime-spec 1.2
//
// Pure: texts in, values out. Everything here comes from outside. Errors: kInvalid with the
// document's field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::local::images {

inline constexpr std::int64_t kMostDocumentBytes = 4 * 1024 * 1024;
inline constexpr std::size_t kMostLayers = 128;

enum class LayerCompression { kNone, kGzip, kZstd };

// A blob of the folder: blobs/sha256/<digest>.
struct BlobReference {
  std::string digest;  // 64 hexadecimal digits in lower case
  std::int64_t bytes = 0;
  friend bool operator==(const BlobReference&, const BlobReference&) = default;
};

struct LayerReference {
  BlobReference blob;
  LayerCompression compression = LayerCompression::kNone;
};

struct ManifestReference {
  BlobReference blob;
  bool is_index = false;  // an index again
};

struct ImageManifest {
  BlobReference config;
  std::vector<LayerReference> layers;  // the lowest first
};

// The program that the image declares.
struct ImageProgram {
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_folder;            // absolute; "": "/"
  std::string user;                      // "", "NAME", "UID", each with ":GROUP" or without
  friend bool operator==(const ImageProgram&, const ImageProgram&) = default;
};

// The image of an index for `architecture` ("amd64") on Linux: the only image of the index, or the
// first one for that platform.
Result<ManifestReference> ReadIndex(std::string_view text, std::string_view architecture);
Result<ImageManifest> ReadManifest(std::string_view text);
Result<ImageProgram> ReadImageConfig(std::string_view text);
// The config.json of a bundle of runtime-spec; its user is "UID:GID".
Result<ImageProgram> ReadRuntimeConfig(std::string_view text);

}  // namespace berth::local::images
