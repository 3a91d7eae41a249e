// readapi/cursor.h — the opaque positions that clients carry: where a page ended, and up to which
// change a client has read.
//
// A client may forge a cursor, so a cursor gives no right: sight is decided for each request. The
// cursor of a page names the last row of that page, which the client has seen.
//
// Threads: pure functions. Errors: kInvalid for a text that no server wrote, or of another order.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::readapi {

inline constexpr std::size_t kMaxCursorBytes = 1024;

struct PageCursor {
  std::string order;     // the parameter `sort` of the page
  std::int64_t key = 0;  // the key of the last row in that order
  std::string id;        // names the last row
  friend auto operator<=>(const PageCursor&, const PageCursor&) = default;
};

std::string EncodePageCursor(const PageCursor& cursor);
Result<PageCursor> DecodePageCursor(std::string_view text);

// A position in the change feed: valid for one life of the process, its `epoch`.
struct FeedCursor {
  std::string epoch;  // letters and digits
  std::uint64_t revision = 0;
  friend bool operator==(const FeedCursor&, const FeedCursor&) = default;
};

std::string EncodeFeedCursor(const FeedCursor& cursor);
Result<FeedCursor> DecodeFeedCursor(std::string_view text);

}  // namespace berth::readapi
