// local/images/image_folder.h — an image of a folder as a root for programs.
//
//     DIR/index.json, DIR/blobs/   an image layout (image-spec 1.1): its layers are unpacked once
//     DIR/config.json, DIR/rootfs  a bundle (runtime-spec): used where it is
//                 │
//                 ▼
//     STORE/<digest of the manifest>/   the root; what programs write goes elsewhere
//
// Threads: any thread; one call for a store at a time. Blocks: the first call for an image unpacks
// it. Errors: kInvalid: not an image, or a damaged one, with the file; kUnavailable: the disk.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/images/layer.h"

namespace berth::local::images {

struct ImageRoot {
  std::string folder;  // absolute, without links
  std::string digest;  // the digest of the manifest; empty: a bundle
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string working_folder = "/";
  std::int64_t user = 0;
  std::int64_t group = 0;
  std::string home = "/";
};

// The image of `folder`; layouts are unpacked into a folder of `store`.
Result<ImageRoot> OpenImage(const std::string& folder, const std::string& store,
                            const ImageLimits& limits = {});

// Removes all images of the store except those with these digests.
void KeepImages(const std::string& store, const std::vector<std::string>& digests);

// Sets the user and group of `root` to `user` ("", "NAME", "UID", each with ":GROUP" or without),
// by the files /etc/passwd and /etc/group of the image. kInvalid: no such user.
Status SetUser(ImageRoot& root, const std::string& user);

// The path of the program `name` in the image: `name` itself if it has a slash, else the first one
// in the folders of `path` ("/usr/bin:/bin"). kInvalid: no such program.
Result<std::string> FindProgram(const ImageRoot& root, const std::string& name,
                                const std::string& path);

}  // namespace berth::local::images
