// net/internal/client_connection.h — one connection of a client: one connect, then exchanges one
// after the other.
//
// Threads: the connection's strand.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"
#include "net/internal/byte_stream.h"
#include "net/internal/input_buffer.h"
#include "net/internal/message_parser.h"
#include "net/internal/strand.h"

namespace berth::net {

// A serialised request, the same for every attempt.
struct WireRequest {
  std::string head;  // includes a small body
  std::string body;
  ResponseParser::BodyKind answer_body = ResponseParser::BodyKind::kAsFramed;
  ParseLimits limits;  // limits of the answer
};

struct ExchangeEnd {
  std::optional<Error> error;
  bool is_reusable = false;       // the connection may be reused
  bool has_answer_begun = false;  // at least one byte arrived
  bool was_sent = false;          // the peer may have acted on sent bytes
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void OnHead(int status, Headers headers) = 0;  // once, for the final answer (not 1xx)
  virtual void OnBody(std::string_view piece) = 0;
  virtual void OnEnd(const ExchangeEnd& end) = 0;  // the last callback
};

class ClientConnection final : public TransportEvents,
                               public std::enable_shared_from_this<ClientConnection> {
 public:
  ClientConnection(const Strand& strand, ConnectTarget target);

  // Connects first if necessary. No other exchange may be under way.
  void Run(std::shared_ptr<const WireRequest> request, std::shared_ptr<Exchange> exchange);

  // Closes at once; no callback runs afterwards. Idempotent.
  void Abort();

  bool IsQuiet() { return transport_->IsQuiet(); }
  std::string_view stage() const;  // for the message of a timeout
  bool was_sent() const { return has_begun_sending_; }

 private:
  void OnReady(const IoOutcome& outcome) override;
  void OnRead(const IoOutcome& outcome, std::size_t byte_count) override;
  void OnWritten(const IoOutcome& outcome, std::size_t byte_count) override;
  void OnFinished() override {}

  void Begin();
  void BeginAnswer();
  void ReadMore();
  void WriteMore();
  void ProcessInput();
  std::optional<Error> OnHeader();
  void EndWithAnswer();
  void End(std::optional<Error> error);
  bool IsAllSent() const { return sent_bytes_ == request_->head.size() + request_->body.size(); }
  Error ToError(const ParseFailure& failure) const;

  const std::unique_ptr<Transport> transport_;
  Deadline settle_;
  ConnectTarget target_;
  bool is_connected_ = false;
  InputBuffer input_;

  // The running exchange.
  std::shared_ptr<const WireRequest> request_;
  std::shared_ptr<Exchange> exchange_;
  std::optional<ResponseParser> parser_;
  std::size_t sent_bytes_ = 0;
  bool has_begun_sending_ = false;
  bool is_answer_complete_ = false;
  std::string write_failure_;
  int interim_count_ = 0;  // 1xx answers received
  bool is_head_passed_ = false;
  bool has_answer_begun_ = false;
};

}  // namespace berth::net
