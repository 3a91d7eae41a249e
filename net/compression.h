// net/compression.h — compresses large answers of a server for clients that accept gzip.
//
// As kube-apiserver does: answers of status 200 to GET, of a least size or more. Streams are sent
// as they are.
//
// Threads: any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "net/server.h"

namespace berth::net {

// Whether the header Accept-Encoding names gzip, in upper or lower case, with a quality above 0.
bool AcceptsGzip(std::string_view accept_encoding);

// A gzip member with `bytes`; empty where zlib fails.
std::string Gzip(std::string_view bytes);

struct CompressionOptions {
  std::size_t min_bytes = 0;           // shorter answers are sent as they are
  std::shared_ptr<Executor> executor;  // compresses and sends; nullptr: the thread that sends does
};

// Returns `responder`, or a responder that compresses if `request` allows it.
std::shared_ptr<Responder> CompressLargeAnswers(const Request& request,
                                                std::shared_ptr<Responder> responder,
                                                CompressionOptions options);

}  // namespace berth::net
