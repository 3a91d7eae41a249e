// jobs/haversine/http_reader.h — reads ranges of an object in a store over HTTP.
//
// Every answer is checked: status 206, the requested range, the size and the entity tag of the
// first answer. Bytes received before a connection broke are kept; only the rest is requested
// again. Redirects are not followed, no credentials are sent. Memory is bounded by the size of the
// reads.
//
// Only this library uses cpprestsdk. A peer that sends a malformed chunk size can abort a process
// that uses cpprestsdk: a job that reads its own storage may use it, no other program of Berth
// may.
//
// Threads: as RangeReader; the library's own threads are limited to two for the whole process.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jobs/haversine/range_reader.h"

namespace berth::haversine {

struct HttpOptions {
  // Limits one ReadAt or the opening, with its retries.
  std::chrono::milliseconds deadline{120'000};
  std::chrono::milliseconds first_backoff{
      200};               // doubles up to 5 s; Retry-After counts where longer
  int most_attempts = 8;  // attempts in a row without progress
  // The largest object that is read whole from a server that ignores ranges.
  std::uint64_t most_unranged_bytes = std::uint64_t{64} << 20;
};

bool IsUrl(std::string_view input);

// kInvalid: an invalid URL, a redirect, a server without ranges with too large an object;
// kNotFound, kForbidden; kUnavailable, kDeadlineExceeded: after the retries.
Result<std::unique_ptr<RangeReader>> OpenUrl(const std::string& url, const HttpOptions& options);

}  // namespace berth::haversine
