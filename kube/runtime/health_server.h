// kube/runtime/health_server.h — /metrics, /healthz and /readyz over HTTP.
//
// Threads: `ready` is called on an I/O thread; it must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "kube/runtime/metrics.h"

namespace berth::net {
class HttpServer;
class IoPool;
}  // namespace berth::net

namespace berth::kube {

struct HealthServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any
};

// `ready` says what is missing; empty: ready. `metrics` must outlive the server.
Result<std::unique_ptr<net::HttpServer>> StartHealthServer(net::IoPool& pool,
                                                           const HealthServerOptions& options,
                                                           const Metrics& metrics,
                                                           std::function<std::string()> ready);

}  // namespace berth::kube
