#include "net/internal/client_connection.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace berth::net {
namespace {

constexpr int kMaxInterimAnswers = 10;
// The time a complete answer waits for the event that the request is completely sent.
constexpr auto kSettleTime = std::chrono::milliseconds(50);

}  // namespace

ClientConnection::ClientConnection(const Strand& strand, ConnectTarget target)
    : transport_(MakeTransport(strand)),
      settle_(strand, [this] { End(std::nullopt); }),
      target_(std::move(target)) {}

void ClientConnection::Run(std::shared_ptr<const WireRequest> request,
                           std::shared_ptr<Exchange> exchange) {
  request_ = std::move(request);
  exchange_ = std::move(exchange);
  sent_bytes_ = 0;
  has_begun_sending_ = false;
  is_answer_complete_ = false;
  write_failure_.clear();
  interim_count_ = 0;
  has_answer_begun_ = false;
  if (is_connected_) {
    Begin();
  } else {
    transport_->Connect(std::move(target_), shared_from_this());
  }
}

void ClientConnection::Abort() {
  transport_->Abort();
  settle_.Clear();
  exchange_.reset();
  request_.reset();
}

std::string_view ClientConnection::stage() const {
  if (!is_connected_) return transport_->stage();
  if (has_answer_begun_) return "reading the answer";
  return request_ && !IsAllSent() ? "sending" : "waiting for the answer";
}

void ClientConnection::OnReady(const IoOutcome& outcome) {
  if (!outcome.ok()) {
    End(Error{ErrorCode::kUnavailable, outcome.reason});
    return;
  }
  is_connected_ = true;
  Begin();
}

void ClientConnection::Begin() {
  BeginAnswer();
  WriteMore();
  // Reads at once: the peer may answer, or close, before it has read the whole request.
  ReadMore();
}

void ClientConnection::BeginAnswer() {
  is_head_passed_ = false;
  parser_.emplace(request_->limits, request_->answer_body, [this](std::string_view piece) {
    if (exchange_) exchange_->OnBody(piece);
  });
}

void ClientConnection::WriteMore() {
  const std::string_view head = request_->head;
  const std::string_view body = request_->body;
  has_begun_sending_ = true;
  if (sent_bytes_ < head.size()) {
    transport_->Write(head.substr(sent_bytes_), shared_from_this());
  } else if (sent_bytes_ < head.size() + body.size()) {
    transport_->Write(body.substr(sent_bytes_ - head.size()), shared_from_this());
  }
}

void ClientConnection::OnWritten(const IoOutcome& outcome, std::size_t byte_count) {
  if (!exchange_) return;
  sent_bytes_ += byte_count;
  if (is_answer_complete_) {
    End(std::nullopt);
  } else if (outcome.ok()) {
    WriteMore();
  } else {
    // The peer may have answered before it stopped reading: the pending read decides.
    write_failure_ = outcome.reason;
  }
}

void ClientConnection::ReadMore() {
  const std::size_t size = is_head_passed_
                               ? InputBuffer::kLargeSize
                               : std::max(InputBuffer::kSmallSize, input_.view().size() * 2);
  const auto [data, room] = input_.Prepare(size);
  if (room == 0) {  // a chunk's header; the parser limits headers
    End(Error{ErrorCode::kUnavailable, "malformed answer: a line that does not end"});
    return;
  }
  transport_->Read(data, room, shared_from_this());
}

void ClientConnection::OnRead(const IoOutcome& outcome, std::size_t byte_count) {
  if (!exchange_) return;
  if (outcome.ok()) {
    has_answer_begun_ = true;
    input_.Commit(byte_count);
    ProcessInput();
    return;
  }
  if (outcome.kind == IoOutcome::Kind::kEnd && is_head_passed_ && !parser_->FeedEnd()) {
    EndWithAnswer();
    return;
  }
  std::string reason = write_failure_.empty() ? outcome.reason : write_failure_;
  End(Error{ErrorCode::kUnavailable,
            (has_answer_begun_ ? "the connection was lost in the middle of the answer: "
                               : "the connection was lost before the answer: ") +
                reason});
}

void ClientConnection::ProcessInput() {
  while (exchange_ && !input_.empty()) {
    const ParseProgress progress = parser_->Feed(input_.view());
    input_.Consume(progress.consumed);
    if (progress.failure) {
      End(ToError(*progress.failure));
      return;
    }
    if (parser_->header_done() && !is_head_passed_) {
      if (auto error = OnHeader()) {
        End(std::move(error));
        return;
      }
      if (!exchange_) return;
    }
    if (parser_->done() && is_head_passed_) {
      EndWithAnswer();
      return;
    }
    if (progress.consumed == 0) break;
  }
  if (exchange_) ReadMore();
}

std::optional<Error> ClientConnection::OnHeader() {
  const int status = parser_->status();
  if (status >= 200) {
    is_head_passed_ = true;
    exchange_->OnHead(status, parser_->TakeHeaders());
    return std::nullopt;
  }
  if (status < 102 && status != 100) {
    return Error{ErrorCode::kUnavailable,
                 "the answer has status " + std::to_string(status) + ", which was not asked for"};
  }
  if (++interim_count_ > kMaxInterimAnswers) {
    return Error{ErrorCode::kUnavailable, "too many 1xx answers"};
  }
  BeginAnswer();
  return std::nullopt;
}

Error ClientConnection::ToError(const ParseFailure& failure) const {
  switch (failure.kind) {
    case ParseFailure::Kind::kHeaderTooLarge:
      return {ErrorCode::kInvalid, "the header of the answer is larger than " +
                                       std::to_string(request_->limits.header_bytes) + " bytes"};
    case ParseFailure::Kind::kBodyTooLarge:
      return {ErrorCode::kInvalid, "the body of the answer is larger than " +
                                       std::to_string(request_->limits.body_bytes) + " bytes"};
    case ParseFailure::Kind::kMalformed:
    case ParseFailure::Kind::kUnsupported: break;
  }
  return {ErrorCode::kUnavailable, "the answer is malformed: " + failure.reason};
}

// The answer may arrive before the event that the request is sent: both come from different
// threads, and such a connection is reusable. If the peer has stopped reading, it is not.
void ClientConnection::EndWithAnswer() {
  if (IsAllSent() || !write_failure_.empty()) {
    End(std::nullopt);
    return;
  }
  is_answer_complete_ = true;
  settle_.SetAfter(kSettleTime);
}

void ClientConnection::End(std::optional<Error> error) {
  const auto exchange = std::exchange(exchange_, nullptr);
  if (!exchange) return;
  ExchangeEnd end;
  end.error = std::move(error);
  end.has_answer_begun = has_answer_begun_;
  end.was_sent = has_begun_sending_;
  // Bytes behind the answer would be read as the next answer: such a connection is closed.
  end.is_reusable =
      !end.error && parser_->done() && parser_->keep_alive() && input_.empty() && IsAllSent();
  const auto self = shared_from_this();
  settle_.Clear();
  parser_.reset();
  request_.reset();
  if (!end.is_reusable) transport_->Abort();
  exchange->OnEnd(end);
}

}  // namespace berth::net
