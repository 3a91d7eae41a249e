// local/cluster/kubelet/image_map.h — maps container images to local programs.
//
// The executor pulls no images: `berth up --image NAME=PATH` names the program to run, and
// NAME=oci:DIR a folder with an image, whose root the program gets.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/images/image_folder.h"

namespace berth::local::cluster {

struct LocalProgram {
  enum class Arguments {
    kAsGiven,
    kDurationInSeconds,  // "1m30s" becomes "90": the sleep image's argument, for /bin/sleep
  };
  std::string path;
  Arguments arguments = Arguments::kAsGiven;
  std::shared_ptr<const images::ImageRoot> image;  // null: a program of this machine
};

class ImageMap {
 public:
  // Has one built-in mapping: gcr.io/k8s-staging-perf-tests/sleep at any tag.
  ImageMap();

  // An `image` with a tag or digest maps only that image; without one it maps all tags. A later
  // mapping of an equal name wins. kInvalid if a part is empty or `path` is not absolute.
  Status Add(const std::string& image, const std::string& path);
  // Maps `image` to an image folder, by the rules of Add.
  Status AddImage(const std::string& image, images::ImageRoot root);

  std::optional<LocalProgram> Find(const std::string& image) const;

 private:
  std::map<std::string, LocalProgram> programs_;  // by name without docker.io/ and library/
};

// The program and its arguments for a container. `command` replaces the program, as in an image;
// its first word becomes the mapped program if the file names agree ("sh" and /bin/sh). For an
// image folder, `command` replaces the entry point and its arguments, `args` the arguments.
std::vector<std::string> MakeCommandLine(const LocalProgram& program,
                                         const std::vector<std::string>& command,
                                         const std::vector<std::string>& args);

// "120s", "1m30s", "1.5h", "250ms" in seconds; nullopt on anything else, a bare number included.
std::optional<double> ParseGoDuration(std::string_view text);

}  // namespace berth::local::cluster
