#include "cli/manifest_files.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"

namespace berth::cli {
namespace {

Result<std::string> ReadText(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path, std::ios::binary);
  text << file.rdbuf();
  if (!file) return Error{ErrorCode::kNotFound, "cannot read " + path};
  return text.str();
}

}  // namespace

Result<std::vector<nlohmann::json>> ReadManifests(const std::vector<std::string>& files) {
  std::vector<nlohmann::json> documents;
  for (const std::string& path : files) {
    BERTH_TRY(const std::string text, ReadText(path));
    const auto read = api::ParseYamlStream(text);
    if (!read) return Annotate(read.error(), path);
    for (const api::YamlDocument& document : *read) {
      if (!document.duplicate_keys.empty()) {
        return Error{ErrorCode::kInvalid,
                     path + ": " + document.duplicate_keys.front() + ": stands twice"};
      }
      documents.push_back(document.value);
    }
  }
  return documents;
}

}  // namespace berth::cli
