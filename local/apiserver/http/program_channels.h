// local/apiserver/http/program_channels.h — the channels between a client and one program (input,
// output, error output, status, size of the terminal), over messages of a WebSocket or streams of
// SPDY.
//
// Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "local/apiserver/http/channel_messages.h"
#include "local/apiserver/program_streams.h"
#include "net/upgrade.h"

namespace berth::local {

class ProgramChannels {
 public:
  struct Message {
    Channel channel = Channel::kInput;  // kInput or kResize
    std::string bytes;
    bool is_last = false;  // kInput: the client sends no more
  };
  // nullopt: the connection is over, and no message follows.
  using OnMessage = std::function<void(std::optional<Message>)>;

  explicit ProgramChannels(std::shared_ptr<net::Duplex> duplex) : duplex_(std::move(duplex)) {}
  virtual ~ProgramChannels() = default;
  ProgramChannels(const ProgramChannels&) = delete;
  ProgramChannels& operator=(const ProgramChannels&) = delete;

  // Calls `open` once, when the client takes output, perhaps inside this call; never if the
  // connection ends earlier. Call WhenOpen once.
  virtual void WhenOpen(std::function<void()> open) = 0;
  // Reads the next message, perhaps inside the call. Precondition: no other Read is under way.
  virtual void Read(OnMessage on_message) = 0;
  // Queues output. False and the limits have the meaning of Duplex::Write. Precondition: open.
  virtual bool Write(OutputKind kind, std::string_view bytes) = 0;
  // Queues the Status of the program's end and closes the connection. Precondition: open.
  virtual void End(const std::string& status) = 0;

  // The connection: callers ask for its backlog and close it.
  net::Duplex& duplex() { return *duplex_; }

 protected:
  const std::shared_ptr<net::Duplex> duplex_;
};

// Makes channels over v4.channel.k8s.io or v5.channel.k8s.io.
std::shared_ptr<ProgramChannels> MakeWebSocketChannels(std::shared_ptr<net::Duplex> duplex);

}  // namespace berth::local
