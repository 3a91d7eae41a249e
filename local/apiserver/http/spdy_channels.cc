#include "local/apiserver/http/spdy_channels.h"

#include <utility>

namespace berth::local {
namespace {

std::optional<Channel> ChannelOf(const SpdyFrame& frame) {
  constexpr std::array<std::pair<std::string_view, Channel>, 5> kTypes{{
      {"stdin", Channel::kInput},
      {"stdout", Channel::kOutput},
      {"stderr", Channel::kErrorOutput},
      {"error", Channel::kStatus},
      {"resize", Channel::kResize},
  }};
  const auto header = frame.headers.find("streamtype");
  if (header == frame.headers.end()) return std::nullopt;
  for (const auto& [type, channel] : kTypes) {
    if (type == header->second) return channel;
  }
  return std::nullopt;
}

}  // namespace

void SpdyChannels::LimitOpening(Executor& executor) {
  executor.PostAfter(kOpenTimeout, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const std::lock_guard lock(self->mutex_);
    if (!self->IsOpen()) self->duplex_->Close();
  });
}

bool SpdyChannels::IsOpen() {
  return StreamOf(Channel::kStatus).id != 0 &&
         (!asked_.input || StreamOf(Channel::kInput).id != 0) &&
         (!asked_.output || StreamOf(Channel::kOutput).id != 0) &&
         (!asked_.error_output || StreamOf(Channel::kErrorOutput).id != 0) &&
         (!asked_.resize || StreamOf(Channel::kResize).id != 0);
}

void SpdyChannels::WhenOpen(std::function<void()> open) {
  {
    const std::lock_guard lock(mutex_);
    if (!IsOpen()) {
      on_open_ = std::move(open);
      return;
    }
  }
  open();
}

void SpdyChannels::Read(OnMessage on_message) {
  {
    const std::lock_guard lock(mutex_);
    on_message_ = std::move(on_message);
    if (std::exchange(is_pumping_, true)) return;
  }
  Pump();
}

// Delivers messages while they are asked for, without recursion: a callback may call Read.
void SpdyChannels::Pump() {
  while (true) {
    std::optional<Message> message;
    std::function<void()> open;
    OnMessage on_message;
    bool wants_bytes = false;
    {
      const std::lock_guard lock(mutex_);
      if (on_message_ == nullptr) {
        is_pumping_ = false;
        return;
      }
      message = NextMessage();
      wants_bytes = !message && !is_over_;
      if (IsOpen()) open = std::exchange(on_open_, nullptr);
      if (!wants_bytes) on_message = std::exchange(on_message_, nullptr);
    }
    if (open) open();
    if (wants_bytes) {
      duplex_->Read([self = shared_from_this()](const std::optional<std::string>& bytes) {
        self->OnBytes(bytes);
      });
      return;
    }
    on_message(std::move(message));
  }
}

void SpdyChannels::OnBytes(const std::optional<std::string>& bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes) {
      reader_.Add(*bytes);
    } else {
      is_over_ = true;
    }
  }
  Pump();
}

// nullopt: none is complete, or the connection is over.
std::optional<ProgramChannels::Message> SpdyChannels::NextMessage() {
  if (auto size = TakeSize()) return size;
  while (!is_over_) {
    auto next = reader_.Next();
    if (!next) {
      duplex_->Write(SpdyWriter::GoAway(reader_.last_stream()));
      duplex_->Close();
      is_over_ = true;
      break;
    }
    if (!next->has_value()) break;
    if (auto message = TakeFrame(**std::move(next))) return message;
  }
  return std::nullopt;
}

std::optional<ProgramChannels::Message> SpdyChannels::TakeFrame(SpdyFrame frame) {
  switch (frame.kind) {
    case SpdyFrame::Kind::kStream: return TakeStream(frame);
    case SpdyFrame::Kind::kData: return TakeData(std::move(frame));
    case SpdyFrame::Kind::kReset: return TakeReset(frame);
    case SpdyFrame::Kind::kPing: duplex_->Write(SpdyWriter::Ping(frame.stream)); break;
    case SpdyFrame::Kind::kGoAway:
      duplex_->Close();
      is_over_ = true;
      break;
    case SpdyFrame::Kind::kOther: break;
  }
  return std::nullopt;
}

std::optional<ProgramChannels::Message> SpdyChannels::TakeStream(const SpdyFrame& frame) {
  using ResetReason = SpdyWriter::ResetReason;
  const auto channel = ChannelOf(frame);
  if (!channel || StreamOf(*channel).id != 0) {
    const auto reason = channel ? ResetReason::kProtocolError : ResetReason::kRefusedStream;
    duplex_->Write(SpdyWriter::Reset(frame.stream, reason));
    return std::nullopt;
  }
  StreamOf(*channel).id = frame.stream;
  duplex_->Write(writer_.Accept(frame.stream));
  return *channel == Channel::kInput && frame.is_last ? EndInput("") : std::nullopt;
}

std::optional<ProgramChannels::Message> SpdyChannels::TakeData(SpdyFrame frame) {
  if (frame.stream == 0) return std::nullopt;
  if (frame.stream == StreamOf(Channel::kInput).id && !has_input_ended_) {
    if (frame.is_last) return EndInput(std::move(frame.bytes));
    if (frame.bytes.empty()) return std::nullopt;
    return Message{Channel::kInput, std::move(frame.bytes), false};
  }
  if (frame.stream == StreamOf(Channel::kResize).id) {
    if (frame.bytes.size() <= kMostSizeBytes) size_text_.append(frame.bytes);
    return TakeSize();
  }
  return std::nullopt;
}

std::optional<ProgramChannels::Message> SpdyChannels::TakeReset(const SpdyFrame& frame) {
  for (Stream& stream : streams_) {
    if (stream.id != 0 && stream.id == frame.stream) stream.is_reset = true;
  }
  const bool ends_input = StreamOf(Channel::kInput).is_reset && !has_input_ended_;
  return ends_input ? EndInput("") : std::nullopt;
}

std::optional<ProgramChannels::Message> SpdyChannels::EndInput(std::string bytes) {
  has_input_ended_ = true;
  return Message{Channel::kInput, std::move(bytes), true};
}

// Sizes follow each other as JSON objects without objects inside, in frames of any size.
std::optional<ProgramChannels::Message> SpdyChannels::TakeSize() {
  const std::size_t end = size_text_.find('}');
  if (end == std::string::npos) {
    if (size_text_.size() > kMostSizeBytes) size_text_.clear();
    return std::nullopt;
  }
  Message message{Channel::kResize, size_text_.substr(0, end + 1), false};
  size_text_.erase(0, end + 1);
  return message;
}

bool SpdyChannels::Write(OutputKind kind, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  const Stream& stream =
      StreamOf(kind == OutputKind::kError ? Channel::kErrorOutput : Channel::kOutput);
  // Nobody reads the output: it is lost like that of a terminal that is switched off.
  if (stream.id == 0 || stream.is_reset) return true;
  return duplex_->Write(SpdyWriter::Data(stream.id, bytes, false));
}

void SpdyChannels::End(const std::string& status) {
  const std::lock_guard lock(mutex_);
  for (const Channel channel :
       {Channel::kInput, Channel::kResize, Channel::kOutput, Channel::kErrorOutput}) {
    const Stream& stream = StreamOf(channel);
    if (stream.id != 0 && !stream.is_reset) duplex_->Write(SpdyWriter::Data(stream.id, "", true));
  }
  const Stream& error = StreamOf(Channel::kStatus);
  if (!error.is_reset) duplex_->Write(SpdyWriter::Data(error.id, status, true));
  duplex_->Close();
}

}  // namespace berth::local
