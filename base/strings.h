// base/strings.h — helpers on text; no locale, no allocation but for the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// "a,b,,c" by ',' → {"a","b","","c"}; "" → {""}.
std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view TrimSpace(std::string_view text);              // blanks, tabs, line ends
std::string ToLower(std::string_view text);                     // ASCII only
bool EqualsIgnoreCase(std::string_view a, std::string_view b);  // ASCII only
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The whole of `text` as a decimal integer with an optional sign; nullopt on anything else,
// overflow included.
std::optional<std::int64_t> ParseInt64(std::string_view text);

// The longest prefix of `text` of at most `max_bytes` that ends between UTF-8 characters.
std::string_view TruncateUtf8(std::string_view text, std::size_t max_bytes);

bool IsValidUtf8(std::string_view text);

// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

// The number of single-character edits that turn `a` into `b`; for "did you mean".
std::size_t EditDistance(std::string_view a, std::string_view b);

std::string HexEncode(std::string_view bytes);
std::string Base64Encode(std::string_view bytes);                // RFC 4648 §4, padded
std::optional<std::string> Base64Decode(std::string_view text);  // padded; line ends are skipped
std::string Base64UrlEncode(std::string_view bytes);             // RFC 4648 §5, no padding
std::optional<std::string> Base64UrlDecode(std::string_view text);

}  // namespace berth
