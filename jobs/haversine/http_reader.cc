#include "jobs/haversine/http_reader.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include "jobs/haversine/content_range.h"
#include "jobs/haversine/http_exchange.h"

namespace berth::haversine {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLongestBackoff{5000};

// The retry state of one call.
struct Patience {
  explicit Patience(const HttpOptions& options)
      : deadline(Clock::now() + options.deadline), backoff(options.first_backoff) {}
  Clock::time_point deadline;
  milliseconds backoff;
  milliseconds server_delay{0};  // Retry-After of the last answer
  int failures = 0;              // failures since the last progress
};

bool IsWorthRetrying(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTooManyRequests;
}

class HttpReader : public RangeReader {
 public:
  HttpReader(std::string url, std::unique_ptr<HttpExchanger> exchanger, const HttpOptions& options)
      : url_(std::move(url)), exchanger_(std::move(exchanger)), options_(options) {}

  const std::string& name() const override { return url_; }
  std::uint64_t size() const override { return size_; }

  // Determines size and range support; call once, before other functions.
  Status Open() {
    Patience patience(options_);
    while (true) {
      Status found = FindSize(patience);
      if (found) return found;
      BERTH_CHECK_OK(WaitAfter(found.error(), patience));
    }
  }

  Status ReadAt(std::uint64_t offset, std::span<char> bytes) override {
    if (whole_ != nullptr) {
      std::memcpy(bytes.data(), whole_->data() + offset, bytes.size());
      return OkStatus();
    }
    Patience patience(options_);
    while (!bytes.empty()) {
      const auto got = ReadSome(offset, bytes, patience);
      if (got) {
        patience.failures = 0;
        offset += *got;
        bytes = bytes.subspan(*got);
      } else {
        BERTH_CHECK_OK(WaitAfter(got.error(), patience));
      }
    }
    return OkStatus();
  }

  void Cancel() override {
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    cancelled_changed_.notify_all();
    exchanger_->Cancel();
  }

 private:
  Error Refuse(const std::string& what, ErrorCode code = ErrorCode::kInvalid) const {
    return Error{code, url_ + ": " + what};
  }

  Status FindSize(Patience& patience) {
    const Answer answer = exchanger_->Get(ByteRange{0, 0}, 1, patience.deadline);
    if (answer.status == 200) return ReadWhole(answer.content_length, patience);
    if (answer.status == 416) return Refuse("is empty");
    if (answer.status != 206) return Explain(answer, patience);
    const auto range = ParseContentRange(answer.content_range);
    if (!range || range->first != 0 || range->last != 0) return WrongRange(answer, 0, 0);
    size_ = range->total;
    etag_ = answer.etag;
    return OkStatus();
  }

  Status ReadWhole(const std::optional<std::uint64_t>& length, Patience& patience) {
    const std::string advice = ": the server does not serve ranges, and without them at most " +
                               std::to_string(options_.most_unranged_bytes >> 20U) +
                               " MiB are read; copy it to a store that does, or to a file";
    if (length && *length > options_.most_unranged_bytes) {
      return Refuse(std::to_string(*length) + " bytes" + advice);
    }
    if (length && *length == 0) return Refuse("is empty");
    const std::uint64_t most = length.value_or(options_.most_unranged_bytes);
    Answer answer =
        exchanger_->Get(std::nullopt, static_cast<std::size_t>(most), patience.deadline);
    if (answer.status != 200) return Explain(answer, patience);
    if (!length && answer.received >= most) return Refuse("is too large" + advice);
    if (!answer.failure.empty()) return Refuse(answer.failure, ErrorCode::kUnavailable);
    if (answer.received == 0) return Refuse("is empty");
    size_ = answer.received;
    whole_ = std::move(answer.body);
    return OkStatus();
  }

  // Reads at least one byte, or returns an error.
  Result<std::size_t> ReadSome(std::uint64_t offset, std::span<char> bytes, Patience& patience) {
    const std::uint64_t last = offset + bytes.size() - 1;
    const Answer answer = exchanger_->Get(ByteRange{offset, last}, bytes.size(), patience.deadline);
    if (answer.status != 206) return Explain(answer, patience).error();
    const auto range = ParseContentRange(answer.content_range);
    if (!range || range->first != offset || range->last > last) {
      return WrongRange(answer, offset, last).error();
    }
    if (range->total != size_ || answer.etag != etag_) {
      return Refuse("changed while it was read: it was " + Describe(size_, etag_) + ", it is " +
                    Describe(range->total, answer.etag));
    }
    const std::size_t got =
        std::min(answer.received, static_cast<std::size_t>(range->last - range->first + 1));
    if (got == 0) {
      return Refuse(answer.failure.empty() ? "an answer without a body" : answer.failure,
                    ErrorCode::kUnavailable);
    }
    std::memcpy(bytes.data(), answer.body->data(), got);
    return got;
  }

  static std::string Describe(std::uint64_t size, const std::string& etag) {
    return std::to_string(size) + " bytes" + (etag.empty() ? "" : " with entity tag " + etag);
  }

  Status WrongRange(const Answer& answer, std::uint64_t first, std::uint64_t last) const {
    return Refuse("bytes " + std::to_string(first) + "-" + std::to_string(last) +
                  " were asked for, and the server answered Content-Range \"" +
                  answer.content_range + "\"");
  }

  // The error of an unexpected answer.
  Status Explain(const Answer& answer, Patience& patience) const {
    const int status = answer.status;
    const std::string words = "the server answered status " + std::to_string(status);
    patience.server_delay = answer.retry_after;
    if (status == 0) return Refuse(answer.failure, ErrorCode::kUnavailable);
    if (status == 200) return Refuse("the server ignored the range that was asked for");
    if (status >= 300 && status < 400) {
      return Refuse(words + ": redirects are not followed; use the final URL" +
                    (answer.location.empty() ? "" : ": " + answer.location));
    }
    if (status == 404 || status == 410) return Refuse(words, ErrorCode::kNotFound);
    if (status == 401 || status == 403) {
      return Refuse(words + ": the object must be readable without credentials",
                    ErrorCode::kForbidden);
    }
    if (status == 416) return Refuse("became shorter while it was read");
    if (status == 408 || status == 429) return Refuse(words, ErrorCode::kTooManyRequests);
    return Refuse(words, status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInvalid);
  }

  // Waits before a retry that makes sense; else returns the error.
  Status WaitAfter(const Error& error, Patience& patience) {
    std::unique_lock lock(mutex_);
    if (cancelled_) return Refuse("cancelled", ErrorCode::kUnavailable);
    if (!IsWorthRetrying(error)) return error;
    if (++patience.failures >= options_.most_attempts) {
      return Error{error.code,
                   error.message + " (" + std::to_string(patience.failures) + " attempts)"};
    }
    const milliseconds delay = std::max(patience.backoff, patience.server_delay);
    patience.backoff = std::min(patience.backoff * 2, kLongestBackoff);
    if (Clock::now() + delay >= patience.deadline) {
      return Error{
          ErrorCode::kDeadlineExceeded,
          error.message + " (gave up after " + std::to_string(options_.deadline.count()) + " ms)"};
    }
    cancelled_changed_.wait_for(lock, delay, [this] { return cancelled_; });
    if (cancelled_) return Refuse("cancelled", ErrorCode::kUnavailable);
    return OkStatus();
  }

  const std::string url_;
  const std::unique_ptr<HttpExchanger> exchanger_;
  const HttpOptions options_;

  std::uint64_t size_ = 0;  // set by Open, then constant, as the two below
  std::string etag_;
  std::shared_ptr<const std::vector<std::uint8_t>> whole_;  // the text of a server without ranges

  std::mutex mutex_;
  std::condition_variable cancelled_changed_;
  bool cancelled_ = false;  // guarded by mutex_
};

}  // namespace

bool IsUrl(std::string_view input) {
  return input.starts_with("http://") || input.starts_with("https://");
}

Result<std::unique_ptr<RangeReader>> OpenUrl(const std::string& url, const HttpOptions& options) {
  auto exchanger = HttpExchanger::Make(url);
  if (!exchanger) return Annotate(exchanger.error(), url);
  auto reader = std::make_unique<HttpReader>(url, *std::move(exchanger), options);
  BERTH_CHECK_OK(reader->Open());
  return std::unique_ptr<RangeReader>(std::move(reader));
}

}  // namespace berth::haversine
