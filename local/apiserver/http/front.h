// local/apiserver/http/front.h — dispatches requests: authentication, routing, discovery, health.
//
//   I/O thread ─▶ authenticate ─▶ authorize ─▶ worker ─▶ discovery │ OpenAPI │ resources ─▶ answer
//                     └─ 401         └─ 403
//
// Priority: health and version are answered on the I/O thread. Leases, reads, writes, and requests
// that may wait for a webhook have worker pools of their own, so that leaders keep their leases
// while all other requests wait, and waiting webhooks stop neither reads nor writes. A request
// that finds its pool's queue full gets 429.
//
// Threads: Handle is called on I/O threads and does not block. Concurrent writes share one disk
// transaction.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "local/apiserver/auth/authenticator.h"
#include "local/apiserver/http/aggregator.h"
#include "local/apiserver/http/audit_trail.h"
#include "local/apiserver/http/discovery.h"
#include "local/apiserver/http/exchange.h"
#include "local/apiserver/http/extension.h"
#include "local/apiserver/http/request_metrics.h"
#include "local/apiserver/http/resource_handlers.h"
#include "local/apiserver/http/watch_manager.h"
#include "local/apiserver/http/worker_pool.h"
#include "local/apiserver/log_source.h"
#include "local/apiserver/registry/registry.h"
#include "net/server.h"

namespace berth::local {

class Front {
 public:
  Front(Registry& registry, const Authenticator& authenticator, LogSource* logs);
  ~Front() { Stop(); }
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  void Handle(net::Request request, std::shared_ptr<net::Responder> responder);
  // Ends watches and workers; later requests are answered with 503.
  void Stop();
  void SetServerAddress(std::string address);  // for /api; call before the first request
  // Enables POST /debug/berth/backup, which writes to `path`. Call before the first request.
  void SetBackupPath(std::string path) { backup_path_ = std::move(path); }
  // Does what ApiServer::SetExtension does.
  void SetExtension(const std::string& group, Extension::Handler handler);
  // Whether this process answers the group version itself.
  bool IsOwn(const std::string& group, const std::string& version);
  // Requests of other group versions are passed on to `aggregator`, which must outlive the front.
  // Call before the first request.
  void SetAggregator(Aggregator* aggregator) { aggregator_ = aggregator; }
  // Logs every request; call before the first one. `audit` must outlive the front.
  void SetAudit(AuditTrail* audit) { audit_ = audit; }
  // Does what ApiServer::SetPodStreams does.
  void SetPodStreams(std::shared_ptr<PodStreams> streams) {
    handlers_.streams().SetStreams(std::move(streams));
  }
  // Does what StreamHandlers::SetIoPool does.
  void SetIoPool(net::IoPool& pool) { handlers_.streams().SetIoPool(pool); }
  void CutIdleStreams(SteadyTime now) { handlers_.streams().CutIdle(now); }
  void SetReady() { ready_.store(true); }
  std::size_t watch_count() const { return watches_.count(); }

 private:
  void Route(Exchange& exchange);
  bool RouteHealth(Exchange& exchange) const;
  bool RouteDiscovery(Exchange& exchange);
  void MakeBackup(Exchange& exchange);
  bool RouteOpenApi(Exchange& exchange);
  bool RouteIssuer(Exchange& exchange) const;
  void SendDiscovery(Exchange& exchange, Root root);
  std::string OpenApiIndexText(const ResourceTable& table);
  std::string NewAuditId();
  bool MayCallWebhooks(const Exchange& exchange) const;
  WorkerPool& PoolOf(const Exchange& exchange);
  // Whether the request may go on; if not, the request has been answered.
  bool Admit(Exchange& exchange);

  Registry& registry_;
  const Authenticator& authenticator_;
  AuditTrail* audit_ = nullptr;
  Aggregator* aggregator_ = nullptr;  // null: nothing is passed on
  Extension extension_;
  const std::shared_ptr<RequestMetrics> metrics_;
  WatchManager watches_;
  ResourceHandlers handlers_;
  WorkerPool leases_;
  WorkerPool readers_;
  WorkerPool writers_;
  WorkerPool callers_;  // requests that may wait for a webhook
  std::string server_address_ = "127.0.0.1";
  std::string backup_path_;
  std::mutex backup_mutex_;  // held during a backup
  std::atomic<bool> ready_{false};
  std::atomic<std::uint64_t> request_count_{0};
  const std::uint64_t audit_seed_;
  std::mutex openapi_mutex_;
  std::string openapi_index_;
  std::int64_t openapi_generation_ = -1;
  std::int64_t openapi_aggregated_ = 0;  // the aggregator's generation
};

}  // namespace berth::local
