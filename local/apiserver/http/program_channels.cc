#include "local/apiserver/http/program_channels.h"

namespace berth::local {
namespace {

class WebSocketChannels final : public ProgramChannels,
                                public std::enable_shared_from_this<WebSocketChannels> {
 public:
  using ProgramChannels::ProgramChannels;

  void WhenOpen(std::function<void()> open) override {
    // The empty message tells the client that the session is there, as kube-apiserver does.
    duplex_->Write(MakeChannelMessage(Channel::kOutput, ""));
    open();
  }

  void Read(OnMessage on_message) override {
    duplex_->Read([self = shared_from_this(), on_message = std::move(on_message)](
                      const std::optional<std::string>& message) mutable {
      if (!message) return on_message(std::nullopt);
      auto parsed = Parse(*message);
      if (!parsed) return self->Read(std::move(on_message));
      on_message(std::move(*parsed));
    });
  }

  bool Write(OutputKind kind, std::string_view bytes) override {
    const bool is_error = kind == OutputKind::kError;
    return duplex_->Write(
        MakeChannelMessage(is_error ? Channel::kErrorOutput : Channel::kOutput, bytes));
  }

  void End(const std::string& status) override {
    duplex_->Write(MakeChannelMessage(Channel::kStatus, status));
    duplex_->Close();
  }

 private:
  // nullopt: a message without effect.
  static std::optional<Message> Parse(std::string_view message) {
    const auto parsed = ParseChannelMessage(message);
    if (!parsed) return std::nullopt;
    if (parsed->channel != Channel::kClose) {
      return Message{parsed->channel, std::string(parsed->bytes), false};
    }
    if (parsed->bytes != std::string_view("\0", 1)) return std::nullopt;  // not of kInput
    return Message{Channel::kInput, "", true};
  }
};

}  // namespace

std::shared_ptr<ProgramChannels> MakeWebSocketChannels(std::shared_ptr<net::Duplex> duplex) {
  return std::make_shared<WebSocketChannels>(std::move(duplex));
}

}  // namespace berth::local
