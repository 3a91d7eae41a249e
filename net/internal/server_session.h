// net/internal/server_session.h — one connection to the server: request, answer, request, ….
//
//     handshake ─▶ request ─▶ answering ─▶ request …      (or streaming in place of answering)
//                     │           └──▶ upgraded ──▶ finishing
//                     └───────────┴──▶ finishing ─▶ closed
//
// While a handler works or a stream is open, a read stays pending, to notice that the peer has
// closed. Bytes that the read returns (pipelined requests) wait in the buffer.
//
// Threads: the strand only, except for Start and Abort.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "net/internal/byte_stream.h"
#include "net/internal/duplex_connection.h"
#include "net/internal/input_buffer.h"
#include "net/internal/message_parser.h"
#include "net/internal/message_writer.h"
#include "net/internal/server_core.h"
#include "net/internal/server_stream.h"
#include "net/internal/strand.h"

namespace berth::net {

class ServerSession final : public TransportEvents,
                            public DuplexLink,
                            public std::enable_shared_from_this<ServerSession> {
 public:
  ServerSession(std::shared_ptr<ServerCore> core, Strand strand,
                std::unique_ptr<Transport> transport, std::string peer);

  const std::string& peer() const { return peer_; }
  // The start of the wait for a request, or for its missing bytes; nullopt while a request is
  // answered. Any thread.
  std::optional<std::chrono::steady_clock::time_point> waits_since() const;
  // Whether the peer has closed the connection, or its sending side. Any thread.
  bool has_peer_left() const { return has_peer_ended_; }
  void Start();  // may be called on any thread
  void Abort();  // may be called on any thread

  // Called by the responder and the stream.
  void Answer(Response response);
  void StartStream(std::shared_ptr<ServerStream> stream, int status, const Headers& headers);
  void FlushStream();
  void StartUpgrade(std::shared_ptr<DuplexConnection> connection, const Request& request,
                    const std::string& protocol, const Headers& headers);
  void Close();  // at once; idempotent

 private:
  enum class Phase { kHandshake, kRequest, kAnswering, kStreaming, kUpgraded, kFinishing, kClosed };

  void WantInput() override;
  void Send(std::string bytes) override;
  void FinishUpgrade() override;

  void OnReady(const IoOutcome& outcome) override;
  void OnRead(const IoOutcome& outcome, std::size_t byte_count) override;
  void OnWritten(const IoOutcome& outcome, std::size_t byte_count) override;
  void OnFinished() override { Close(); }
  void OnDeadline();

  void BeginRequest();
  void ProcessInput();
  void OnHeader();
  void RunHandler();
  void Refuse(int status, std::string_view reason);
  void RefuseInput(const ParseFailure& failure);
  void ReadMore();
  void PassInput();
  void Enqueue(std::string bytes);
  void WriteMore();
  void OnOutputSent();
  void EndAnswer();
  void Wait();
  bool HoldRequest(std::size_t bytes);
  void ReleaseRequest();
  bool HoldAnswer(std::size_t bytes);
  void ReleaseAnswer();
  void Finish();
  ResponseFraming Framing() const;

  const std::shared_ptr<ServerCore> core_;
  const Strand strand_;
  const std::unique_ptr<Transport> transport_;
  const std::string peer_;  // see Listener
  Deadline deadline_;
  Phase phase_ = Phase::kHandshake;

  InputBuffer input_;
  std::size_t request_bytes_ = 0;  // bytes of the current request that were read
  bool holds_request_ = false;     // this session takes up the core's room for requests
  std::atomic<std::chrono::steady_clock::time_point>
      waits_since_{};  // zero: a request is being answered
  bool is_reading_ = false;
  std::atomic<bool> has_peer_ended_ = false;

  // The current request.
  std::optional<RequestParser> parser_;
  bool has_request_begun_ = false;
  bool is_header_checked_ = false;
  bool is_head_ = false;
  bool is_http10_ = false;
  bool keep_alive_ = true;

  // The answer to the current request.
  std::shared_ptr<ServerStream> stream_;
  std::shared_ptr<DuplexConnection> duplex_;
  std::deque<std::string> output_;
  std::size_t output_sent_ = 0;  // bytes of output_'s first element that were sent
  std::size_t head_bytes_ = 0;   // size of the head, ahead of the stream's bytes
  bool is_writing_ = false;
  bool is_answer_complete_ = false;
  std::size_t held_bytes_ = 0;  // bytes of the core's room for answers
};

}  // namespace berth::net
