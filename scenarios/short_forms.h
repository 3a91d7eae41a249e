// scenarios/short_forms.h — the short ways of a story to write objects; README.md has them
// with examples.
//
// Pure. Errors: kInvalid with the error of the line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "scenarios/script.h"

namespace berth::scenarios {

using Json = nlohmann::json;

// The objects that the step makes; nullopt: its verb is no short form.
std::optional<Result<std::vector<Json>>> MakeObjects(const Step& step);

// The two parts of "team-a/x"; the namespace of "x" is "default".
struct ObjectName {
  std::string namespace_name;
  std::string name;
};
ObjectName ObjectNameOf(const std::string& text);

// The value of a word in a story: JSON if the word is JSON (5, true, [..]), else a string.
Json ValueOf(const std::string& text);

}  // namespace berth::scenarios
