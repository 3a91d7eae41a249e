// local/apiserver/http/watch_manager.h — the watches of HTTP clients.
//
//     store writer ─"jobs changed"─▶ manager ─▶ pump (a worker) ─▶ stream
//                                                 └ reads the window from the watch's own position
//
// A watch is a position in the window, so writers never wait for it; a watch that falls behind the
// window is ended, and its client resumes by resourceVersion. A slow reader is sent as much as it
// reads: at most a few hundred KiB wait for it.
//
// Threads: every function may be called from any thread.
// Source: Kubernetes API concepts, efficient detection of changes; KEP-3157 (initial events).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "local/apiserver/http/render.h"
#include "local/apiserver/http/request_metrics.h"
#include "local/apiserver/http/worker_pool.h"
#include "local/apiserver/registry/registry.h"
#include "net/server.h"

namespace berth::local {

struct WatchRequest {
  RequestContext context;
  ReadQuery query;
  RenderOptions render;
  std::int64_t from_revision = 0;  // start (exclusive); ignored with send_state
  bool send_state = false;         // begin with the whole state as ADDED
  bool end_of_state_bookmark = false;
  bool bookmarks = false;
  Duration timeout{};  // the watch ends regularly after this time
};

class WatchManager {
 public:
  // `metrics` must outlive the watches.
  WatchManager(Registry& registry, RequestMetrics& metrics);
  ~WatchManager();
  WatchManager(const WatchManager&) = delete;
  WatchManager& operator=(const WatchManager&) = delete;

  void Start(WatchRequest request, std::shared_ptr<net::Stream> stream);
  // Ends every watch.
  void Stop();
  std::size_t count() const;

 private:
  class Session;
  using SessionPtr = std::shared_ptr<Session>;

  void OnEvents(const std::vector<EventPtr>& events);
  void Schedule(const SessionPtr& session);
  void Forget(int id);
  void RunTimer();
  void Tick();
  WorkerPool& PumpsOfLocked(const ResourceInfo& resource);
  std::vector<SessionPtr> Collect() const;

  Registry& registry_;
  RequestMetrics& metrics_;
  int listener_ = 0;
  WorkerPool pumps_;
  mutable std::mutex mutex_;
  // For kinds that a webhook converts, by resource; kept until the manager's end.
  std::map<std::string, std::unique_ptr<WorkerPool>> converting_;
  std::map<std::string, std::map<int, SessionPtr>> sessions_;  // by resource, id
  int next_id_ = 1;
  bool stopping_ = false;
  std::condition_variable timer_wake_;
  std::thread timer_;
};

}  // namespace berth::local
