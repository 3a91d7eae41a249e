// jobs/haversine/http_reader.h — an object in a store, read in ranges over HTTP.
//
// Every answer is checked: status 206, the range that was asked for, the size and the entity tag of
// the first answer. What was received before a connection broke is kept; only the rest is asked for
// again. Redirects are not followed and no credentials are sent. Memory is bounded by the size of
// the reads.
//
// This library is the only one that uses cpprestsdk. A peer that sends a malformed chunk size can
// abort a process that uses it: it may serve a job that reads its own storage, and nothing else of
// Berth.
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
  std::chrono::milliseconds deadline{120'000};  // of one ReadAt or the opening, with its retries
  std::chrono::milliseconds first_backoff{
      200};               // doubles up to 5 s; Retry-After counts where longer
  int most_attempts = 8;  // without progress in between
  // A server that ignores ranges is read whole, up to this.
  std::uint64_t most_unranged_bytes = std::uint64_t{64} << 20;
};

bool IsUrl(std::string_view input);

// kInvalid: a URL that cannot be read, a redirect, a server without ranges and too large an object;
// kNotFound, kForbidden; kUnavailable, kDeadlineExceeded: after the retries.
Result<std::unique_ptr<RangeReader>> OpenUrl(const std::string& url, const HttpOptions& options);

}  // namespace berth::haversine
