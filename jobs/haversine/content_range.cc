#include "jobs/haversine/content_range.h"

#include "base/strings.h"

namespace berth::haversine {
namespace {

// Digits only, unlike ParseInt64.
std::optional<std::uint64_t> ParseCount(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto value = ParseInt64(text);
  if (!value) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

}  // namespace

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  text = TrimSpace(text);
  constexpr std::string_view kUnit = "bytes ";
  if (!EqualsIgnoreCase(text.substr(0, kUnit.size()), kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = ParseCount(text.substr(0, dash));
  const auto last = ParseCount(text.substr(dash + 1, slash - dash - 1));
  const auto total = ParseCount(text.substr(slash + 1));
  if (!first || !last || !total || *last < *first || *total <= *last) return std::nullopt;
  return ContentRange{*first, *last, *total};
}

}  // namespace berth::haversine
