// api/yaml/scalar.h — what an unquoted YAML 1.1 scalar means, as Kubernetes' reader has it.
#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace berth::api {

// The value of the plain scalar `text`: null, a boolean, a number or the text itself. nullopt for
// what JSON cannot hold (.inf, .nan).
std::optional<nlohmann::json> ResolvePlainScalar(std::string_view text);

// True for dates, times and sexagesimal numbers. They are read as text, but other YAML 1.1 readers
// take them for more: they are written in quotes.
bool LooksLikeTime(std::string_view text);

}  // namespace berth::api
