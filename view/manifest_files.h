// view/manifest_files.h — objects from files of users.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "base/result.h"

namespace berth::view {

// The YAML documents, or the JSON value, of a user's own file. Parses like api::ParseYamlStream,
// with limits for whole clusters; JSON by the reader of JSON, which is faster.
Result<std::vector<api::YamlDocument>> ParseManifestText(const std::string& text);

// The limits of ParseManifestText for a YAML text of `bytes` bytes.
api::YamlLimits LimitsOfManifests(std::size_t bytes);

// The documents of the YAML or JSON files, in order; "-" is standard input. kNotFound: a file that
// cannot be read; kInvalid: a document that cannot be parsed, or has a key twice.
Result<std::vector<nlohmann::json>> ReadManifests(const std::vector<std::string>& files);

// The objects of the documents, those of lists one by one.
std::vector<nlohmann::json> FlatObjectsOf(const std::vector<nlohmann::json>& documents);

// Returns `paths`, with each folder replaced by its files that end in .yaml, .yml or .json, ordered
// by name. If `recursive` is true, the files of the folder's subfolders are included; else each
// subfolder that has such a file is added to `passed_over`, unless that is null. Symbolic links to
// folders are not followed. Errors: kNotFound: a path that does not exist, or a folder without such
// a file.
Result<std::vector<std::string>> ManifestsBelow(const std::vector<std::string>& paths,
                                                bool recursive = false,
                                                std::vector<std::string>* passed_over = nullptr);

// The whole of a file, unpacked where it is gzip; "-" is standard input. kNotFound: the file cannot
// be read; kInvalid: it is larger than kMaxTextFile, or its gzip data is damaged.
inline constexpr std::size_t kMaxTextFile = std::size_t{1} << 30U;
Result<std::string> ReadTextFile(const std::string& path);

// Makes the file or writes over it. False: it cannot be written whole.
bool WriteTextFile(const std::string& path, const std::string& text);

}  // namespace berth::view
