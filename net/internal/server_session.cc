#include "net/internal/server_session.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/threads/guarded.h"
#include "net/internal/message_writer.h"

namespace berth::net {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

constexpr std::size_t kSmallAnswerBytes = 64UL * 1024;   // has room always
constexpr std::size_t kSmallRequestBytes = 64UL * 1024;  // has room always

Response Busy() {
  return {503,
          {{"Content-Type", "text/plain; charset=utf-8"}, {"Retry-After", "1"}},
          "too many large answers wait for clients that do not read them, try again later\n"};
}

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace

ServerSession::ServerSession(std::shared_ptr<ServerCore> core, Strand strand,
                             std::unique_ptr<Transport> transport, std::string peer)
    : core_(std::move(core)),
      strand_(std::move(strand)),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      deadline_(strand_, [this] { OnDeadline(); }) {
  Wait();
}

std::optional<std::chrono::steady_clock::time_point> ServerSession::waits_since() const {
  const std::chrono::steady_clock::time_point since = waits_since_;
  if (since == std::chrono::steady_clock::time_point()) return std::nullopt;
  return since;
}

void ServerSession::Wait() { waits_since_ = std::chrono::steady_clock::now(); }

void ServerSession::Start() {
  strand_.Post([self = shared_from_this()] {
    if (self->phase_ != Phase::kHandshake) return;
    self->deadline_.SetAfter(self->core_->options.handshake_timeout);
    self->transport_->Accept(self);
  });
}

void ServerSession::Abort() {
  strand_.Post([self = shared_from_this()] { self->Close(); });
}

void ServerSession::Close() {
  if (phase_ == Phase::kClosed) return;
  const auto self = shared_from_this();  // the core may drop its reference
  phase_ = Phase::kClosed;
  has_peer_ended_ = true;
  deadline_.Clear();
  transport_->Abort();
  output_.clear();
  ReleaseRequest();
  ReleaseAnswer();
  if (const auto stream = std::exchange(stream_, nullptr)) stream->MarkGone();
  if (const auto duplex = std::exchange(duplex_, nullptr)) duplex->MarkGone();
  core_->Remove(self);
}

void ServerSession::OnReady(const IoOutcome& outcome) {
  if (outcome.ok()) {
    BeginRequest();
  } else {
    Close();
  }
}

void ServerSession::OnDeadline() {
  if (phase_ == Phase::kRequest && has_request_begun_) {
    Refuse(408, "the request took too long");
  } else {
    Close();  // idle, or the peer does not read the answer
  }
}

void ServerSession::BeginRequest() {
  phase_ = Phase::kRequest;
  request_bytes_ = input_.view().size();
  Wait();
  parser_.emplace(ParseLimits{core_->options.max_header_bytes, core_->options.max_body_bytes});
  has_request_begun_ = false;
  is_header_checked_ = false;
  keep_alive_ = true;
  is_head_ = false;
  is_http10_ = false;
  is_answer_complete_ = false;
  deadline_.SetAfter(core_->options.idle_timeout);
  ProcessInput();
}

void ServerSession::ProcessInput() {
  while (phase_ == Phase::kRequest && !input_.empty()) {
    if (!has_request_begun_) {
      has_request_begun_ = true;
      deadline_.SetAfter(core_->options.request_timeout);
    }
    const ParseProgress progress = parser_->Feed(input_.view());
    input_.Consume(progress.consumed);
    if (progress.failure) {
      RefuseInput(*progress.failure);
      return;
    }
    if (parser_->header_done() && !is_header_checked_) OnHeader();
    if (phase_ != Phase::kRequest) return;
    if (parser_->done()) {
      RunHandler();
      return;
    }
    if (progress.consumed == 0) break;
  }
  if (phase_ != Phase::kRequest) return;
  if (has_peer_ended_) {
    Finish();
  } else {
    ReadMore();
  }
}

void ServerSession::OnHeader() {
  is_header_checked_ = true;
  is_http10_ = parser_->is_http10();
  keep_alive_ = parser_->keep_alive();
  const std::string_view expect = parser_->expect();
  if (expect.empty() || is_http10_) return;
  if (!EqualsIgnoreCase(expect, "100-continue")) {
    Refuse(417, "the only expectation understood is 100-continue");
  } else if (!parser_->done() && input_.empty()) {
    Enqueue(std::string(kContinue));
  }
}

void ServerSession::RunHandler() {
  phase_ = Phase::kAnswering;
  waits_since_ = std::chrono::steady_clock::time_point();
  deadline_.Clear();
  ReleaseRequest();
  Request request = parser_->TakeRequest();
  parser_.reset();
  is_head_ = request.method == "HEAD";
  request.peer_address = transport_->peer_address();
  if (auto certificate = transport_->peer_certificate()) {
    request.client_certificate_common_name = std::move(certificate->common_name);
    request.client_certificate_organizations = std::move(certificate->organizations);
  }
  auto responder = std::make_shared<ServerResponder>(ServerResponder::Context{
      weak_from_this(),
      strand_,
      is_http10_ ? ServerStream::Framing::kPlain : ServerStream::Framing::kChunked,
      {core_->options.max_stream_backlog_bytes, core_->options.max_total_stream_backlog_bytes,
       core_->stream_backlog},
      core_->options.max_web_socket_message_bytes});
  // Where the handler throws, the dropped responder answers 500.
  RunGuarded("the handler of a request failed",
             [&] { core_->handler(std::move(request), responder); });
  responder.reset();
  if (phase_ == Phase::kAnswering || phase_ == Phase::kStreaming) ReadMore();
}

ResponseFraming ServerSession::Framing() const {
  ResponseFraming framing;
  framing.version =
      is_http10_ ? ResponseFraming::Version::kHttp10 : ResponseFraming::Version::kHttp11;
  framing.keep_alive = keep_alive_;
  return framing;
}

// Bytes are read before anybody is asked for a token: without a limit a few hundred connections
// that send bodies but for the last byte would take all memory.
bool ServerSession::HoldRequest(std::size_t bytes) {
  request_bytes_ += bytes;
  if (request_bytes_ <= kSmallRequestBytes) return true;
  const std::size_t uncounted = std::exchange(holds_request_, true) ? bytes : request_bytes_;
  return core_->TakeRequestRoom(shared_from_this(), uncounted);
}

void ServerSession::ReleaseRequest() {
  if (std::exchange(holds_request_, false)) core_->GiveRequestRoom(shared_from_this());
}

// Answers wait in memory for clients that do not read: without a limit a few requests for large
// lists would take all of it.
bool ServerSession::HoldAnswer(std::size_t bytes) {
  if (bytes <= kSmallAnswerBytes) return true;
  if (!core_->TakeAnswerRoom(bytes)) return false;
  held_bytes_ = bytes;
  return true;
}

void ServerSession::ReleaseAnswer() { core_->GiveAnswerRoom(std::exchange(held_bytes_, 0)); }

void ServerSession::Answer(Response response) {
  if (phase_ != Phase::kAnswering || is_answer_complete_) return;
  if (!is_head_ && !HoldAnswer(response.body.size())) response = Busy();
  if (EqualsIgnoreCase(response.headers.Find("Connection"), "close")) keep_alive_ = false;
  ResponseFraming framing = Framing();
  framing.length = response.body.size();
  const bool has_body = HasBody(response.status) && !is_head_;
  // The answer to HEAD has the length of GET's.
  const bool has_own_length = is_head_ && response.body.empty();
  if (!HasBody(response.status) || has_own_length) framing.body = ResponseFraming::Body::kNone;
  std::string head = ResponseHead(response.status, response.headers, framing);
  is_answer_complete_ = true;
  if (!has_body) {
    Enqueue(std::move(head));
  } else if (response.body.size() <= kJoinBytes) {
    Enqueue(std::move(head.append(response.body)));
  } else {
    Enqueue(std::move(head));
    Enqueue(std::move(response.body));
  }
}

void ServerSession::StartStream(std::shared_ptr<ServerStream> stream, int status,
                                const Headers& headers) {
  if (phase_ != Phase::kAnswering || is_answer_complete_) {
    stream->MarkGone();
    return;
  }
  if (EqualsIgnoreCase(headers.Find("Connection"), "close")) keep_alive_ = false;
  ResponseFraming framing = Framing();
  framing.body = ResponseFraming::Body::kChunked;
  if (is_http10_) {
    framing.body = ResponseFraming::Body::kUntilClose;
    framing.keep_alive = keep_alive_ = false;
  }
  const bool has_body = HasBody(status) && !is_head_;
  if (!HasBody(status)) framing.body = ResponseFraming::Body::kNone;
  stream_ = std::move(stream);
  std::string head = ResponseHead(status, headers, framing);
  head_bytes_ = head.size();
  if (has_body) {
    phase_ = Phase::kStreaming;
  } else {
    is_answer_complete_ = true;
  }
  Enqueue(std::move(head));
  if (has_peer_ended_) Close();
}

void ServerSession::StartUpgrade(std::shared_ptr<DuplexConnection> connection,
                                 const Request& request, const std::string& protocol,
                                 const Headers& headers) {
  if (phase_ != Phase::kAnswering || is_answer_complete_ || has_peer_ended_ || is_http10_) {
    connection->MarkGone();
    if (phase_ == Phase::kAnswering && !is_answer_complete_) Close();
    return;
  }
  phase_ = Phase::kUpgraded;
  duplex_ = std::move(connection);
  const auto duplex = duplex_;  // Accept may end it
  duplex->Accept(request, protocol, headers);
}

void ServerSession::WantInput() {
  if (phase_ != Phase::kUpgraded) return;
  if (has_peer_ended_) return Close();
  if (input_.empty()) return ReadMore();
  // Never inside the call: the connection above is in its own.
  strand_.Post([self = shared_from_this()] { self->PassInput(); });
}

void ServerSession::PassInput() {
  if (phase_ != Phase::kUpgraded || input_.empty()) return;
  const std::string bytes(input_.view());
  input_.Consume(bytes.size());
  const auto duplex = duplex_;
  duplex->OnInput(bytes);
}

void ServerSession::Send(std::string bytes) {
  if (phase_ == Phase::kUpgraded) Enqueue(std::move(bytes));
}

void ServerSession::FinishUpgrade() {
  if (phase_ != Phase::kUpgraded) return;
  const auto duplex = std::exchange(duplex_, nullptr);
  Finish();
  duplex->MarkGone();
}

void ServerSession::FlushStream() {
  if (phase_ == Phase::kStreaming && !is_writing_) OnOutputSent();
}

void ServerSession::Refuse(int status, std::string_view reason) {
  phase_ = Phase::kAnswering;
  parser_.reset();
  ReleaseRequest();
  keep_alive_ = false;
  Headers headers{{"Content-Type", "text/plain"}};
  Answer({status, std::move(headers), std::string(reason) + "\n"});
}

void ServerSession::RefuseInput(const ParseFailure& failure) {
  switch (failure.kind) {
    case ParseFailure::Kind::kMalformed: Refuse(400, failure.reason); break;
    case ParseFailure::Kind::kHeaderTooLarge: Refuse(431, failure.reason); break;
    case ParseFailure::Kind::kBodyTooLarge: Refuse(413, failure.reason); break;
    case ParseFailure::Kind::kUnsupported: Refuse(501, failure.reason); break;
  }
}

void ServerSession::ReadMore() {
  if (is_reading_ || has_peer_ended_) return;
  const bool is_in_body = phase_ == Phase::kRequest && is_header_checked_;
  std::size_t size = phase_ == Phase::kUpgraded ? InputBuffer::kLargeSize : InputBuffer::kSmallSize;
  if (is_in_body) {
    const auto left = parser_->body_left().value_or(InputBuffer::kLargeSize);
    size = std::clamp<std::uint64_t>(left, InputBuffer::kSmallSize, InputBuffer::kLargeSize);
  }
  // A header, or a chunk's header, must fit; the parser refuses it before the buffer is full.
  if (phase_ == Phase::kRequest && input_.view().size() * 2 > size) {
    size = std::min(input_.view().size() * 4,
                    std::max(core_->options.max_header_bytes, InputBuffer::kLargeSize) +
                        InputBuffer::kSmallSize);
  }
  const auto [data, room] = input_.Prepare(size);
  if (room == 0) {
    if (phase_ == Phase::kRequest) Refuse(431, "a line of the request is longer than the limit");
    if (phase_ == Phase::kStreaming) Close();  // no client pipelines this much behind a watch
    return;
  }
  is_reading_ = true;
  transport_->Read(data, room, shared_from_this());
}

void ServerSession::OnRead(const IoOutcome& outcome, std::size_t byte_count) {
  is_reading_ = false;
  if (outcome.kind == IoOutcome::Kind::kFailed) {
    Close();
    return;
  }
  if (!outcome.ok()) {
    has_peer_ended_ = true;
    if (phase_ == Phase::kUpgraded) return Close();
    // The peer may have ended only its own side and wait for the answer; for a stream it has left.
    if (phase_ == Phase::kStreaming) {
      Close();
    } else if (phase_ == Phase::kRequest) {
      Finish();
    }
    return;
  }
  input_.Commit(byte_count);
  if (phase_ == Phase::kRequest) {
    if (!HoldRequest(byte_count)) {
      return Refuse(503, "too many bytes of unfinished requests, try again later");
    }
    ProcessInput();
  } else if (phase_ == Phase::kUpgraded) {
    PassInput();
  } else {
    ReadMore();
  }
}

void ServerSession::Enqueue(std::string bytes) {
  output_.push_back(std::move(bytes));
  WriteMore();
}

void ServerSession::WriteMore() {
  if (is_writing_ || output_.empty()) return;
  if (phase_ != Phase::kRequest) deadline_.SetAfter(core_->options.write_timeout);
  is_writing_ = true;
  transport_->Write(std::string_view(output_.front()).substr(output_sent_), shared_from_this());
}

void ServerSession::OnWritten(const IoOutcome& outcome, std::size_t byte_count) {
  is_writing_ = false;
  if (!outcome.ok()) {
    Close();
    return;
  }
  const std::size_t of_head = std::min(head_bytes_, byte_count);
  head_bytes_ -= of_head;
  if (stream_) stream_->Sent(byte_count - of_head);
  output_sent_ += byte_count;
  if (output_sent_ == output_.front().size()) {
    output_.pop_front();
    output_sent_ = 0;
  }
  if (output_.empty()) {
    OnOutputSent();
  } else {
    WriteMore();
  }
}

void ServerSession::OnOutputSent() {
  if (phase_ == Phase::kUpgraded) {
    deadline_.Clear();
    const auto duplex = duplex_;
    return duplex->OnSent();
  }
  if (phase_ == Phase::kStreaming && !is_answer_complete_) {
    ServerStream::Output next = stream_->Take();
    is_answer_complete_ = next.is_last;
    deadline_.Clear();
    if (!next.bytes.empty()) {
      Enqueue(std::move(next.bytes));
      return;
    }
  }
  if (is_answer_complete_) EndAnswer();
}

void ServerSession::EndAnswer() {
  ReleaseAnswer();
  if (const auto stream = std::exchange(stream_, nullptr)) stream->MarkGone();
  if (phase_ == Phase::kClosed) return;
  if (keep_alive_) {
    BeginRequest();
  } else {
    Finish();
  }
}

void ServerSession::Finish() {
  phase_ = Phase::kFinishing;
  Wait();
  deadline_.Clear();
  transport_->Finish(shared_from_this());
}

}  // namespace berth::net
