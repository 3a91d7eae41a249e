#include "net/internal/web_socket_connection.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
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

// Of the answer to the upgrade, and of the peer's answer to a close.
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
  LinkStream(LinkExecutor executor, std::weak_ptr<WebSocketLink> link)
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
  const std::weak_ptr<WebSocketLink> link_;
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

class BeastConnection final : public WebSocketConnection {
 public:
  explicit BeastConnection(Context context)
      : link_(std::move(context.link)),
        strand_(std::move(context.strand)),
        limits_(std::move(context.limits)),
        stream_(LinkStream(strand_.impl().executor, link_)) {
    websocket::stream_base::timeout timeout{};
    timeout.handshake_timeout = kWebSocketHandshake;
    timeout.idle_timeout = websocket::stream_base::none();
    timeout.keep_alive_pings = false;
    stream_.set_option(timeout);
    stream_.read_message_max(context.max_message_bytes);
    stream_.auto_fragment(false);
    stream_.binary(true);
  }
  ~BeastConnection() override { *limits_.total -= waiting_bytes_; }

  void Read(WebSocket::OnMessage on_message) override;
  bool Write(std::string message) override;
  std::size_t Backlog() const override {
    const std::lock_guard lock(mutex_);
    return waiting_bytes_;
  }
  void WhenBelow(std::size_t bytes, std::function<void()> below) override;
  void Close() override;
  void OnGone(std::function<void()> gone) override;

  void Accept(const Request& request, const std::string& protocol, const Headers& headers) override;
  void OnInput(std::string_view bytes) override { stream_.next_layer().OnInput(bytes); }
  void OnSent() override { stream_.next_layer().OnSent(); }
  void MarkGone() override;

 private:
  std::shared_ptr<BeastConnection> Self() {
    return std::static_pointer_cast<BeastConnection>(shared_from_this());
  }
  void Finish() {
    if (const auto link = link_.lock()) link->FinishWebSocket();
  }
  void ReadNext();
  void EndRead(std::optional<std::string> message);
  void PostFlush();  // precondition: the lock is held
  void Flush();
  void Sent(std::size_t bytes);

  const std::weak_ptr<WebSocketLink> link_;
  const Strand strand_;
  const ServerStream::Limits limits_;

  // On the strand.
  websocket::stream<LinkStream, false> stream_;
  beast::flat_buffer input_;
  WebSocket::OnMessage on_message_;
  std::string sending_;
  bool is_open_ = false;     // the upgrade is answered
  bool is_writing_ = false;  // a message or the close
  bool is_over_ = false;

  mutable std::mutex mutex_;  // guards the members below; never held during a callback
  std::deque<std::string> queue_;
  std::size_t waiting_bytes_ = 0;
  bool is_flush_posted_ = false;
  bool is_closing_ = false;
  bool is_gone_ = false;
  std::function<void()> on_gone_;
  std::size_t below_ = 0;
  std::function<void()> on_below_;
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

void BeastConnection::Read(WebSocket::OnMessage on_message) {
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

bool BeastConnection::Write(std::string message) {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return false;
  const bool too_much_in_all = waiting_bytes_ > 0 && *limits_.total > limits_.max_total_bytes;
  if (waiting_bytes_ > limits_.max_backlog_bytes || too_much_in_all) {
    is_closing_ = true;
    strand_.Post([self = Self()] { self->Finish(); });
    return false;
  }
  waiting_bytes_ += message.size();
  *limits_.total += message.size();
  queue_.push_back(std::move(message));
  PostFlush();
  return true;
}

void BeastConnection::WhenBelow(std::size_t bytes, std::function<void()> below) {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return;
  if (waiting_bytes_ <= bytes) {
    on_below_ = nullptr;
    strand_.Post(std::move(below));
    return;
  }
  below_ = bytes;
  on_below_.swap(below);  // the caller destroys the replaced one
}

void BeastConnection::Close() {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return;
  is_closing_ = true;
  PostFlush();
}

void BeastConnection::OnGone(std::function<void()> gone) {
  const std::lock_guard lock(mutex_);
  if (is_gone_) {
    strand_.Post(std::move(gone));
  } else {
    on_gone_ = std::move(gone);
  }
}

void BeastConnection::PostFlush() {
  if (std::exchange(is_flush_posted_, true)) return;
  strand_.Post([self = Self()] { self->Flush(); });
}

void BeastConnection::Flush() {
  if (!is_open_ || is_writing_ || is_over_) return;
  {
    const std::lock_guard lock(mutex_);
    is_flush_posted_ = false;
    if (queue_.empty() && !is_closing_) return;
    is_writing_ = true;
    if (!queue_.empty()) {
      sending_ = std::move(queue_.front());
      queue_.pop_front();
      stream_.async_write(asio::buffer(sending_),
                          [self = Self()](const error_code& error, std::size_t) {
                            self->is_writing_ = false;
                            self->Sent(self->sending_.size());
                            if (error) return self->Finish();
                            self->Flush();
                          });
      return;
    }
  }
  stream_.async_close(websocket::close_code::normal,
                      [self = Self()](const error_code&) { self->Finish(); });
}

void BeastConnection::Sent(std::size_t bytes) {
  std::function<void()> below;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t sent = std::min(bytes, waiting_bytes_);
    waiting_bytes_ -= sent;
    *limits_.total -= sent;
    if (waiting_bytes_ <= below_) below = std::exchange(on_below_, nullptr);
  }
  if (below) below();
}

void BeastConnection::MarkGone() {
  is_over_ = true;
  stream_.next_layer().Abort();
  EndRead(std::nullopt);
  std::function<void()> gone;
  std::function<void()> below;  // destroyed outside the lock: it may hold the last reference
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
    *limits_.total -= waiting_bytes_;
    waiting_bytes_ = 0;
    queue_.clear();
    below = std::exchange(on_below_, nullptr);
    gone = std::exchange(on_gone_, nullptr);
  }
  if (gone) gone();
}

class WebSocketHandle final : public WebSocket {
 public:
  explicit WebSocketHandle(std::shared_ptr<WebSocketConnection> connection)
      : connection_(std::move(connection)) {}
  ~WebSocketHandle() override { connection_->Close(); }
  void Read(OnMessage on_message) override { connection_->Read(std::move(on_message)); }
  bool Write(std::string message) override { return connection_->Write(std::move(message)); }
  std::size_t Backlog() const override { return connection_->Backlog(); }
  void WhenBelow(std::size_t bytes, std::function<void()> below) override {
    connection_->WhenBelow(bytes, std::move(below));
  }
  void Close() override { connection_->Close(); }
  void OnGone(std::function<void()> gone) override { connection_->OnGone(std::move(gone)); }

 private:
  const std::shared_ptr<WebSocketConnection> connection_;
};

}  // namespace

std::shared_ptr<WebSocketConnection> WebSocketConnection::Make(Context context) {
  return std::make_shared<BeastConnection>(std::move(context));
}

std::unique_ptr<WebSocket> WebSocketConnection::MakeHandle() {
  return std::make_unique<WebSocketHandle>(shared_from_this());
}

}  // namespace berth::net
