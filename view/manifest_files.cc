#include "view/manifest_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "view/gzip_text.h"

namespace berth::view {
namespace {

bool IsManifest(const std::filesystem::path& path) {
  const std::string end = path.extension().string();
  return end == ".yaml" || end == ".yml" || end == ".json";
}

struct Folder {
  std::vector<std::string> files;
  std::vector<std::string> passed_over;
};

bool HasManifest(const std::filesystem::path& folder) {
  std::error_code failed;
  for (std::filesystem::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (IsManifest(at->path())) return true;
  }
  return false;
}

// Files by name, before those of the folders. False: the folder cannot be read.
bool ReadFolder(const std::string& path, bool recursive, Folder& out) {
  std::error_code failed;
  std::vector<std::string> files;
  std::vector<std::string> folders;
  for (std::filesystem::directory_iterator at(path, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code unknown;
    if (at->is_directory(unknown) && !at->is_symlink(unknown)) {
      folders.push_back(at->path().string());
    } else if (IsManifest(at->path())) {
      files.push_back(at->path().string());
    }
  }
  if (failed) return false;
  std::sort(files.begin(), files.end());
  std::sort(folders.begin(), folders.end());
  out.files.insert(out.files.end(), files.begin(), files.end());
  for (const std::string& each : folders) {
    if (recursive) {
      if (!ReadFolder(each, recursive, out)) return false;
    } else if (HasManifest(each)) {
      out.passed_over.push_back(each);
    }
  }
  return true;
}

}  // namespace

Result<std::string> ReadTextFile(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
      return Error{ErrorCode::kNotFound, "cannot read " + path};
    }
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  std::vector<char> block(std::size_t{1} << 20U);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() <= kMaxTextFile) continue;
    return Error{ErrorCode::kInvalid,
                 path + " is larger than " + std::to_string(kMaxTextFile >> 20U) + " MiB"};
  }
  if (in.bad()) return Error{ErrorCode::kNotFound, "cannot read " + path};
  if (!IsGzip(text)) return text;
  auto unpacked = Gunzip(text, kMaxTextFile);
  if (!unpacked) return Annotate(unpacked.error(), path);
  return unpacked;
}

Result<std::vector<std::string>> ManifestsBelow(const std::vector<std::string>& paths,
                                                bool recursive,
                                                std::vector<std::string>* passed_over) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
      files.push_back(path);
      continue;
    }
    Folder inside;
    if (!ReadFolder(path, recursive, inside)) {
      return Error{ErrorCode::kNotFound, "cannot read " + path};
    }
    if (inside.files.empty()) {
      return Error{ErrorCode::kNotFound,
                   path + " has no file that ends in .yaml, .yml or .json" +
                       (inside.passed_over.empty() ? "" : "; the folders in it have")};
    }
    if (passed_over != nullptr) {
      passed_over->insert(passed_over->end(), inside.passed_over.begin(), inside.passed_over.end());
    }
    files.insert(files.end(), inside.files.begin(), inside.files.end());
  }
  return files;
}

Result<std::vector<nlohmann::json>> ReadManifests(const std::vector<std::string>& files) {
  std::vector<nlohmann::json> documents;
  for (const std::string& path : files) {
    BERTH_TRY(const std::string text, ReadTextFile(path));
    const auto read = ParseManifestText(text);
    if (!read) return Annotate(read.error(), path);
    for (const api::YamlDocument& document : *read) {
      if (!document.duplicate_keys.empty()) {
        return Error{ErrorCode::kInvalid,
                     path + ": " + document.duplicate_keys.front() + ": duplicate key"};
      }
      documents.push_back(document.value);
    }
  }
  return documents;
}

api::YamlLimits LimitsOfManifests(std::size_t bytes) {
  constexpr std::size_t kLeastBytesOfNode = 2;
  api::YamlLimits limits;
  limits.max_bytes = kMaxTextFile;
  limits.max_documents = kMaxTextFile / kLeastBytesOfNode;
  // A small file with aliases must not grow without bound.
  limits.max_nodes = std::max(limits.max_nodes, bytes / kLeastBytesOfNode);
  return limits;
}

Result<std::vector<api::YamlDocument>> ParseManifestText(const std::string& text) {
  const api::YamlLimits limits = LimitsOfManifests(text.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    // A stream of several values, and keys without quotes, are YAML.
    std::vector<std::string> duplicates;
    const api::JsonLimits json_limits{.max_depth = limits.max_depth,
                                      .max_values = limits.max_nodes};
    if (Result<nlohmann::json> json = api::ParseJson(text, json_limits, &duplicates)) {
      return std::vector<api::YamlDocument>{{*std::move(json), std::move(duplicates)}};
    }
  }
  return api::ParseYamlStream(text, limits);
}

bool WriteTextFile(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  return static_cast<bool>(out);
}

std::vector<nlohmann::json> FlatObjectsOf(const std::vector<nlohmann::json>& documents) {
  std::vector<nlohmann::json> objects;
  for (const nlohmann::json& document : documents) {
    if (!document.is_object()) continue;
    const auto items = document.find("items");
    if (items == document.end() || !items->is_array()) {
      objects.push_back(document);
      continue;
    }
    for (const nlohmann::json& item : *items) {
      if (item.is_object()) objects.push_back(item);
    }
  }
  return objects;
}

}  // namespace berth::view
