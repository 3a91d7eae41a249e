// net/internal/server_stream.h — the Stream that a handler writes to, and the Responder.
//
//     any thread ──Write──▶ ServerStream::pending ──Take, on the strand──▶ ServerSession
//
// Both refer to their session weakly: code that keeps one keeps no socket open.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "net/internal/strand.h"
#include "net/server.h"

namespace berth::net {

class ServerSession;

class ServerStream final {
 public:
  enum class Framing { kChunked, kPlain };  // kPlain: HTTP/1.0

  struct Limits {
    std::size_t max_backlog_bytes;
    std::size_t max_total_bytes;
    std::shared_ptr<std::atomic<std::size_t>> total;  // bytes waiting in all streams of the server
  };

  ServerStream(std::weak_ptr<ServerSession> session, Strand strand, Framing framing, Limits limits);
  ~ServerStream();
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  // The functions of Stream.
  bool Write(std::string_view bytes);
  std::size_t Backlog() const;
  void WhenBelow(std::size_t bytes, std::function<void()> below);
  void Close();
  void OnGone(std::function<void()> gone);

  // The functions below are called by the session, on its strand.
  struct Output {
    std::string bytes;     // framed; counted in the backlog until Sent
    bool is_last = false;  // no output follows
  };
  Output Take();
  void Sent(std::size_t byte_count);
  void MarkGone();  // calls the callback; idempotent

 private:
  // Precondition: the lock is held.
  void PostFlush();
  void DropPending();
  std::size_t Waiting() const { return pending_.size() + in_flight_bytes_; }

  const std::weak_ptr<ServerSession> session_;
  const Strand strand_;
  const Framing framing_;
  const Limits limits_;

  mutable std::mutex mutex_;  // guards the members below; never held during a callback
  std::string pending_;
  std::size_t in_flight_bytes_ = 0;
  bool is_flush_posted_ = false;
  bool is_closing_ = false;
  bool is_cut_ = false;  // cut for a slow reader: the response has no regular end
  bool is_gone_ = false;
  std::function<void()> on_gone_;
  std::size_t below_ = 0;
  std::function<void()> on_below_;
};

class ServerResponder final : public Responder {
 public:
  struct Context {
    std::weak_ptr<ServerSession> session;
    Strand strand;
    ServerStream::Framing framing;
    ServerStream::Limits limits;
    std::size_t max_message_bytes = 0;  // the limit of a WebSocket
  };

  explicit ServerResponder(Context context) : context_(std::move(context)) {}
  ~ServerResponder() override;

  bool HasPeerLeft() const override;
  void Send(Response response) override;
  std::shared_ptr<Stream> StartStream(int status, Headers headers) override;
  std::shared_ptr<Duplex> StartUpgrade(const Request& request, std::string protocol,
                                       Headers headers) override;

 private:
  const Context context_;
  std::atomic<bool> is_answered_ = false;
};

}  // namespace berth::net
