// jobs/haversine/content_range.h — the Content-Range header of a 206 answer (RFC 9110 §14.4).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::haversine {

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;   // inclusive, at least `first`
  std::uint64_t total = 0;  // more than `last`
  friend bool operator==(const ContentRange&, const ContentRange&) = default;
};

// "bytes 0-1023/146515"; nullopt for anything else, an unknown total ("*") too.
std::optional<ContentRange> ParseContentRange(std::string_view text);

}  // namespace berth::haversine
