// net/web_socket.h — one WebSocket connection (RFC 6455), on the server's side.
//
//     Handler ─Responder::StartWebSocket─▶ WebSocket: Read, Write … Close
//
// Messages are read one at a time, when the reader asks for them: what it does not ask for waits
// with the peer. Dropping the last reference closes the connection.
//
// Threads: any; callbacks run on an I/O thread and must not block.
// Errors: a peer that violates the protocol, or sends a message above
// ServerOptions::max_web_socket_message_bytes, loses the connection.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace berth::net {

class WebSocket {
 public:
  // nullopt: the connection is over, and no message follows.
  using OnMessage = std::function<void(std::optional<std::string>)>;

  virtual ~WebSocket() = default;
  // Reads the next message, text or binary. Precondition: no other Read is under way.
  virtual void Read(OnMessage on_message) = 0;
  // Queues a binary message. False and the limits: as Stream::Write.
  virtual bool Write(std::string message) = 0;
  // The bytes that wait for the peer.
  virtual std::size_t Backlog() const = 0;
  // As Stream::WhenBelow.
  virtual void WhenBelow(std::size_t bytes, std::function<void()> below) = 0;
  // Ends the connection after the queued messages, with the status 1000. Idempotent.
  virtual void Close() = 0;
  // As Stream::OnGone.
  virtual void OnGone(std::function<void()> gone) = 0;
};

// Whether the request asks for a WebSocket. One that asks and is malformed is refused by
// Responder::StartWebSocket.
bool AsksForWebSocket(const Request& request);

// The values of Sec-WebSocket-Protocol, in the order of the client's preference.
std::vector<std::string> WebSocketProtocols(const Request& request);

}  // namespace berth::net
