// local/apiserver/schema/validation.h — the constraints of a custom kind's schema beyond types; one
// Validation per schema node that has any.
//
// A constraint applies by the type of the value, not of the node: bounds apply to numbers, lengths
// to strings, and so on, as in OpenAPI.
//
// Threads: immutable. Source: OpenAPI v3 schema object; x-kubernetes-* extensions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/type_node.h"

namespace re2 {
class RE2;
}

namespace berth::local {

class CrdRules;

struct Validation {
  std::vector<std::string> types;  // JSON type names; empty: any. int-or-string has two
  std::string format;              // a checked format; unknown ones are dropped
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::optional<double> multiple_of;
  bool exclusive_minimum = false;
  bool exclusive_maximum = false;
  std::optional<std::int64_t> min_length;  // the length of text, in code points
  std::optional<std::int64_t> max_length;
  std::optional<std::int64_t> min_items;
  std::optional<std::int64_t> max_items;
  std::optional<std::int64_t> min_properties;
  std::optional<std::int64_t> max_properties;
  std::string pattern_text;
  std::shared_ptr<const re2::RE2> pattern;  // null: none
  std::vector<Json> allowed;                // enum; empty: any value
  std::vector<std::string> required;
  std::vector<const TypeNode*> all_of;
  std::vector<const TypeNode*> any_of;
  std::vector<const TypeNode*> one_of;
  const TypeNode* not_of = nullptr;
  std::shared_ptr<const CrdRules> rules;  // in CEL; null: none
};

}  // namespace berth::local
