#include "net/internal/web_socket_connection.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "net/internal/asio.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;
using LinkExecutor = asio::strand<asio::io_context::executor_type>;

// The time for the answer to the upgrade, and for the peer's answer to a close.
constexpr auto kWebSocketHandshake = std::chrono::seconds(10);

class Completion {
 public:
  virtual ~Completion() = default;
  virtual void Post(const error_code& error, std::size_t count) = 0;
};

template <typename HandlerType>
class CompletionOf final : public Completion {
 public:
  CompletionOf(HandlerType handler, LinkExecutor executor)
      : handler_(std::move(handler)), executor_(std::move(executor)) {}
  void Post(const error_code& error, std::size_t count) override {
    const auto executor = asio::get_associated_executor(handler_, executor_);
    asio::post(executor, beast::bind_front_handler(std::move(handler_), error, count));
  }

 private:
  HandlerType handler_;
  const LinkExecutor executor_;
};

// The stream of bytes on which Beast works. At most one read and one write are under way.
class LinkStream {
 public:
  using executor_type = LinkExecutor;
  LinkStream(LinkExecutor executor, std::weak_ptr<DuplexLink> link)
      : executor_(std::move(executor)), link_(std::move(link)) {}

  executor_type get_executor() const { return executor_; }

  template <typename Buffers, typename HandlerType>
  BOOST_ASIO_INITFN_RESULT_TYPE(HandlerType, void(error_code, std::size_t))
  async_read_some(const Buffers& buffers, HandlerType&& handler) {
    return asio::async_initiate<HandlerType, void(error_code, std::size_t)>(
        [this](auto&& done, const Buffers& to) {
          reading_ = Wrap(std::forward<decltype(done)>(done));
          room_ = asio::mutable_buffer();
          for (auto at = asio::buffer_sequence_begin(to); at != asio::buffer_sequence_end(to);
               ++at) {
            room_ = *at;
            if (room_.size() > 0) break;
          }
          Deliver();
        },
        handler, buffers);
  }

  template <typename Buffers, typename HandlerType>
  BOOST_ASIO_INITFN_RESULT_TYPE(HandlerType, void(error_code, std::size_t))
  async_write_some(const Buffers& buffers, HandlerType&& handler) {
    return asio::async_initiate<HandlerType, void(error_code, std::size_t)>(
        [this](auto&& done, const Buffers& from) {
          writing_ = Wrap(std::forward<decltype(done)>(done));
          std::string bytes = beast::buffers_to_string(from);
          sending_bytes_ = bytes.size();
          const auto link = link_.lock();
          if (link == nullptr || is_over_) return Abort();
          if (bytes.empty()) return OnSent();
          link->Send(std::move(bytes));
        },
        handler, buffers);
  }

  void OnInput(std::string_view bytes) {
    received_.append(bytes);
    if (reading_ != nullptr) Deliver();
  }
  void OnSent() {
    if (const auto done = std::exchange(writing_, nullptr)) done->Post({}, sending_bytes_);
  }
  void Abort() {
    is_over_ = true;
    const error_code aborted = asio::error::operation_aborted;
    if (const auto done = std::exchange(reading_, nullptr)) done->Post(aborted, 0);
    if (const auto done = std::exchange(writing_, nullptr)) done->Post(aborted, 0);
  }

 private:
  template <typename HandlerType>
  std::unique_ptr<Completion> Wrap(HandlerType&& handler) {
    return std::make_unique<CompletionOf<std::decay_t<HandlerType>>>(
        std::forward<HandlerType>(handler), executor_);
  }

  void Deliver() {
    const auto link = link_.lock();
    if (link == nullptr || is_over_) return Abort();
    if (room_.size() == 0) return std::exchange(reading_, nullptr)->Post({}, 0);
    if (received_.empty()) return link->WantInput();
    const std::size_t count = std::min(received_.size(), room_.size());
    std::memcpy(room_.data(), received_.data(), count);
    received_.erase(0, count);
    std::exchange(reading_, nullptr)->Post({}, count);
  }

  const LinkExecutor executor_;
  const std::weak_ptr<DuplexLink> link_;
  std::string received_;
  asio::mutable_buffer room_;
  std::unique_ptr<Completion> reading_;
  std::unique_ptr<Completion> writing_;
  std::size_t sending_bytes_ = 0;
  bool is_over_ = false;
};

// Beast's customisation points: the session ends the connection.
template <typename HandlerType>
void async_teardown(beast::role_type, LinkStream& stream, HandlerType&& handler) {
  asio::post(stream.get_executor(),
             beast::bind_front_handler(std::forward<HandlerType>(handler), error_code()));
}
void beast_close_socket(LinkStream& stream) { stream.Abort(); }

class BeastConnection final : public DuplexConnection {
 public:
  explicit BeastConnection(Context context)
      : DuplexConnection(context), stream_(LinkStream(strand_.impl().executor, link_)) {
    websocket::stream_base::timeout timeout{};
    timeout.handshake_timeout = kWebSocketHandshake;
    timeout.idle_timeout = websocket::stream_base::none();
    timeout.keep_alive_pings = false;
    stream_.set_option(timeout);
    stream_.read_message_max(context.max_message_bytes);
    stream_.auto_fragment(false);
    stream_.binary(true);
  }

  void Read(Duplex::OnMessage on_message) override;
  void Accept(const Request& request, const std::string& protocol, const Headers& headers) override;
  void OnInput(std::string_view bytes) override { stream_.next_layer().OnInput(bytes); }
  void OnSent() override { stream_.next_layer().OnSent(); }

 private:
  std::shared_ptr<BeastConnection> Self() {
    return std::static_pointer_cast<BeastConnection>(shared_from_this());
  }
  void ReadNext();
  void EndRead(std::optional<std::string> message);
  void Flush() override;
  void OnOver() override;

  // The strand uses these.
  websocket::stream<LinkStream, false> stream_;
  beast::flat_buffer input_;
  Duplex::OnMessage on_message_;
  std::string sending_;
  bool is_open_ = false;     // the upgrade is answered
  bool is_writing_ = false;  // a message or the close
  bool is_over_ = false;
};

void BeastConnection::Accept(const Request& request, const std::string& protocol,
                             const Headers& headers) {
  http::request<http::empty_body> upgrade;
  upgrade.method(http::verb::get);
  upgrade.target(request.target);
  upgrade.version(11);
  for (const Header& header : request.headers) upgrade.insert(header.name, header.value);
  stream_.set_option(websocket::stream_base::decorator([&](websocket::response_type& answer) {
    if (!protocol.empty()) answer.set(http::field::sec_websocket_protocol, protocol);
    for (const Header& header : headers) answer.insert(header.name, header.value);
  }));
  stream_.async_accept(upgrade, [self = Self()](const error_code& error) {
    if (self->is_over_) return;
    if (error) return self->Finish();
    self->is_open_ = true;
    if (self->on_message_ != nullptr) self->ReadNext();
    self->Flush();
  });
  // Beast has called the decorator, which refers to arguments.
  stream_.set_option(websocket::stream_base::decorator([](websocket::response_type&) {}));
}

void BeastConnection::Read(Duplex::OnMessage on_message) {
  strand_.Post([self = Self(), on_message = std::move(on_message)]() mutable {
    if (self->is_over_) return on_message(std::nullopt);
    self->on_message_ = std::move(on_message);
    if (self->is_open_) self->ReadNext();
  });
}

void BeastConnection::ReadNext() {
  stream_.async_read(input_, [self = Self()](const error_code& error, std::size_t) {
    if (self->is_over_) return;
    if (!error) {
      std::string message = beast::buffers_to_string(self->input_.data());
      self->input_.clear();
      return self->EndRead(std::move(message));
    }
    self->is_over_ = true;
    self->EndRead(std::nullopt);
    self->Finish();
  });
}

void BeastConnection::EndRead(std::optional<std::string> message) {
  if (const auto on_message = std::exchange(on_message_, nullptr)) on_message(std::move(message));
}

void BeastConnection::Flush() {
  if (!is_open_ || is_writing_ || is_over_) return;
  Output output = TakeOutput();
  if (output.message) {
    is_writing_ = true;
    sending_ = *std::move(output.message);
    stream_.async_write(asio::buffer(sending_),
                        [self = Self()](const error_code& error, std::size_t) {
                          self->is_writing_ = false;
                          self->Sent(self->sending_.size());
                          if (error) return self->Finish();
                          self->Flush();
                        });
    return;
  }
  if (!output.is_closing) return;
  is_writing_ = true;
  stream_.async_close(websocket::close_code::normal,
                      [self = Self()](const error_code&) { self->Finish(); });
}

void BeastConnection::OnOver() {
  is_over_ = true;
  stream_.next_layer().Abort();
  EndRead(std::nullopt);
}

}  // namespace

std::shared_ptr<DuplexConnection> MakeWebSocketConnection(DuplexConnection::Context context) {
  return std::make_shared<BeastConnection>(std::move(context));
}

}  // namespace berth::net
