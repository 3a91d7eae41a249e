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

// An answer, maybe incomplete.
struct Answer {
  int status = 0;  // 0: no answer
  std::string content_range;
  std::string etag;
  std::string location;
  std::chrono::milliseconds retry_after{0};
  std::optional<std::uint64_t> content_length;
  std::shared_ptr<const std::vector<std::uint8_t>> body;
  std::size_t received = 0;  // received bytes of `body`
  std::string failure;       // empty: the answer is complete
};

// Threads: Get may be called from any thread, concurrently.
class HttpExchanger {
 public:
  // kInvalid; the message does not contain the URL.
  static Result<std::unique_ptr<HttpExchanger>> Make(const std::string& url);

  // Reads at most `most_bytes` of body; a longer body is a failure with the head read.
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
