// kube/client/http_transport.h — Transport over HTTPS.
//
// JSON is parsed on the I/O thread that received it; callbacks run on the strand.
//
// Threads: as Transport, on `strand`. Destroy it on the strand, or after the strand has stopped.
#pragma once

#include <memory>

#include "base/executor.h"
#include "base/result.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/transport.h"

namespace berth::net {
class IoPool;
}

namespace berth::kube {

struct HttpTransportOptions {
  std::string user_agent = "berth";
  std::size_t max_connections = 32;  // connections of requests; those of watches are not counted
  std::size_t max_watch_line_bytes = 16 * 1024 * 1024;
};

// `pool` and `strand` must outlive the Transport. Errors: kInvalid for a bad URL or PEM.
Result<std::unique_ptr<Transport>> MakeHttpTransport(net::IoPool& pool, Executor& strand,
                                                     const KubeConfig& config,
                                                     const HttpTransportOptions& options);

}  // namespace berth::kube
