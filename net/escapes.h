// net/escapes.h — the percent escapes of URLs.
//
// Threads: pure functions. Errors: nullopt: an escape is malformed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::net {

// What a "+" stands for: itself, as in paths and headers, or a blank, as in queries.
enum class Plus : std::uint8_t { kLiteral, kBlank };

std::optional<std::string> Unescape(std::string_view text, Plus plus);

}  // namespace berth::net
