// api/yaml/yaml.h — YAML to JSON as Kubernetes reads it, and JSON to YAML as kubectl writes it.
//
// YAML 1.1 by the rules of Kubernetes' own reader: unquoted yes/no/on/off/y/n are booleans, 0600 is
// octal, quoted scalars are strings, `<<` merges, 12:30:45 and dates stay strings.
//
// Limits: YamlLimits; exceeding one is an error, never truncation. Each use of an alias counts, so
// that a small text cannot grow without bound.
// Errors: kInvalid with the line ("yaml: line 3: …"). Nothing throws. Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace berth::api {

struct YamlLimits {
  std::size_t max_bytes = 3 * 1024 * 1024;
  std::size_t max_depth = 200;
  std::size_t max_nodes = 500'000;  // after aliases are expanded
  std::size_t max_documents = 10'000;
};

struct YamlDocument {
  nlohmann::json value;                     // null for an empty document
  std::vector<std::string> duplicate_keys;  // paths like "data.a"; the last one won
};

// Exactly one document; more than one is an error. Empty text gives null.
Result<YamlDocument> ParseYaml(std::string_view text, const YamlLimits& limits = {});

// Every document of a stream, in order. Empty documents are left out.
Result<std::vector<YamlDocument>> ParseYamlStream(std::string_view text,
                                                  const YamlLimits& limits = {});

// Block style, keys sorted, two blanks of indentation. Quotes a string only where YAML 1.1 would
// read the plain text as another value. Ends with a line end.
std::string FormatYaml(const nlohmann::json& value);

}  // namespace berth::api
