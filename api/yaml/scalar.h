// api/yaml/scalar.h — what an unquoted YAML 1.1 scalar means, as Kubernetes' reader has it.
#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace berth::api {

// The value of the plain scalar `text`: null, a boolean, a number or the text itself. nullopt for
// what JSON cannot hold (.inf, .nan).
std::optional<nlohmann::json> ResolvePlainScalar(std::string_view text);

}  // namespace berth::api
