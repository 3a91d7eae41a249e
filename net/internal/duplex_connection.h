// net/internal/duplex_connection.h — the Duplex that a handler uses, over the connection of a
// ServerSession: the queue of messages to the peer, and the functions that the protocols implement.
//
//     any thread ──Write──▶ queue ──(strand)──▶ protocol ──Send──▶ ServerSession
//     any thread ──Read───────────▶ (strand) ─▶ protocol ──WantInput──▶ ServerSession ──OnInput──▶
//
// Refers to its session weakly: code that keeps one keeps no socket open.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "net/internal/server_stream.h"
#include "net/internal/strand.h"
#include "net/server.h"
#include "net/upgrade.h"

namespace berth::net {

// The connection that carries the bytes. Threads: the connection's strand.
class DuplexLink {
 public:
  virtual ~DuplexLink() = default;
  virtual void WantInput() = 0;              // answered by OnInput, or MarkGone
  virtual void Send(std::string bytes) = 0;  // answered by OnSent, or MarkGone
  virtual void FinishUpgrade() = 0;
};

class DuplexConnection : public std::enable_shared_from_this<DuplexConnection> {
 public:
  struct Context {
    std::weak_ptr<DuplexLink> link;
    Strand strand;
    ServerStream::Limits limits;
    std::size_t max_message_bytes = 0;
  };
  virtual ~DuplexConnection() { *limits_.total -= waiting_bytes_; }
  DuplexConnection(const DuplexConnection&) = delete;
  DuplexConnection& operator=(const DuplexConnection&) = delete;

  // Makes the handle for the handler; destroying the handle closes the connection.
  std::unique_ptr<Duplex> MakeHandle();

  // The functions of Duplex.
  virtual void Read(Duplex::OnMessage on_message) = 0;
  bool Write(std::string message);
  std::size_t Backlog() const;
  void WhenBelow(std::size_t bytes, std::function<void()> below);
  void Close();
  void OnGone(std::function<void()> gone);

  // The functions below are called by the session, on its strand.
  // Answers the request with 101, or refuses a malformed one and closes.
  virtual void Accept(const Request& request, const std::string& protocol,
                      const Headers& headers) = 0;
  virtual void OnInput(std::string_view bytes) = 0;
  virtual void OnSent() = 0;
  void MarkGone();  // idempotent

 protected:
  explicit DuplexConnection(Context context)
      : link_(std::move(context.link)),
        strand_(std::move(context.strand)),
        limits_(std::move(context.limits)) {}

  // The functions below run on the strand.

  // Sends the next output of TakeOutput, unless an output is under way.
  virtual void Flush() = 0;
  virtual void OnOver() = 0;  // no input follows and no output is sent

  struct Output {
    std::optional<std::string> message;
    bool is_closing = false;  // without a message, only the close remains to be sent
  };
  Output TakeOutput();
  void Sent(std::size_t bytes);
  void Finish() {
    if (const auto link = link_.lock()) link->FinishUpgrade();
  }

  const std::weak_ptr<DuplexLink> link_;
  const Strand strand_;

 private:
  void PostFlush();  // precondition: the lock is held

  const ServerStream::Limits limits_;

  mutable std::mutex mutex_;  // guards the members below; never held during a callback
  std::deque<std::string> queue_;
  std::size_t waiting_bytes_ = 0;
  bool is_flush_posted_ = false;
  bool is_closing_ = false;
  bool is_gone_ = false;
  std::function<void()> on_gone_;
  std::size_t below_ = 0;
  std::function<void()> on_below_;
};

}  // namespace berth::net
