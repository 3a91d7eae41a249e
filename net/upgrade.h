// net/upgrade.h — one connection that an upgrade has taken out of HTTP, on the server's side: the
// messages of a WebSocket (RFC 6455), or the bytes of another protocol (SPDY/3.1).
//
//     Handler ─Responder::StartUpgrade─▶ Duplex: Read, Write … Close
//
// Messages are read one at a time, when the reader asks for them: other messages wait at the peer.
// If the protocol is not WebSocket, a message is any piece of the bytes, of 64 KiB at most.
// Dropping the last reference closes the connection.
//
// Threads: any; callbacks run on an I/O thread, never inside the call, and must not block.
// Errors: a peer that violates the protocol of WebSockets, or sends a message above
// ServerOptions::max_web_socket_message_bytes, loses the connection.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace berth::net {

class Duplex {
 public:
  // nullopt: the connection is over, and no message follows.
  using OnMessage = std::function<void(std::optional<std::string>)>;

  virtual ~Duplex() = default;
  // Reads the next message, text or binary. Precondition: no other Read is under way.
  virtual void Read(OnMessage on_message) = 0;
  // Queues a binary message. False and the limits have the meaning of Stream::Write.
  virtual bool Write(std::string message) = 0;
  // The bytes that wait for the peer.
  virtual std::size_t Backlog() const = 0;
  // Has the rules of Stream::WhenBelow.
  virtual void WhenBelow(std::size_t bytes, std::function<void()> below) = 0;
  // Ends the connection after the queued messages: a WebSocket with the status 1000; another
  // protocol when the peer ends it, two seconds later at the latest. Idempotent.
  virtual void Close() = 0;
  // Has the rules of Stream::OnGone.
  virtual void OnGone(std::function<void()> gone) = 0;
};

// Whether the request asks for a WebSocket. Responder::StartUpgrade refuses a malformed request
// that asks for one.
bool AsksForWebSocket(const Request& request);

// Whether the request, of any method, asks for an upgrade to `protocol`: "SPDY/3.1".
bool AsksForUpgrade(const Request& request, std::string_view protocol);

// The values of a header that is a list, in their order. The values of Sec-WebSocket-Protocol are
// the client's protocols, the preferred one first.
std::vector<std::string> ListedValues(const Request& request, std::string_view header);

}  // namespace berth::net
