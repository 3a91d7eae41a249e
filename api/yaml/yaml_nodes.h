// api/yaml/yaml_nodes.h — a YAML text as a tree that knows the line and column of each value.
//
// For messages about a place in a file. Values are the scalars' own texts: "0600", not 384. An
// alias is a copy of the node of its anchor, with the place of the anchor.
//
// Limits and errors: as ParseYaml (yaml.h). Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/yaml/yaml.h"
#include "base/result.h"

namespace berth::api {

struct YamlField;

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;
  int line = 0;  // from 1
  std::size_t column = 0;
  std::string text;               // the text of a scalar
  std::vector<YamlNode> items;    // the items of a sequence
  std::vector<YamlField> fields;  // the fields of a map, in the order of the text

  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_map() const { return kind == Kind::kMap; }
  // The value of the first field of the name; null: no map, or no such field.
  const YamlNode* Find(std::string_view name) const;
};

struct YamlField {
  YamlNode name;
  YamlNode value;
};

// The root of every document of a stream, in order. Empty documents are left out.
Result<std::vector<YamlNode>> ParseYamlNodes(std::string_view text, const YamlLimits& limits = {});

}  // namespace berth::api
