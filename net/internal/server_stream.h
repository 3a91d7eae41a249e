// net/internal/server_stream.h — the Stream that a handler writes to, and the Responder before it.
//
//     any thread ──Write──▶ ServerStream::pending ──Take, on the strand──▶ ServerSession
//
// Both refer to their session weakly: a program that keeps them keeps no socket.
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

  ServerStream(std::weak_ptr<ServerSession> session, Strand strand, Framing framing,
               std::size_t max_backlog_bytes);

  // As Stream.
  bool Write(std::string_view bytes);
  void Close();
  void OnGone(std::function<void()> gone);

  // The rest is for the session, on its strand.
  struct Output {
    std::string bytes;     // framed; counted as waiting until Sent
    bool is_last = false;  // nothing comes behind
  };
  Output Take();
  void Sent(std::size_t byte_count);
  void MarkGone();  // calls the callback; idempotent

 private:
  void PostFlush();  // with the lock held

  const std::weak_ptr<ServerSession> session_;
  const Strand strand_;
  const Framing framing_;
  const std::size_t max_backlog_bytes_;

  std::mutex mutex_;  // guards what follows; never held while a callback runs
  std::string pending_;
  std::size_t in_flight_bytes_ = 0;
  bool is_flush_posted_ = false;
  bool is_closing_ = false;
  bool is_cut_ = false;  // read too slowly: no proper end follows
  bool is_gone_ = false;
  std::function<void()> on_gone_;
};

class ServerResponder final : public Responder {
 public:
  struct Context {
    std::weak_ptr<ServerSession> session;
    Strand strand;
    ServerStream::Framing framing;
    std::size_t max_backlog_bytes;
  };

  explicit ServerResponder(Context context) : context_(std::move(context)) {}
  ~ServerResponder() override;

  void Send(Response response) override;
  std::shared_ptr<Stream> StartStream(int status, Headers headers) override;

 private:
  const Context context_;
  std::atomic<bool> is_answered_ = false;
};

}  // namespace berth::net
