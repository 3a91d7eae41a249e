// api/yaml/scalar.h — what an unquoted YAML 1.1 scalar means, as Kubernetes' reader has it.
#pragma once

#include <cstddef>
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

// One character of a text in UTF-8, and how many bytes it takes; a byte that begins no character
// counts as U+FFFD.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
};
Character CharacterAt(std::string_view text, std::size_t at);

// True for a character that may stand in a YAML stream as it is: no control character but tab and
// line ends, and nothing that is no character.
bool IsAllowedInStream(char32_t code);

// True for a character that kubectl writes without an escape: no control character, byte order
// mark or line separator, and nothing above U+FFFF.
bool IsWrittenPlain(char32_t code);

}  // namespace berth::api
