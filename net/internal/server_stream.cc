#include "net/internal/server_stream.h"

#include <algorithm>
#include <utility>

#include "net/internal/byte_connection.h"
#include "net/internal/message_writer.h"
#include "net/internal/server_session.h"
#include "net/internal/web_socket_connection.h"

namespace berth::net {
namespace {

// The handler's handle; the session holds the stream itself.
class OpenStream final : public Stream {
 public:
  explicit OpenStream(std::shared_ptr<ServerStream> stream) : stream_(std::move(stream)) {}
  ~OpenStream() override { stream_->Close(); }
  bool Write(std::string bytes) override { return stream_->Write(bytes); }
  std::size_t Backlog() const override { return stream_->Backlog(); }
  void WhenBelow(std::size_t bytes, std::function<void()> below) override {
    stream_->WhenBelow(bytes, std::move(below));
  }
  void Close() override { stream_->Close(); }
  void OnGone(std::function<void()> gone) override { stream_->OnGone(std::move(gone)); }

 private:
  const std::shared_ptr<ServerStream> stream_;
};

}  // namespace

ServerStream::ServerStream(std::weak_ptr<ServerSession> session, Strand strand, Framing framing,
                           Limits limits)
    : session_(std::move(session)),
      strand_(std::move(strand)),
      framing_(framing),
      limits_(std::move(limits)) {}

ServerStream::~ServerStream() { *limits_.total -= Waiting(); }

bool ServerStream::Write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return false;
  if (bytes.empty()) return true;  // an empty chunk would end the response
  // Tested before the bytes are added: one message above the limit passes, a second does not.
  const std::size_t waiting = Waiting();
  const bool too_much_in_all = waiting > 0 && *limits_.total > limits_.max_total_bytes;
  if (waiting > limits_.max_backlog_bytes || too_much_in_all) {
    is_closing_ = true;
    is_cut_ = true;
    DropPending();
    strand_.Post([session = session_] {
      if (const auto open = session.lock()) open->Close();
    });
    return false;
  }
  if (framing_ == Framing::kChunked) {
    AppendChunk(bytes, pending_);
  } else {
    pending_.append(bytes);
  }
  *limits_.total += Waiting() - waiting;
  PostFlush();
  return true;
}

void ServerStream::DropPending() {
  *limits_.total -= pending_.size();
  pending_ = std::string();
}

std::size_t ServerStream::Backlog() const {
  const std::lock_guard lock(mutex_);
  return Waiting();
}

void ServerStream::WhenBelow(std::size_t bytes, std::function<void()> below) {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_cut_) return;
  if (Waiting() <= bytes) {
    on_below_ = nullptr;
    strand_.Post(std::move(below));
    return;
  }
  below_ = bytes;
  on_below_.swap(below);  // the caller destroys the replaced one
}

void ServerStream::Close() {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return;
  is_closing_ = true;
  if (framing_ == Framing::kChunked) {
    pending_.append(kLastChunk);
    *limits_.total += kLastChunk.size();
  }
  PostFlush();
}

void ServerStream::OnGone(std::function<void()> gone) {
  const std::lock_guard lock(mutex_);
  if (is_gone_) {
    strand_.Post(std::move(gone));
  } else {
    on_gone_ = std::move(gone);
  }
}

void ServerStream::PostFlush() {
  if (is_flush_posted_) return;
  is_flush_posted_ = true;
  strand_.Post([session = session_] {
    if (const auto open = session.lock()) open->FlushStream();
  });
}

ServerStream::Output ServerStream::Take() {
  const std::lock_guard lock(mutex_);
  is_flush_posted_ = false;
  in_flight_bytes_ += pending_.size();
  return {std::exchange(pending_, {}), is_closing_ && !is_cut_};
}

void ServerStream::Sent(std::size_t byte_count) {
  std::function<void()> below;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t sent = std::min(byte_count, in_flight_bytes_);
    in_flight_bytes_ -= sent;
    *limits_.total -= sent;
    if (Waiting() <= below_) below = std::exchange(on_below_, nullptr);
  }
  if (below) below();
}

void ServerStream::MarkGone() {
  std::function<void()> gone;
  std::function<void()> below;  // destroyed outside the lock: it may hold the last reference
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
    DropPending();
    below = std::exchange(on_below_, nullptr);
    gone = std::exchange(on_gone_, nullptr);
  }
  if (gone) gone();
}

ServerResponder::~ServerResponder() {
  if (is_answered_) return;
  Headers headers{{"Content-Type", "text/plain"}};
  Send({500, std::move(headers), "the server did not answer this request\n"});
}

bool ServerResponder::HasPeerLeft() const {
  const auto open = context_.session.lock();
  return open == nullptr || open->has_peer_left();
}

void ServerResponder::Send(Response response) {
  if (is_answered_.exchange(true)) return;
  context_.strand.Dispatch([session = context_.session, response = std::move(response)]() mutable {
    if (const auto open = session.lock()) open->Answer(std::move(response));
  });
}

std::shared_ptr<Stream> ServerResponder::StartStream(int status, Headers headers) {
  auto stream = std::make_shared<ServerStream>(context_.session, context_.strand, context_.framing,
                                               context_.limits);
  if (is_answered_.exchange(true)) {
    stream->MarkGone();
    return std::make_shared<OpenStream>(std::move(stream));
  }
  context_.strand.Dispatch(
      [session = context_.session, stream, status, headers = std::move(headers)]() mutable {
        if (const auto open = session.lock()) {
          open->StartStream(stream, status, headers);
        } else {
          stream->MarkGone();
        }
      });
  return std::make_shared<OpenStream>(std::move(stream));
}

std::shared_ptr<Duplex> ServerResponder::StartUpgrade(const Request& request, std::string protocol,
                                                      Headers headers) {
  DuplexConnection::Context context{context_.session, context_.strand, context_.limits,
                                    context_.max_message_bytes};
  auto connection = AsksForWebSocket(request) ? MakeWebSocketConnection(std::move(context))
                                              : MakeByteConnection(std::move(context));
  std::shared_ptr<Duplex> handle = connection->MakeHandle();
  const bool is_late = is_answered_.exchange(true);
  context_.strand.Dispatch([session = context_.session, connection, is_late,
                            upgrade = Request{request.method, request.target, request.headers},
                            protocol = std::move(protocol), headers = std::move(headers)] {
    const auto open = session.lock();
    if (open == nullptr || is_late) return connection->MarkGone();
    open->StartUpgrade(connection, upgrade, protocol, headers);
  });
  return handle;
}

}  // namespace berth::net
