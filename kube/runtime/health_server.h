// kube/runtime/health_server.h — serves /healthz and /readyz over plain HTTP: probes have no token.
//
// Threads: `ready` is called on an I/O thread; it must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace berth::net {
class HttpServer;
class IoPool;
}  // namespace berth::net

namespace berth::kube {

struct HealthServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free port
  // Names of the paths, without their slash.
  std::string liveness = "healthz";
  std::string readiness = "readyz";
};

// `ready` returns the missing condition; empty: ready.
Result<std::unique_ptr<net::HttpServer>> StartHealthServer(net::IoPool& pool,
                                                           const HealthServerOptions& options,
                                                           std::function<std::string()> ready);

}  // namespace berth::kube
