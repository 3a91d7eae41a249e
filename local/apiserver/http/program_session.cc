#include "local/apiserver/http/program_session.h"

#include <utility>

#include "local/apiserver/http/channel_messages.h"
#include "local/apiserver/store/stored_object.h"

namespace berth::local {

std::shared_ptr<net::Duplex> ProgramSession::socket() {
  const std::lock_guard lock(mutex_);
  return socket_;
}

std::shared_ptr<RunningProgram> ProgramSession::program() {
  const std::lock_guard lock(mutex_);
  return program_;
}

void ProgramSession::Begin(std::shared_ptr<net::Duplex> socket,
                           std::unique_ptr<RunningProgram> program) {
  std::optional<ProgramEnd> end;
  {
    const std::lock_guard lock(mutex_);
    socket_ = socket;
    program_ = std::move(program);
    end = std::exchange(early_end_, std::nullopt);
  }
  socket->OnGone([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Drop();
  });
  // As kube-apiserver: tells the client that the session is there.
  socket->Write(MakeChannelMessage(Channel::kOutput, ""));
  ReadNext();
  if (end) return OnEnd(*end);
  Resume();
}

void ProgramSession::Resume() {
  if (const auto program = this->program()) program->Resume();
}

bool ProgramSession::OnOutput(OutputKind kind, std::string bytes) {
  MarkUsed();
  const auto socket = this->socket();
  if (socket == nullptr) return false;
  const Channel channel = kind == OutputKind::kOutput ? Channel::kOutput : Channel::kErrorOutput;
  if (!socket->Write(MakeChannelMessage(channel, bytes))) return false;
  if (socket->Backlog() < kFullBytes) return true;
  socket->WhenBelow(kLowBytes, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Resume();
  });
  return false;
}

void ProgramSession::OnEnd(const ProgramEnd& end) {
  std::shared_ptr<net::Duplex> socket;
  {
    const std::lock_guard lock(mutex_);
    socket = socket_;
    if (socket == nullptr) early_end_ = end;
  }
  if (socket == nullptr) return;
  socket->Write(MakeChannelMessage(Channel::kStatus, EncodeObject(StatusOfEnd(end))));
  socket->Close();
}

void ProgramSession::ReadNext() {
  const auto socket = this->socket();
  if (socket == nullptr) return;
  socket->Read([self = shared_from_this()](const std::optional<std::string>& message) {
    self->OnMessage(message);
  });
}

void ProgramSession::OnMessage(const std::optional<std::string>& message) {
  if (!message) return Drop();
  MarkUsed();
  const auto program = this->program();
  const auto parsed = ParseChannelMessage(*message);
  if (program == nullptr || !parsed) return ReadNext();
  switch (parsed->channel) {
    case Channel::kInput:
      if (parsed->bytes.empty()) break;
      return program->WriteInput(std::string(parsed->bytes),
                                 [self = shared_from_this()] { self->ReadNext(); });
    case Channel::kResize:
      if (const auto size = ParseTerminalSize(parsed->bytes)) {
        program->Resize(size->columns, size->rows);
      }
      break;
    default:
      if (parsed->bytes == std::string_view("\0", 1)) program->CloseInput();
      break;
  }
  ReadNext();
}

void ProgramSession::Cut() {
  if (const auto socket = this->socket()) socket->Close();
}

void ProgramSession::Drop() {
  std::shared_ptr<net::Duplex> socket;
  std::shared_ptr<RunningProgram> program;
  const std::lock_guard lock(mutex_);
  socket.swap(socket_);
  program.swap(program_);
}

}  // namespace berth::local
