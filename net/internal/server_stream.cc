#include "net/internal/server_stream.h"

#include <algorithm>
#include <utility>

#include "net/internal/message_writer.h"
#include "net/internal/server_session.h"

namespace berth::net {
namespace {

// What the program holds; the session holds the stream itself.
class OpenStream final : public Stream {
 public:
  explicit OpenStream(std::shared_ptr<ServerStream> stream) : stream_(std::move(stream)) {}
  ~OpenStream() override { stream_->Close(); }
  bool Write(std::string bytes) override { return stream_->Write(bytes); }
  void Close() override { stream_->Close(); }
  void OnGone(std::function<void()> gone) override { stream_->OnGone(std::move(gone)); }

 private:
  const std::shared_ptr<ServerStream> stream_;
};

}  // namespace

ServerStream::ServerStream(std::weak_ptr<ServerSession> session, Strand strand, Framing framing,
                           std::size_t max_backlog_bytes)
    : session_(std::move(session)),
      strand_(std::move(strand)),
      framing_(framing),
      max_backlog_bytes_(max_backlog_bytes) {}

bool ServerStream::Write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return false;
  if (bytes.empty()) return true;  // an empty chunk would end the response
  // Looked at before the bytes are added: one message larger than the limit passes, a second not.
  if (pending_.size() + in_flight_bytes_ > max_backlog_bytes_) {
    is_closing_ = true;
    is_cut_ = true;
    pending_ = std::string();
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
  PostFlush();
  return true;
}

void ServerStream::Close() {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return;
  is_closing_ = true;
  if (framing_ == Framing::kChunked) pending_.append(kLastChunk);
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
  const std::lock_guard lock(mutex_);
  in_flight_bytes_ -= std::min(byte_count, in_flight_bytes_);
}

void ServerStream::MarkGone() {
  std::function<void()> gone;
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
    pending_ = std::string();
    gone = std::exchange(on_gone_, nullptr);
  }
  if (gone) gone();
}

ServerResponder::~ServerResponder() {
  if (is_answered_) return;
  Headers headers{{"Content-Type", "text/plain"}};
  Send({500, std::move(headers), "the server did not answer this request\n"});
}

void ServerResponder::Send(Response response) {
  if (is_answered_.exchange(true)) return;
  context_.strand.Dispatch([session = context_.session, response = std::move(response)]() mutable {
    if (const auto open = session.lock()) open->Answer(std::move(response));
  });
}

std::shared_ptr<Stream> ServerResponder::StartStream(int status, Headers headers) {
  auto stream = std::make_shared<ServerStream>(context_.session, context_.strand, context_.framing,
                                               context_.max_backlog_bytes);
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

}  // namespace berth::net
