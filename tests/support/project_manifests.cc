#include "tests/support/project_manifests.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "api/yaml/yaml.h"

namespace berth {

Result<std::vector<nlohmann::json>> ReadProjectManifests(const std::string& path) {
  std::ifstream file(std::string(BERTH_SOURCE_FOLDER) + "/" + path);
  if (!file) return Error{ErrorCode::kNotFound, "no file " + path};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  BERTH_TRY(auto documents, api::ParseYamlStream(text));
  std::vector<nlohmann::json> objects;
  for (api::YamlDocument& document : documents) objects.push_back(std::move(document.value));
  return objects;
}

}  // namespace berth
