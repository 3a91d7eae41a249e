// net/internal/message_parser.h — parses HTTP/1.1 messages within limits, hiding
// Beast.
//
// Stricter than Beast against request smuggling: refuses any Transfer-Encoding but a single
// "chunked", HTTP/1.0 requests with one, HTTP/1.1 requests without exactly one Host, and headers
// that exceed the limit line by line.
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
  std::size_t header_bytes = 0;  // trailers included
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

  // Consumes a prefix of `bytes`; the rest must be offered again with more bytes appended. Returns
  // early once when the header is complete. Must not be called when done.
  ParseProgress Feed(std::string_view bytes);

  bool header_done() const;
  bool done() const;
  // Precondition of the functions below: the header is complete.
  bool keep_alive() const;
  bool is_http10() const;
  std::string_view expect() const;  // value of the header "Expect"
  // The missing bytes of a body whose length was announced.
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

  // Has the contract of RequestParser::Feed.
  ParseProgress Feed(std::string_view bytes);
  // The peer has ended its side: completes a body without a length; else the message is incomplete.
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
