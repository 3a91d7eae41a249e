// net/internal/message_writer.h — serialises HTTP/1.1 messages.
//
// Header names that are no tokens are left out, control characters in values become blanks: no
// caller's value can end a header early.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http.h"

namespace berth::net {

std::string_view ReasonPhrase(int status);

struct ResponseFraming {
  enum class Body { kLength, kChunked, kUntilClose, kNone };
  enum class Version { kHttp10, kHttp11 };
  Body body = Body::kLength;
  std::size_t length = 0;              // for kLength
  Version version = Version::kHttp11;  // the version of the request
  bool keep_alive = true;
};

// A body up to this size is sent in one piece with its head.
inline constexpr std::size_t kJoinBytes = 16 * 1024;

// The response up to and including the empty line. Replaces the caller's framing headers.
std::string ResponseHead(int status, const Headers& headers, const ResponseFraming& framing);

// The response 101, up to and including the empty line.
std::string UpgradeHead(std::string_view protocol, const Headers& headers);

// Appends "1a\r\n…\r\n" to `out`; `bytes` must not be empty.
void AppendChunk(std::string_view bytes, std::string& out);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

struct RequestDefaults {
  std::string host;
  std::string user_agent;
  std::string bearer_token;
};

// Headers of the request replace the defaults.
std::string RequestHead(const Request& request, std::string_view target,
                        const RequestDefaults& defaults);

// Whether `text` may stand in a request line: no blanks, no control characters.
bool IsPlainTarget(std::string_view text);
bool IsToken(std::string_view text);

}  // namespace berth::net
