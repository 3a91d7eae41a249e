// kube/runtime/metrics_server.h — serves /metrics and further pages: over HTTPS to users whom the
// API server authorises for the path, or in plain HTTP to every client.
//
//     request ─ Bearer token? ─▶ AccessGate ──▶ 200
//                    └─ 401          ├─ 401  the token belongs to no user
//                                    ├─ 403  no right to get the path
//                                    ├─ 500  the API server does not answer
//                                    └─ 503  too many reviews are running
//
// Threads: `gate` is called on an I/O thread and must not block; its `done` may come on any thread.
// Errors of Start: as net::HttpServer::Start.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "kube/runtime/access_reviews.h"
#include "kube/runtime/metrics.h"

namespace berth::net {
class HttpServer;
class IoPool;
struct Request;
struct TlsIdentity;
}  // namespace berth::net

namespace berth::kube {

struct MetricsServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                       // 0: any free port
  std::shared_ptr<const net::TlsIdentity> tls;  // null: plain HTTP
  // Further pages in JSON, by path; called on an I/O thread, must not block.
  std::map<std::string, std::function<std::string()>> pages = {};
};

// Returns the token of the header Authorization; empty if the request has none.
std::string BearerTokenOf(const net::Request& request);

using AccessGate = std::function<void(AccessQuestion question, AccessReviews::Done done)>;

// `metrics` must outlive the server. Null `gate`: every client is allowed.
Result<std::unique_ptr<net::HttpServer>> StartMetricsServer(net::IoPool& pool,
                                                            MetricsServerOptions options,
                                                            const Metrics& metrics,
                                                            AccessGate gate);

}  // namespace berth::kube
