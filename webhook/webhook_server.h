// webhook/webhook_server.h — the HTTPS server behind Kueue's webhook service: reviews and
// conversion.
//
// Threads: the owner calls Start; the pool's I/O threads answer requests, and call the functions of
// `jobs`, which must be thread-safe. Give the pool two threads: requests of more than 256 KiB take
// one of them, one at a time. Stop the pool before the functions of `jobs` become invalid.
// Errors: 404 (unknown path), 405 (not POST), 415 (not JSON), 503 (too many large requests).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/server.h"
#include "webhook/review.h"

namespace berth::net {
class IoPool;
}

namespace berth::webhook {

struct WebhookServerOptions {
  std::string address = "0.0.0.0";
  std::uint16_t port = 9443;                    // 0: any free port
  std::shared_ptr<const net::TlsIdentity> tls;  // null: plain HTTP, for tests
  ReviewGates gates;
};

Result<std::unique_ptr<net::HttpServer>> StartWebhookServer(net::IoPool& pool,
                                                            WebhookServerOptions options,
                                                            JobReviews jobs);

// Answers one request, without a network.
net::Response AnswerWebhook(const net::Request& request, const JobReviews& jobs,
                            const ReviewGates& gates = {});

}  // namespace berth::webhook
