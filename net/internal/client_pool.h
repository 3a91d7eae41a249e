// net/internal/client_pool.h — the connections of one client and the requests that wait for one.
//
//     Send ─▶ idle connection? ─▶ room for another? ─▶ wait in queue ─▶ refuse
//
// Requests share one strand, which also owns the pool's state. Each stream has a connection and a
// strand of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "net/client.h"
#include "net/internal/client_connection.h"
#include "net/internal/strand.h"
#include "net/internal/url.h"

namespace berth::net {

class ClientPool;

// A request of Send, from its queueing to its callback.
class PooledCall final : public Exchange, public std::enable_shared_from_this<PooledCall> {
 public:
  struct Start {
    std::string name;  // "GET https://…", for messages
    bool may_replay = false;
    std::shared_ptr<const WireRequest> request;
    Duration timeout;
    std::function<void(Result<Response>)> done;
  };
  PooledCall(std::shared_ptr<ClientPool> pool, Start start);

  void OnHead(int status, Headers headers) override;
  void OnBody(std::string_view piece) override { response_.body.append(piece); }
  void OnEnd(const ExchangeEnd& end) override;

 private:
  friend class ClientPool;  // starts and completes calls
  void OnDeadline();
  void Fail(ErrorCode code, const std::string& reason, bool was_sent);

  const std::shared_ptr<ClientPool> pool_;
  Start start_;
  Deadline deadline_;
  std::shared_ptr<ClientConnection> connection_;  // null while the call waits
  bool is_connection_reused_ = false;
  bool was_replayed_ = false;
  Response response_;
};

// A request of Open.
class StreamCall final : public Exchange, public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(std::shared_ptr<ClientPool> pool, std::string name, Duration silence,
             StreamCallbacks callbacks);

  // May be called on any thread.
  void Start(Result<std::shared_ptr<const WireRequest>> request);
  void Cancel();                      // no callback afterwards
  void Stop(const std::string& why);  // calls on_end with kUnavailable

  void OnHead(int status, Headers headers) override;
  void OnBody(std::string_view piece) override;
  void OnEnd(const ExchangeEnd& end) override;

 private:
  void OnDeadline();
  void Finish(Status status);

  const std::shared_ptr<ClientPool> pool_;
  const Strand strand_;
  const std::string name_;
  const Duration silence_;
  StreamCallbacks callbacks_;
  std::unique_ptr<Deadline> deadline_;  // destroyed on the strand, when the stream ends
  std::shared_ptr<ClientConnection> connection_;
  std::atomic<bool> is_cancelled_ = false;
  bool is_finished_ = false;
};

class ClientPool final : public std::enable_shared_from_this<ClientPool> {
 public:
  ClientPool(IoPool& io_pool, ClientOptions options, BaseUrl url, std::shared_ptr<TlsContext> tls,
             std::optional<ProxyTarget> proxy);

  // May be called on any thread.
  void Send(Request request, Duration timeout, std::function<void(Result<Response>)> done);
  std::shared_ptr<StreamCall> Open(Request request, Duration silence, StreamCallbacks callbacks);
  // Ends all calls with kUnavailable; returns when the last callback has returned. On an I/O thread
  // it returns at once.
  void Shutdown();

  IoPool& io_pool() { return io_pool_; }
  const Strand& strand() const { return strand_; }
  ConnectTarget target() const;
  void RemoveStream(StreamCall* stream);

  // Call on the strand only.
  void GiveBack(std::shared_ptr<ClientConnection> connection, const ExchangeEnd& end);
  void Drop(const std::shared_ptr<PooledCall>& call);  // closes its connection, or leaves the queue
  void RunFresh(const std::shared_ptr<PooledCall>& call);
  void Complete(const std::shared_ptr<PooledCall>& call, Result<Response> result);
  void ServeWaiting();

 private:
  struct Idle {
    std::shared_ptr<ClientConnection> connection;
    SteadyInstant since;
  };

  Result<std::shared_ptr<const WireRequest>> ToWire(Request request, std::uint64_t max_body) const;
  void Begin(const std::shared_ptr<PooledCall>& call, SteadyInstant deadline);
  bool RunOnIdle(const std::shared_ptr<PooledCall>& call);
  void SweepIdle();
  void CloseOnStrand();

  IoPool& io_pool_;
  const ClientOptions options_;
  const BaseUrl url_;
  const std::shared_ptr<TlsContext> tls_;
  const std::optional<ProxyTarget> proxy_;
  const Strand strand_;

  // State of the strand.
  std::vector<Idle> idle_;  // longest idle first
  std::deque<std::shared_ptr<PooledCall>> waiting_;
  std::set<std::shared_ptr<PooledCall>> live_;  // every call between Begin and Complete
  std::size_t open_count_ = 0;                  // connections that are idle or in use
  Deadline sweep_;
  bool is_closing_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::unordered_map<StreamCall*, std::weak_ptr<StreamCall>> streams_;
  bool is_closed_ = false;
};

}  // namespace berth::net
