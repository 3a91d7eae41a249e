#include "readapi/cursor.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace berth::readapi {
namespace {

constexpr std::string_view kVersion = "1";

Error BadCursor() {
  return {ErrorCode::kInvalid,
          "cursor: not a cursor of this list; leave it out to start from the beginning"};
}

bool IsEpoch(std::string_view text) {
  constexpr std::size_t kMost = 32;
  return !text.empty() && text.size() <= kMost && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

std::string EncodePageCursor(const PageCursor& cursor) {
  return Base64UrlEncode(std::string(kVersion) + "\n" + cursor.order + "\n" +
                         std::to_string(cursor.key) + "\n" + cursor.id);
}

Result<PageCursor> DecodePageCursor(std::string_view text) {
  if (text.empty() || text.size() > kMaxCursorBytes) return BadCursor();
  const std::optional<std::string> bytes = Base64UrlDecode(text);
  if (!bytes || !IsValidUtf8(*bytes)) return BadCursor();
  const std::vector<std::string_view> parts = Split(*bytes, '\n');
  constexpr std::size_t kParts = 4;
  if (parts.size() != kParts || parts[0] != kVersion || parts[3].empty()) return BadCursor();
  const std::optional<std::int64_t> key = ParseInt64(parts[2]);
  if (!key) return BadCursor();
  PageCursor cursor{std::string(parts[1]), *key, std::string(parts[3])};
  // One position has one text.
  if (EncodePageCursor(cursor) != text) return BadCursor();
  return cursor;
}

std::string EncodeFeedCursor(const FeedCursor& cursor) {
  return cursor.epoch + "." + std::to_string(cursor.revision);
}

Result<FeedCursor> DecodeFeedCursor(std::string_view text) {
  const std::size_t dot = text.find('.');
  const Error bad{ErrorCode::kInvalid,
                  "cursor: not a position of the events; take the `revision` of a list"};
  if (dot == std::string_view::npos || !IsEpoch(text.substr(0, dot))) return bad;
  const std::optional<std::int64_t> revision = ParseInt64(text.substr(dot + 1));
  if (!revision || *revision < 0) return bad;
  FeedCursor cursor{std::string(text.substr(0, dot)), static_cast<std::uint64_t>(*revision)};
  if (EncodeFeedCursor(cursor) != text) return bad;
  return cursor;
}

}  // namespace berth::readapi
