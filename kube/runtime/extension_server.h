// kube/runtime/extension_server.h — the HTTPS server of an ExtensionApi, with delegated
// authentication and authorization.
//
//     request ─ document? ─▶ 200, for every user
//        │
//        └─ user: headers of kube-apiserver's proxy, else a bearer token ─▶ AccessGate ─▶ Read
//                      └─ 401                                                └─ 403, 500, 503
//
// The proxy is known by its client certificate; UseFrontProxy says which one. A client that shows
// another certificate is refused in the handshake.
//
// Threads: Start and Stop by the owner, the others by any thread; `gate` as in metrics_server.h.
// Errors of Start: as net::HttpServer::Start. 429: too many requests are being read. A connection
// above the limits is closed.
// Source: Kubernetes aggregation layer (k8s.io/apiserver, delegated authentication).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/executor.h"
#include "base/result.h"
#include "kube/runtime/extension_api.h"
#include "kube/runtime/front_proxy.h"
#include "kube/runtime/metrics_server.h"
#include "net/server.h"

namespace berth::kube {

struct ExtensionServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                       // 0: any free port
  std::shared_ptr<const net::TlsIdentity> tls;  // not null
  std::size_t max_connections_per_peer = 128;   // all peers together have 512
};

class ExtensionServer {
 public:
  static Result<std::unique_ptr<ExtensionServer>> Start(net::IoPool& pool,
                                                        ExtensionServerOptions options,
                                                        ExtensionApi api, AccessGate gate);
  ~ExtensionServer() { Stop(); }
  ExtensionServer(const ExtensionServer&) = delete;
  ExtensionServer& operator=(const ExtensionServer&) = delete;

  std::uint16_t port() const { return server_->port(); }
  Status ReplaceTls(std::shared_ptr<const net::TlsIdentity> tls) {
    return server_->ReplaceTls(std::move(tls));
  }
  Status UseFrontProxy(const FrontProxyTrust& trust);
  void Stop() { server_->Stop(); }

 private:
  struct Shared;  // contains the requests that are under way
  explicit ExtensionServer(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace berth::kube
