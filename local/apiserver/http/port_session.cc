#include "local/apiserver/http/port_session.h"

#include <utility>

#include "base/strings.h"

namespace berth::local {

void PortSession::Begin(std::shared_ptr<net::Duplex> duplex,
                        const std::optional<std::vector<std::uint16_t>>& ports) {
  duplex->OnGone([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Drop();
  });
  const std::lock_guard lock(mutex_);
  duplex_ = std::move(duplex);
  has_frames_ = !ports.has_value();
  for (std::size_t at = 0; ports && at < ports->size(); ++at) {
    const auto line = std::make_shared<Line>();
    line->data = static_cast<std::uint32_t>(2 * at);
    line->error = line->data + 1;
    line->port = (*ports)[at];
    lines_[line->data] = line;
    const std::string port{static_cast<char>(line->port & 0xff),
                           static_cast<char>(line->port >> 8)};
    Send(line->data, port, false);
    Send(line->error, port, false);
    Open(line);
  }
  ReadNext();
}

void PortSession::ReadNext() {
  if (duplex_ == nullptr) return;
  duplex_->Read([self = shared_from_this()](const std::optional<std::string>& message) {
    self->OnMessage(message);
  });
}

void PortSession::OnMessage(const std::optional<std::string>& message) {
  if (!message) return Drop();
  MarkUsed();
  const std::lock_guard lock(mutex_);
  if (duplex_ == nullptr) return;
  if (has_frames_) {
    if (!TakeFrames(*message)) return duplex_->Close();
  } else if (!message->empty()) {
    TakeBytes(static_cast<unsigned char>((*message)[0]), message->substr(1), false);
  }
  is_read_paused_ = waiting_bytes_ > kFullBytes;
  if (!is_read_paused_) ReadNext();
}

bool PortSession::TakeFrames(std::string_view bytes) {
  reader_.Add(bytes);
  while (true) {
    auto next = reader_.Next();
    if (!next) {
      duplex_->Write(SpdyWriter::GoAway(reader_.last_stream()));
      return false;
    }
    if (!next->has_value()) return true;
    SpdyFrame& frame = **next;
    switch (frame.kind) {
      case SpdyFrame::Kind::kStream: TakeStream(frame); break;
      case SpdyFrame::Kind::kData:
        TakeBytes(frame.stream, std::move(frame.bytes), frame.is_last);
        break;
      case SpdyFrame::Kind::kReset: TakeReset(frame.stream); break;
      case SpdyFrame::Kind::kPing: duplex_->Write(SpdyWriter::Ping(frame.stream)); break;
      case SpdyFrame::Kind::kGoAway: return false;
      case SpdyFrame::Kind::kOther: break;
    }
  }
}

void PortSession::TakeStream(const SpdyFrame& frame) {
  const auto header = [&](const char* name) {
    const auto found = frame.headers.find(name);
    return found == frame.headers.end() ? std::string() : found->second;
  };
  const std::string type = header("streamtype");
  const auto port = ParseInt64(header("port"));
  const std::string id = header("requestid");
  const bool is_good = (type == "data" || type == "error") && port && *port > 0 && *port < 65536 &&
                       !lines_.contains(frame.stream);
  const bool has_room = halves_.contains(id) || lines_.size() + halves_.size() < kMostConnections;
  if (!is_good || !has_room) {
    halves_.erase(id);  // its other stream will not come
    duplex_->Write(SpdyWriter::Reset(frame.stream, SpdyWriter::ResetReason::kRefusedStream));
    return;
  }
  duplex_->Write(writer_.Accept(frame.stream));
  Half& half = halves_[id];
  (type == "data" ? half.data : half.error) = frame.stream;
  if (type == "data") half.has_client_ended = frame.is_last;
  if (!half.data || !half.error) return;
  const auto line = std::make_shared<Line>();
  line->data = *half.data;
  line->error = *half.error;
  line->port = static_cast<std::uint16_t>(*port);
  line->has_client_ended = half.has_client_ended;
  halves_.erase(id);
  lines_[line->data] = line;
  Open(line);
}

void PortSession::TakeReset(std::uint32_t stream) {
  std::erase_if(halves_, [&](const auto& entry) {
    return entry.second.data == stream || entry.second.error == stream;
  });
  const auto found = lines_.find(stream);
  if (found == lines_.end()) return;
  const LinePtr line = found->second;
  End(line);
}

void PortSession::TakeBytes(std::uint32_t stream, std::string bytes, bool is_last) {
  const auto found = lines_.find(stream);
  if (found == lines_.end()) return;
  const LinePtr line = found->second;
  if (is_last) line->has_client_ended = true;
  if (!bytes.empty()) {
    waiting_bytes_ += bytes.size();
    line->waiting_bytes += bytes.size();
    line->waiting.push_back(std::move(bytes));
  }
  WriteTo(line);
}

void PortSession::Open(const LinePtr& line) {
  streams_->FindPort(place_, line->port,
                     [self = shared_from_this(), line](const ApiResult<std::string>& address) {
                       self->OnAddress(line, address);
                     });
}

void PortSession::OnAddress(const LinePtr& line, const ApiResult<std::string>& address) {
  const std::lock_guard lock(mutex_);
  if (line->is_over) return;
  if (!address) return Fail(line, address.error().message);
  net::TcpStream::Connect(
      pool_, *address, line->port, kConnectTimeout,
      [self = shared_from_this(), line](const Result<std::shared_ptr<net::TcpStream>>& tcp) {
        self->OnConnected(line, tcp);
      });
}

void PortSession::OnConnected(const LinePtr& line,
                              const Result<std::shared_ptr<net::TcpStream>>& tcp) {
  const std::lock_guard lock(mutex_);
  if (line->is_over) return;
  if (!tcp) {
    return Fail(line, "port " + std::to_string(line->port) + " of pod " + place_.pod + ": " +
                          tcp.error().message);
  }
  line->tcp = *tcp;
  WriteTo(line);
  ReadFrom(line);
}

void PortSession::ReadFrom(const LinePtr& line) {
  line->tcp->Read([self = shared_from_this(), line](const std::optional<std::string>& bytes) {
    self->OnBytes(line, bytes);
  });
}

void PortSession::OnBytes(const LinePtr& line, const std::optional<std::string>& bytes) {
  MarkUsed();
  const std::lock_guard lock(mutex_);
  if (line->is_over || duplex_ == nullptr) return;
  if (!bytes) {
    Send(line->data, "", true);
    Send(line->error, "", true);
    return End(line);
  }
  Send(line->data, *bytes, false);
  if (duplex_->Backlog() < kFullBytes) return ReadFrom(line);
  full_.push_back(line);
  duplex_->WhenBelow(kLowBytes, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnLow();
  });
}

void PortSession::OnLow() {
  const std::lock_guard lock(mutex_);
  for (const LinePtr& line : std::exchange(full_, {})) {
    if (!line->is_over) ReadFrom(line);
  }
}

void PortSession::WriteTo(const LinePtr& line) {
  if (line->tcp == nullptr || line->is_writing) return;
  if (line->waiting.empty()) {
    if (line->has_client_ended) line->tcp->EndWrites();
    return;
  }
  line->is_writing = true;
  std::string bytes = std::move(line->waiting.front());
  line->waiting.pop_front();
  const std::size_t count = bytes.size();
  line->tcp->Write(std::move(bytes), [self = shared_from_this(), line, count](bool is_well) {
    self->OnWritten(line, count, is_well);
  });
}

void PortSession::OnWritten(const LinePtr& line, std::size_t count, bool is_well) {
  const std::lock_guard lock(mutex_);
  if (line->is_over) return;
  line->is_writing = false;
  line->waiting_bytes -= count;
  waiting_bytes_ -= count;
  if (is_well) {
    WriteTo(line);
  } else {
    Send(line->data, "", true);
    Send(line->error, "", true);
    End(line);
  }
  if (is_read_paused_ && waiting_bytes_ <= kFullBytes) {
    is_read_paused_ = false;
    ReadNext();
  }
}

void PortSession::Fail(const LinePtr& line, const std::string& why) {
  Send(line->error, why, true);
  Send(line->data, "", true);
  End(line);
}

void PortSession::End(const LinePtr& line) {
  if (std::exchange(line->is_over, true)) return;
  waiting_bytes_ -= line->waiting_bytes;
  line->waiting.clear();
  if (line->tcp != nullptr) line->tcp->Close();
  lines_.erase(line->data);
  if (!has_frames_ && lines_.empty() && duplex_ != nullptr) return duplex_->Close();
  if (is_read_paused_ && waiting_bytes_ <= kFullBytes) {
    is_read_paused_ = false;
    ReadNext();
  }
}

void PortSession::Send(std::uint32_t stream, std::string_view bytes, bool is_last) {
  if (duplex_ == nullptr) return;
  if (has_frames_) {
    duplex_->Write(SpdyWriter::Data(stream, bytes, is_last));
  } else if (!bytes.empty()) {
    std::string message(1, static_cast<char>(stream));
    duplex_->Write(message.append(bytes));
  }
}

void PortSession::Cut() {
  const std::lock_guard lock(mutex_);
  if (duplex_ != nullptr) duplex_->Close();
}

void PortSession::Drop() {
  std::shared_ptr<net::Duplex> duplex;
  const std::lock_guard lock(mutex_);
  duplex.swap(duplex_);
  for (const auto& [stream, line] : std::exchange(lines_, {})) {
    line->is_over = true;
    if (line->tcp != nullptr) line->tcp->Close();
  }
  full_.clear();
}

}  // namespace berth::local
