// local/apiserver/http/stream_sessions.h — the sessions of exec, attach and portforward of one
// server: their number, and which of them are idle.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"

namespace berth::local {

class StreamSession {
 public:
  virtual ~StreamSession() = default;
  // Ends the session. Idempotent.
  virtual void Cut() = 0;

  // Bytes have gone either way.
  void MarkUsed() { used_.store(true); }
  // Whether MarkUsed was called since the last call.
  bool TakeUsed() { return used_.exchange(false); }

 private:
  std::atomic<bool> used_{true};
};

class StreamSessions {
 public:
  static constexpr std::size_t kMostSessions = 256;
  // The same time as kubelet's streamingConnectionIdleTimeout.
  static constexpr Duration kIdleTimeout = std::chrono::hours(4);

  // False: there are too many sessions, or the user has its share of them (share.h). A session
  // counts until it is destroyed.
  bool Add(const std::shared_ptr<StreamSession>& session, const std::string& user);
  // Ends the sessions that were not used for kIdleTimeout. Use is noticed only at calls of this
  // function.
  void CutIdle(SteadyTime now);
  std::size_t count() const;

 private:
  struct One {
    std::weak_ptr<StreamSession> session;
    std::string user;
    SteadyTime used_at{};  // the epoch: not looked at yet
  };
  mutable std::mutex mutex_;
  std::vector<One> all_;
};

}  // namespace berth::local
