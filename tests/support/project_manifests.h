// tests/support/project_manifests.h — manifests of the project, for tests.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace berth {

// The documents of a YAML file of the project; `path` from its root. kNotFound: no such file.
Result<std::vector<nlohmann::json>> ReadProjectManifests(const std::string& path);

}  // namespace berth
