#include "jobs/haversine/http_exchange.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>

#include <cpprest/rawptrstream.h>
#include <pplx/threadpool.h>

#include "base/strings.h"

namespace berth::haversine {
namespace {

using web::http::http_response;

constexpr std::chrono::seconds kSilence{30};  // longest gap between bytes
constexpr std::chrono::seconds kCancelGrace{2};

// Shared with the library's threads, which may run beyond the caller's deadline.
struct Exchange {
  explicit Exchange(std::size_t most_bytes)
      : bytes(std::make_shared<std::vector<std::uint8_t>>(std::max<std::size_t>(1, most_bytes))),
        sink(bytes->data(), bytes->size(), std::ios_base::out) {}

  // Called as the body arrives. The library retries a full sink for ever: Count stops it.
  void Count(std::uint64_t total, const pplx::cancellation_token_source& stop) {
    received = total;
    if (total >= bytes->size() && ++calls_when_full > 2) stop.cancel();
  }

  std::shared_ptr<std::vector<std::uint8_t>> bytes;
  // Fixed size: a body longer than requested fails.
  concurrency::streams::rawptr_buffer<std::uint8_t> sink;
  std::atomic<std::uint64_t> received{0};
  int calls_when_full = 0;  // counts calls of Count, in the library's thread
  Answer answer;            // read only after `done`
  std::promise<void> done;
};

std::string HeaderOf(const http_response& response, const char* name) {
  const auto found = response.headers().find(name);
  return found == response.headers().end() ? "" : found->second;
}

void ReadHead(const http_response& response, Answer& answer) {
  answer.status = response.status_code();
  answer.content_range = HeaderOf(response, "Content-Range");
  answer.etag = HeaderOf(response, "ETag");
  answer.location = HeaderOf(response, "Location");
  const auto length = ParseInt64(HeaderOf(response, "Content-Length"));
  if (length && *length >= 0) answer.content_length = static_cast<std::uint64_t>(*length);
  const auto seconds = ParseInt64(HeaderOf(response, "Retry-After"));
  if (seconds && *seconds > 0) {
    answer.retry_after = std::chrono::seconds(std::min<std::int64_t>(*seconds, 3600));
  }
}

// The text of an exception of the library, in one line that is never empty.
std::string WordsOf(const std::exception& error) {
  const std::string words(TrimSpace(error.what()));
  return words.empty() ? "the connection failed" : words;
}

// Two threads do all I/O; the library's default is forty.
void InitializeThreads() {
  static const bool kDone = [] {
    crossplat::threadpool::initialize_with_threads(2);
    return true;
  }();
  static_cast<void>(kDone);
}

void Follow(const pplx::task<http_response>& head, const std::shared_ptr<Exchange>& exchange) {
  head.then([exchange](const http_response& response) {
        Answer& answer = exchange->answer;
        ReadHead(response, answer);
        if (answer.content_length.value_or(0) > exchange->bytes->size()) {
          throw std::length_error("an answer of " + std::to_string(*answer.content_length) +
                                  " bytes, longer than asked for");
        }
        return response.content_ready();
      })
      .then([exchange](const pplx::task<http_response>& whole) {
        try {
          whole.get();
        } catch (const std::exception& error) {
          exchange->answer.failure = WordsOf(error);
        }
        exchange->done.set_value();
      });
}

}  // namespace

Result<std::unique_ptr<HttpExchanger>> HttpExchanger::Make(const std::string& url) {
  InitializeThreads();
  try {
    const web::uri uri(url);
    if (uri.host().empty()) return Error{ErrorCode::kInvalid, "a URL without a host"};
    if (!uri.user_info().empty()) {
      return Error{ErrorCode::kInvalid, "a URL may not carry a user name or password"};
    }
    web::http::client::http_client_config config;
    config.set_max_redirects(0);
    config.set_timeout(kSilence);
    return std::unique_ptr<HttpExchanger>(new HttpExchanger(uri, config));
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalid, WordsOf(error)};
  }
}

Answer HttpExchanger::Get(const std::optional<ByteRange>& range, std::size_t most_bytes,
                          std::chrono::steady_clock::time_point deadline) {
  const auto exchange = std::make_shared<Exchange>(most_bytes);
  auto finished = exchange->done.get_future();
  Answer lost;
  try {
    web::http::http_request request(web::http::methods::GET);
    request.set_request_uri(target_);
    if (range) {
      request.headers().add(
          "Range", "bytes=" + std::to_string(range->first) + "-" + std::to_string(range->last));
    }
    request.set_response_stream(exchange->sink.create_ostream());
    auto cancelled = cancellation_.get_token();
    auto stop = pplx::cancellation_token_source::create_linked_source(cancelled);
    request.set_progress_handler(
        [exchange, stop](web::http::message_direction::direction way, std::uint64_t bytes) {
          if (way == web::http::message_direction::download) exchange->Count(bytes, stop);
        });
    Follow(client_.request(request, stop.get_token()), exchange);
    if (finished.wait_until(deadline) != std::future_status::ready) {
      stop.cancel();
      lost.failure = "the deadline passed";
      if (finished.wait_for(kCancelGrace) != std::future_status::ready) return lost;
    }
    stop.cancel();  // drops the rest of a body that is too long
  } catch (const std::exception& error) {
    lost.failure = WordsOf(error);
    return lost;
  }
  Answer answer = std::move(exchange->answer);
  if (!lost.failure.empty()) answer.failure = lost.failure;
  answer.body = exchange->bytes;
  answer.received = static_cast<std::size_t>(
      std::min<std::uint64_t>(exchange->received, exchange->bytes->size()));
  return answer;
}

}  // namespace berth::haversine
