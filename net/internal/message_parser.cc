#include "net/internal/message_parser.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/optional.hpp>

#include "base/strings.h"
#include "net/internal/boost_assert.h"

namespace berth::net {
namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

std::string ToString(string_view text) { return std::string(text.data(), text.size()); }

ParseFailure ToFailure(const error_code& error) {
  if (error == http::error::header_limit) {
    return {ParseFailure::Kind::kHeaderTooLarge, "the header is larger than the limit"};
  }
  if (error == http::error::body_limit) {
    return {ParseFailure::Kind::kBodyTooLarge, "the body is larger than the limit"};
  }
  return {ParseFailure::Kind::kMalformed, "malformed HTTP message: " + error.message()};
}

// Beast limits a header only within one buffer, so that a header sent line by line is unlimited
// there: every field is counted here.
template <bool kIsRequest>
class CollectingParser : public http::basic_parser<kIsRequest> {
 public:
  explicit CollectingParser(const ParseLimits& limits) : header_left_(limits.header_bytes) {
    // Beast takes "no limit" as zero.
    this->body_limit(
        std::min<std::uint64_t>(limits.body_bytes, std::numeric_limits<std::int64_t>::max()));
    this->header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(limits.header_bytes, std::numeric_limits<std::int32_t>::max())));
    // Not eager: Beast 1.74 loses a header's error when an eager parser continues to the body.
    this->eager(false);
  }

  // Beast 1.74 asserts that at least five bytes follow a chunk, the shortest end of a message
  // ("0\r\n\r\n"): fewer bytes wait for more.
  bool MustWait(std::size_t byte_count) const {
    constexpr std::size_t kLeastBetweenChunks = 5;
    return byte_count < kLeastBetweenChunks && this->is_header_done() && this->chunked() &&
           chunk_left_ == 0;
  }

  Headers headers;
  int version = 0;
  bool has_foreign_transfer_encoding = false;
  bool has_chunked = false;
  int host_count = 0;

 protected:
  void on_field_impl(http::field field, string_view name, string_view value,
                     error_code& error) override {
    Count(name.size() + value.size() + 4, error);
    if (error || this->is_header_done()) return;  // trailers are read and dropped
    if (field == http::field::transfer_encoding) {
      const bool is_chunked = EqualsIgnoreCase(TrimSpace({value.data(), value.size()}), "chunked");
      (is_chunked ? has_chunked : has_foreign_transfer_encoding) = true;
    }
    if (field == http::field::host) ++host_count;
    headers.Add(ToString(name), ToString(value));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  void on_chunk_header_impl(std::uint64_t size, string_view, error_code&) override {
    chunk_left_ = size;
  }
  void CountChunk(std::uint64_t left, string_view piece) { chunk_left_ = left - piece.size(); }
  void on_finish_impl(error_code&) override {}

  void Count(std::size_t byte_count, error_code& error) {
    if (byte_count > header_left_) {
      error = make_error_code(http::error::header_limit);
      return;
    }
    header_left_ -= byte_count;
  }

 private:
  std::size_t header_left_;
  std::uint64_t chunk_left_ = 0;
};

template <typename Parser>
void FeedPieces(Parser& parser, std::string_view bytes, ParseProgress& progress) {
  while (!parser.is_done()) {
    const std::string_view rest = bytes.substr(progress.consumed);
    if (rest.empty() || parser.MustWait(rest.size())) break;
    const bool was_header_done = parser.is_header_done();
    error_code error;
    progress.consumed += parser.put(boost::asio::const_buffer(rest.data(), rest.size()), error);
    if (error == http::error::need_more) break;
    if (error) {
      progress.failure = ToFailure(error);
      break;
    }
    if (!was_header_done && parser.is_header_done()) {
      progress.failure = parser.CheckHeader();
      break;
    }
  }
}

// After a failure the parser is not called again.
template <typename Parser>
ParseProgress FeedParser(Parser& parser, std::string_view bytes) {
  ParseProgress progress;
  try {
    FeedPieces(parser, bytes, progress);
  } catch (const BoostAssertion& fault) {
    progress.failure = {ParseFailure::Kind::kMalformed,
                        std::string("the HTTP parser cannot read this message: ") + fault.what()};
  }
  return progress;
}

}  // namespace

class RequestParser::Impl final : public CollectingParser<true> {
 public:
  using CollectingParser::CollectingParser;

  std::optional<ParseFailure> CheckHeader() const {
    using Kind = ParseFailure::Kind;
    if (has_foreign_transfer_encoding) {
      return ParseFailure{Kind::kUnsupported, "the only transfer encoding understood is chunked"};
    }
    if (has_chunked && version < 11) {
      return ParseFailure{Kind::kMalformed, "a transfer encoding is not allowed in HTTP/1.0"};
    }
    if (host_count > 1 || (host_count == 0 && version >= 11)) {
      return ParseFailure{Kind::kMalformed, "exactly one Host header is required"};
    }
    return std::nullopt;
  }

  Request request;

 protected:
  void on_request_impl(http::verb, string_view method, string_view target, int http_version,
                       error_code& error) override {
    Count(method.size() + target.size() + 12, error);
    request.method = ToString(method);
    request.target = ToString(target);
    version = http_version;
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  std::size_t on_body_impl(string_view piece, error_code&) override {
    request.body.append(piece.data(), piece.size());
    return piece.size();
  }
  std::size_t on_chunk_body_impl(std::uint64_t left, string_view piece, error_code&) override {
    CountChunk(left, piece);
    request.body.append(piece.data(), piece.size());
    return piece.size();
  }
};

RequestParser::RequestParser(const ParseLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

ParseProgress RequestParser::Feed(std::string_view bytes) { return FeedParser(*impl_, bytes); }
bool RequestParser::header_done() const { return impl_->is_header_done(); }
bool RequestParser::done() const { return impl_->is_done(); }
bool RequestParser::keep_alive() const { return impl_->keep_alive(); }
bool RequestParser::is_http10() const { return impl_->version < 11; }
std::string_view RequestParser::expect() const { return impl_->headers.Find("Expect"); }

std::optional<std::uint64_t> RequestParser::body_left() const {
  const auto left = impl_->content_length_remaining();
  return left ? std::optional<std::uint64_t>(*left) : std::nullopt;
}

Request RequestParser::TakeRequest() {
  impl_->request.headers = std::move(impl_->headers);
  return std::move(impl_->request);
}

class ResponseParser::Impl final : public CollectingParser<false> {
 public:
  Impl(const ParseLimits& limits, BodyKind body_kind, BodySink sink)
      : CollectingParser(limits), sink_(std::move(sink)) {
    skip(body_kind == BodyKind::kNone);
  }

  std::optional<ParseFailure> CheckHeader() const {
    if (has_foreign_transfer_encoding) {
      return ParseFailure{ParseFailure::Kind::kUnsupported,
                          "the only transfer encoding understood is chunked"};
    }
    return std::nullopt;
  }

  int status = 0;

 protected:
  void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view reason, int http_version,
                        error_code& error) override {
    Count(reason.size() + 17, error);
    status = code;
    version = http_version;
  }
  std::size_t on_body_impl(string_view piece, error_code&) override { return Pass(piece); }
  std::size_t on_chunk_body_impl(std::uint64_t left, string_view piece, error_code&) override {
    CountChunk(left, piece);
    return Pass(piece);
  }

 private:
  std::size_t Pass(string_view piece) {
    if (!piece.empty()) sink_({piece.data(), piece.size()});
    return piece.size();
  }

  BodySink sink_;
};

ResponseParser::ResponseParser(const ParseLimits& limits, BodyKind body_kind, BodySink sink)
    : impl_(std::make_unique<Impl>(limits, body_kind, std::move(sink))) {}
ResponseParser::~ResponseParser() = default;

ParseProgress ResponseParser::Feed(std::string_view bytes) { return FeedParser(*impl_, bytes); }

std::optional<ParseFailure> ResponseParser::FeedEnd() {
  error_code error = make_error_code(http::error::end_of_stream);
  if (impl_->got_some()) impl_->put_eof(error);
  if (!error) return std::nullopt;
  return ParseFailure{ParseFailure::Kind::kMalformed,
                      "the connection ended in the middle of the answer"};
}

bool ResponseParser::header_done() const { return impl_->is_header_done(); }
bool ResponseParser::done() const { return impl_->is_done(); }
bool ResponseParser::keep_alive() const { return impl_->keep_alive(); }
int ResponseParser::status() const { return impl_->status; }
Headers ResponseParser::TakeHeaders() { return std::move(impl_->headers); }

}  // namespace berth::net
