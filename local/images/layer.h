// local/images/layer.h — applies a layer of an image to a folder.
//
//     archive (tar, plain, gzip or zstd) ──libarchive──▶ entries ──▶ files below the root
//
// The rules are those of image-spec 1.1 (layer.md): a file ".wh.NAME" removes NAME of lower layers,
// ".wh..wh..opq" everything of lower layers in its folder. Names lead nowhere but into the root
// (root_folder.h); an archive with ".." is refused. Device nodes, extended attributes and the bits
// setuid and setgid are left out. If this process is root, files get the owners that the archive
// names.
//
// Threads: any thread. Errors: kInvalid: the archive's fault, with the entry; kUnavailable: the
// machine's, such as a full disk.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "local/images/image_documents.h"
#include "local/images/root_folder.h"

namespace berth::local::images {

// The limits of all layers of an image together.
struct ImageLimits {
  std::int64_t most_bytes = 32LL * 1024 * 1024 * 1024;
  std::int64_t most_entries = 2'000'000;
};

// The remaining part of an image's limits.
struct ImageBudget {
  std::int64_t bytes = ImageLimits{}.most_bytes;
  std::int64_t entries = ImageLimits{}.most_entries;
};

Status ApplyLayer(const std::string& archive, LayerCompression compression, const RootFolder& root,
                  ImageBudget& budget);

}  // namespace berth::local::images
