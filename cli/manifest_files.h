// cli/manifest_files.h — objects from files of users.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace berth::cli {

// The documents of the YAML or JSON files, in order; "-" is standard input. kNotFound: a file that
// cannot be read; kInvalid: a document that cannot be parsed, or has a key twice.
Result<std::vector<nlohmann::json>> ReadManifests(const std::vector<std::string>& files);

}  // namespace berth::cli
