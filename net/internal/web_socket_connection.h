// net/internal/web_socket_connection.h — the WebSocket that a handler uses, over the connection of
// a ServerSession; hides Beast.
//
//     any thread ──Write──▶ queue ──(strand)──▶ Beast ──Send──▶ ServerSession
//     any thread ──Read───────────▶ (strand) ─▶ Beast ──WantInput──▶ ServerSession ──OnInput──▶
//
// Refers to its session weakly: code that keeps one keeps no socket open.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/internal/server_stream.h"
#include "net/internal/strand.h"
#include "net/server.h"
#include "net/web_socket.h"

namespace berth::net {

// The connection below. Threads: its strand.
class WebSocketLink {
 public:
  virtual ~WebSocketLink() = default;
  virtual void WantInput() = 0;              // answered by OnInput, or MarkGone
  virtual void Send(std::string bytes) = 0;  // answered by OnSent, or MarkGone
  virtual void FinishWebSocket() = 0;
};

class WebSocketConnection : public std::enable_shared_from_this<WebSocketConnection> {
 public:
  struct Context {
    std::weak_ptr<WebSocketLink> link;
    Strand strand;
    ServerStream::Limits limits;
    std::size_t max_message_bytes = 0;
  };
  static std::shared_ptr<WebSocketConnection> Make(Context context);
  virtual ~WebSocketConnection() = default;

  // The handler's handle: its end closes the connection.
  std::unique_ptr<WebSocket> MakeHandle();

  // The functions of WebSocket.
  virtual void Read(WebSocket::OnMessage on_message) = 0;
  virtual bool Write(std::string message) = 0;
  virtual std::size_t Backlog() const = 0;
  virtual void WhenBelow(std::size_t bytes, std::function<void()> below) = 0;
  virtual void Close() = 0;
  virtual void OnGone(std::function<void()> gone) = 0;

  // The functions below are called by the session, on its strand.
  // Answers the request with 101, or refuses a malformed one and closes.
  virtual void Accept(const Request& request, const std::string& protocol,
                      const Headers& headers) = 0;
  virtual void OnInput(std::string_view bytes) = 0;
  virtual void OnSent() = 0;
  virtual void MarkGone() = 0;  // idempotent
};

}  // namespace berth::net
