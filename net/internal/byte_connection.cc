#include "net/internal/byte_connection.h"

#include <chrono>
#include <utility>

#include "net/internal/message_writer.h"

namespace berth::net {
namespace {

constexpr auto kPeersTimeToEnd = std::chrono::seconds(2);

class ByteConnection final : public DuplexConnection {
 public:
  explicit ByteConnection(Context context) : DuplexConnection(std::move(context)) {}

  void Read(Duplex::OnMessage on_message) override {
    strand_.Post([self = Self(), on_message = std::move(on_message)]() mutable {
      if (self->is_over_ || self->is_ending_) return on_message(std::nullopt);
      self->on_message_ = std::move(on_message);
      if (self->is_open_) self->PassInput();
    });
  }

  void Accept(const Request& /*request*/, const std::string& protocol,
              const Headers& headers) override {
    is_open_ = true;
    is_writing_ = true;
    if (const auto link = link_.lock()) link->Send(UpgradeHead(protocol, headers));
    if (on_message_ != nullptr) PassInput();
  }

  // Bytes may come unasked: those behind the request. The session then reads no more.
  void OnInput(std::string_view bytes) override {
    if (is_ending_) return WantInput();
    received_.append(bytes);
    if (on_message_ != nullptr) PassInput();
  }

  void OnSent() override {
    is_writing_ = false;
    Sent(std::exchange(sending_bytes_, 0));
    Flush();
  }

 private:
  std::shared_ptr<ByteConnection> Self() {
    return std::static_pointer_cast<ByteConnection>(shared_from_this());
  }
  void WantInput() {
    if (const auto link = link_.lock()) link->WantInput();
  }
  // Precondition: a Read is under way.
  void PassInput() {
    if (received_.empty()) return WantInput();
    std::exchange(on_message_, nullptr)(std::exchange(received_, {}));
  }

  void Flush() override {
    if (!is_open_ || is_writing_ || is_ending_ || is_over_) return;
    Output output = TakeOutput();
    if (output.message) {
      is_writing_ = true;
      sending_bytes_ = output.message->size();
      if (output.message->empty()) return OnSent();
      if (const auto link = link_.lock()) link->Send(*std::move(output.message));
      return;
    }
    if (output.is_closing) EndSoon();
  }

  void EndSoon() {
    is_ending_ = true;
    received_.clear();
    deadline_ = std::make_unique<Deadline>(strand_, [this] { Finish(); });
    deadline_->SetAfter(kPeersTimeToEnd);
    if (const auto on_message = std::exchange(on_message_, nullptr)) on_message(std::nullopt);
    WantInput();
  }

  void OnOver() override {
    is_over_ = true;
    deadline_.reset();
    if (const auto on_message = std::exchange(on_message_, nullptr)) on_message(std::nullopt);
  }

  // The strand uses these.
  std::unique_ptr<Deadline> deadline_;  // set: limits the wait for the peer's end
  Duplex::OnMessage on_message_;
  std::string received_;  // asked for by nobody yet
  std::size_t sending_bytes_ = 0;
  bool is_open_ = false;  // the upgrade is answered
  bool is_writing_ = false;
  bool is_ending_ = false;  // all is sent, and the peer's end is waited for
  bool is_over_ = false;
};

}  // namespace

std::shared_ptr<DuplexConnection> MakeByteConnection(DuplexConnection::Context context) {
  return std::make_shared<ByteConnection>(std::move(context));
}

}  // namespace berth::net
