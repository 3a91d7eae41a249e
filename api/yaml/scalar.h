// api/yaml/scalar.h — the value of an unquoted YAML 1.1 scalar, as Kubernetes' reader resolves it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace berth::api {

// The value of the plain scalar `text`: null, a boolean, a number or the text itself. nullopt for
// a value that JSON cannot hold (.inf, .nan).
std::optional<nlohmann::json> ResolvePlainScalar(std::string_view text);

// True for dates, times and sexagesimal numbers. ParseYaml reads them as text; other YAML 1.1
// readers resolve them to other types. FormatYaml therefore quotes them.
bool LooksLikeTime(std::string_view text);

// One UTF-8 character of a text and its length in bytes; a byte that begins no character counts as
// U+FFFD.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
};
Character CharacterAt(std::string_view text, std::size_t at);

// True for a character that may stand unescaped in a YAML stream: every Unicode character but
// control characters other than tab and line ends.
bool IsAllowedInStream(char32_t code);

// True for a character that kubectl writes unescaped: at most U+FFFF, and no control character,
// byte order mark or line separator.
bool IsWrittenPlain(char32_t code);

}  // namespace berth::api
