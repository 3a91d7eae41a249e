// jobs/haversine/http_exchange.h — one GET with cpprestsdk: bounded in bytes and in time.
//
// Internal to the http library: includes cpprestsdk. See http_reader.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cpprest/http_client.h>

#include "base/result.h"

namespace berth::haversine {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // inclusive
};

// An answer as far as it came.
struct Answer {
  int status = 0;  // 0: none came
  std::string content_range;
  std::string etag;
  std::string location;
  std::chrono::milliseconds retry_after{0};
  std::optional<std::uint64_t> content_length;
  std::shared_ptr<const std::vector<std::uint8_t>> body;
  std::size_t received = 0;  // bytes of `body` that have come
  std::string failure;       // why it ended early; empty: it is complete
};

// Threads: Get from any, at the same time.
class HttpExchanger {
 public:
  // kInvalid, the message without the URL.
  static Result<std::unique_ptr<HttpExchanger>> Make(const std::string& url);

  // At most `most_bytes` of body; a longer one is a failure, with the head read.
  Answer Get(const std::optional<ByteRange>& range, std::size_t most_bytes,
             std::chrono::steady_clock::time_point deadline);

  void Cancel() { cancellation_.cancel(); }

 private:
  HttpExchanger(const web::uri& uri, const web::http::client::http_client_config& config)
      : client_(uri.authority(), config), target_(uri.resource().to_string()) {}

  web::http::client::http_client client_;
  std::string target_;
  pplx::cancellation_token_source cancellation_;
};

}  // namespace berth::haversine
