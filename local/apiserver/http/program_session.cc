#include "local/apiserver/http/program_session.h"

#include <utility>

#include "local/apiserver/store/stored_object.h"

namespace berth::local {

std::shared_ptr<ProgramChannels> ProgramSession::channels() {
  const std::lock_guard lock(mutex_);
  return channels_;
}

std::shared_ptr<RunningProgram> ProgramSession::program() {
  const std::lock_guard lock(mutex_);
  return program_;
}

void ProgramSession::Begin(std::shared_ptr<ProgramChannels> channels,
                           std::unique_ptr<RunningProgram> program) {
  {
    const std::lock_guard lock(mutex_);
    channels_ = channels;
    program_ = std::move(program);
  }
  channels->duplex().OnGone([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Drop();
  });
  ReadNext();
  channels->WhenOpen([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Open();
  });
}

void ProgramSession::Open() {
  std::optional<ProgramEnd> end;
  {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    end = std::exchange(early_end_, std::nullopt);
  }
  if (end) return OnEnd(*end);
  Resume();
}

void ProgramSession::Resume() {
  if (const auto program = this->program()) program->Resume();
}

bool ProgramSession::OnOutput(OutputKind kind, std::string bytes) {
  MarkUsed();
  const auto channels = this->channels();
  if (channels == nullptr || !channels->Write(kind, bytes)) return false;
  if (channels->duplex().Backlog() < kFullBytes) return true;
  channels->duplex().WhenBelow(kLowBytes, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Resume();
  });
  return false;
}

void ProgramSession::OnEnd(const ProgramEnd& end) {
  std::shared_ptr<ProgramChannels> channels;
  {
    const std::lock_guard lock(mutex_);
    if (is_open_) {
      channels = channels_;
    } else {
      early_end_ = end;
    }
  }
  if (channels != nullptr) channels->End(EncodeObject(StatusOfEnd(end)));
}

void ProgramSession::ReadNext() {
  const auto channels = this->channels();
  if (channels == nullptr) return;
  channels->Read([self = shared_from_this()](std::optional<ProgramChannels::Message> message) {
    self->OnMessage(std::move(message));
  });
}

void ProgramSession::OnMessage(std::optional<ProgramChannels::Message> message) {
  if (!message) return Drop();
  MarkUsed();
  const auto program = this->program();
  if (program == nullptr) return ReadNext();
  if (message->channel == Channel::kResize) {
    if (const auto size = ParseTerminalSize(message->bytes)) {
      program->Resize(size->columns, size->rows);
    }
    return ReadNext();
  }
  const bool has_bytes = !message->bytes.empty();
  if (has_bytes) {
    program->WriteInput(std::move(message->bytes),
                        [self = shared_from_this()] { self->ReadNext(); });
  }
  if (message->is_last) program->CloseInput();
  if (!has_bytes) ReadNext();
}

void ProgramSession::Cut() {
  if (const auto channels = this->channels()) channels->duplex().Close();
}

void ProgramSession::Drop() {
  std::shared_ptr<ProgramChannels> channels;
  std::shared_ptr<RunningProgram> program;
  const std::lock_guard lock(mutex_);
  channels.swap(channels_);
  program.swap(program_);
}

}  // namespace berth::local
