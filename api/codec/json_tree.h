// api/codec/json_tree.h — the one parser of outside bytes into a JSON tree, and the size of a tree.
//
// Functions over trees call themselves once for each level (copy, compare, dump, diff, convert):
// they are safe because no tree is deeper than the reader allows, and because code that builds
// trees by itself (a JSON patch) measures them with MeasureJson. `tools/check banned` refuses
// nlohmann's own parse() outside tests.
//
// Units: bytes, levels (a scalar has depth 0, [] has 1), values. Threads: pure functions.
// Errors: kInvalid with the byte or the limit. Nothing throws.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace berth::api {

struct JsonLimits {
  std::size_t max_depth = 256;
  std::size_t max_values = 16'000'000;  // a value takes up to 80 bytes of memory
};

// Parses all of `text` as one value. The last of two equal keys wins; the first 64 overridden keys
// are appended to `duplicates`, where given, as paths like "data.a" or "items[2].b".
// Integers keep all 64 bits.
Result<nlohmann::json> ParseJson(std::string_view text, const JsonLimits& limits = {},
                                 std::vector<std::string>* duplicates = nullptr);

// Parses like ParseJson; returns null for a text that is no JSON.
nlohmann::json ParseJsonOrNull(std::string_view text, const JsonLimits& limits = {});

struct JsonMeasure {
  std::size_t depth = 0;
  std::size_t bytes = 0;  // length of the JSON text without blanks, escapes not counted
  std::size_t values = 0;
};
// Uses no recursion: safe for trees of any depth.
JsonMeasure MeasureJson(const nlohmann::json& value);

// Removes members that are null, at every level. Nulls in arrays stay. Calls itself once for each
// level.
void DropNulls(nlohmann::json& value);

}  // namespace berth::api
