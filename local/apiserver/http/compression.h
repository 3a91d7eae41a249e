// local/apiserver/http/compression.h — compresses large answers for clients that accept gzip.
//
// As kube-apiserver does: answers of status 200 to GET, of kMinCompressedBytes or more. Streams are
// sent as they are.
//
// Threads: any thread; compresses on the thread that sends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/server.h"

namespace berth::local {

inline constexpr std::size_t kMinCompressedBytes = 128 * 1024;

// Whether the header Accept-Encoding names gzip with a quality above 0.
bool AcceptsGzip(std::string_view accept_encoding);

// A gzip member with `bytes`; empty where zlib fails.
std::string Gzip(std::string_view bytes);

// Returns `responder`, or a responder that compresses if `request` allows it.
std::shared_ptr<net::Responder> CompressLargeAnswers(const net::Request& request,
                                                     std::shared_ptr<net::Responder> responder);

}  // namespace berth::local
