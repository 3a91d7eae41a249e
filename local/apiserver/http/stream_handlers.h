// local/apiserver/http/stream_handlers.h — pods/exec, pods/attach and pods/portforward over
// WebSockets and SPDY/3.1.
//
// A client that uses GET needs the right to "create" in addition to the right to "get", as in
// Kubernetes since 1.35.
//
// Threads: Handle on any worker thread; SetStreams on any.
// Source: k8s.io/streaming, k8s.io/client-go/tools.
#pragma once

#include <memory>
#include <mutex>

#include "local/apiserver/http/exchange.h"
#include "local/apiserver/http/stream_sessions.h"
#include "local/apiserver/pod_streams.h"
#include "local/apiserver/registry/registry.h"
#include "net/io_pool.h"

namespace berth::local {

class StreamHandlers {
 public:
  explicit StreamHandlers(Registry& registry) : registry_(registry) {}

  static bool Serves(const std::string& subresource);
  void Handle(Exchange& exchange, RequestContext& context);
  // Null: nothing runs pods; requests are answered with 503.
  void SetStreams(std::shared_ptr<PodStreams> streams);
  // Sets the threads of connections to ports of pods, and of timers; call before the first request.
  void SetIoPool(net::IoPool& pool) { pool_ = &pool; }
  void CutIdle(SteadyTime now) { sessions_.CutIdle(now); }

  std::shared_ptr<PodStreams> streams();
  net::IoPool* pool() const { return pool_; }

 private:
  void StartProgram(Exchange& exchange, const RequestContext& context, const Json& pod,
                    const std::shared_ptr<PodStreams>& streams);
  void ForwardPorts(Exchange& exchange, const RequestContext& context, const Json& pod,
                    std::shared_ptr<PodStreams> streams);
  bool AddSession(Exchange& exchange, const std::shared_ptr<StreamSession>& session);

  Registry& registry_;
  net::IoPool* pool_ = nullptr;  // null: no stream is served
  StreamSessions sessions_;
  std::mutex mutex_;
  std::shared_ptr<PodStreams> streams_;  // guarded by mutex_
};

}  // namespace berth::local
