// local/cluster/image_map.h — maps container images to local programs.
//
// Pure. The executor has no image store: `berth up --image NAME=PATH` names the program to run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::local::cluster {

struct LocalProgram {
  enum class Arguments {
    kAsGiven,
    kDurationInSeconds,  // "1m30s" becomes "90": the sleep image's argument, for /bin/sleep
  };
  std::string path;
  Arguments arguments = Arguments::kAsGiven;
};

class ImageMap {
 public:
  // Has one built-in mapping: gcr.io/k8s-staging-perf-tests/sleep at any tag.
  ImageMap();

  // `image` with a tag or digest maps that one, without one all tags; a later mapping of the same
  // name wins. kInvalid if a part is empty or `path` is not absolute.
  Status Add(const std::string& image, const std::string& path);

  std::optional<LocalProgram> Find(const std::string& image) const;

 private:
  std::map<std::string, LocalProgram> programs_;  // by name without docker.io/ and library/
};

// The program and its arguments for a container. `command` replaces the program, as in an image;
// its first word becomes the mapped program if the file names agree ("sh" and /bin/sh).
std::vector<std::string> MakeCommandLine(const LocalProgram& program,
                                         const std::vector<std::string>& command,
                                         const std::vector<std::string>& args);

// "120s", "1m30s", "1.5h", "250ms" in seconds; nullopt on anything else, a bare number included.
std::optional<double> ParseGoDuration(std::string_view text);

}  // namespace berth::local::cluster
