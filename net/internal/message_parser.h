// net/internal/message_parser.h — HTTP/1.1 messages out of bytes, with limits, without showing
// Beast.
//
// Stricter than Beast where it leaves room for request smuggling: any Transfer-Encoding but a
// single "chunked" is refused, and so are HTTP/1.0 requests with one, HTTP/1.1 requests without
// exactly one Host, and headers that pass the limit line by line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace berth::net {

struct ParseLimits {
  std::size_t header_bytes = 0;  // trailers count too
  std::uint64_t body_bytes = 0;
};

struct ParseFailure {
  enum class Kind { kMalformed, kHeaderTooLarge, kBodyTooLarge, kUnsupported };
  Kind kind = Kind::kMalformed;
  std::string reason;
};

struct ParseProgress {
  std::size_t consumed = 0;
  std::optional<ParseFailure> failure;
};

class RequestParser {
 public:
  explicit RequestParser(const ParseLimits& limits);
  ~RequestParser();

  // Takes what it can of `bytes`; what it leaves must be offered again with more behind it. Returns
  // early once when the header is complete. Must not be called when done.
  ParseProgress Feed(std::string_view bytes);

  bool header_done() const;
  bool done() const;
  // The rest is for a complete header.
  bool keep_alive() const;
  bool is_http10() const;
  std::string_view expect() const;  // of the header "Expect"
  // What is still to come of a body whose length was announced.
  std::optional<std::uint64_t> body_left() const;
  Request TakeRequest();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseParser {
 public:
  using BodySink = std::function<void(std::string_view piece)>;
  enum class BodyKind { kAsFramed, kNone };  // kNone: the answer to HEAD

  ResponseParser(const ParseLimits& limits, BodyKind body_kind, BodySink sink);
  ~ResponseParser();

  // As RequestParser::Feed.
  ParseProgress Feed(std::string_view bytes);
  // The peer has ended its side: a body without a length is complete by that, anything else is not.
  std::optional<ParseFailure> FeedEnd();

  bool header_done() const;
  bool done() const;
  bool keep_alive() const;
  int status() const;
  Headers TakeHeaders();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::net
