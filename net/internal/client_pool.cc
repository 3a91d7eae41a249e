#include "net/internal/client_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "net/internal/message_writer.h"
#include "net/io_pool.h"

namespace berth::net {
namespace {

// Below the idle time after which servers usually close.
constexpr auto kMaxIdle = std::chrono::seconds(60);
constexpr auto kShutdownPoll = std::chrono::milliseconds(50);
constexpr std::size_t kMaxNameBytes = 300;
constexpr std::string_view kClosing = "the client has been closed";

bool IsReadOnly(std::string_view method) { return method == "GET" || method == "HEAD"; }

}  // namespace

PooledCall::PooledCall(std::shared_ptr<ClientPool> pool, Start start)
    : pool_(std::move(pool)),
      start_(std::move(start)),
      deadline_(pool_->strand(), [this] { OnDeadline(); }) {}

void PooledCall::OnHead(int status, Headers headers) {
  response_.status = status;
  response_.headers = std::move(headers);
}

void PooledCall::OnEnd(const ExchangeEnd& end) {
  const auto self = shared_from_this();
  pool_->GiveBack(std::exchange(connection_, nullptr), end);
  if (!end.error) {
    pool_->Complete(self, std::move(response_));
    return;
  }
  if (is_connection_reused_ && !end.has_answer_begun && start_.may_replay && !was_replayed_) {
    was_replayed_ = true;
    pool_->RunFresh(self);
    return;
  }
  Fail(end.error->code, end.error->message, end.was_sent);
}

void PooledCall::OnDeadline() {
  const auto self = shared_from_this();
  const std::string stage(connection_ ? connection_->stage() : "waiting for a connection");
  const bool was_sent = connection_ && connection_->was_sent();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(start_.timeout).count();
  pool_->Drop(self);
  Fail(ErrorCode::kDeadlineExceeded,
       "no answer within " + std::to_string(milliseconds) + " ms (" + stage + ")", was_sent);
}

void PooledCall::Fail(ErrorCode code, const std::string& reason, bool was_sent) {
  std::string message = start_.name + ": " + reason;
  if (was_sent && !start_.may_replay && code != ErrorCode::kInvalid) {
    message += "; the request may have taken effect";
  }
  pool_->Complete(shared_from_this(), Error{code, std::move(message)});
}

ClientPool::ClientPool(IoPool& io_pool, ClientOptions options, BaseUrl url,
                       std::shared_ptr<TlsContext> tls, std::optional<ProxyTarget> proxy)
    : io_pool_(io_pool),
      options_(std::move(options)),
      url_(std::move(url)),
      tls_(std::move(tls)),
      proxy_(std::move(proxy)),
      strand_(io_pool),
      sweep_(strand_, [this] { SweepIdle(); }) {}

ConnectTarget ClientPool::target() const {
  return {url_.host, url_.port, tls_,
          options_.server_name.empty() ? url_.host : options_.server_name, proxy_};
}

Result<std::shared_ptr<const WireRequest>> ClientPool::ToWire(Request request,
                                                              std::uint64_t max_body) const {
  if (!IsToken(request.method) || !IsPlainTarget(request.target)) {
    return Error{ErrorCode::kInvalid,
                 "the method must be a word and the target begin with '/' and be percent-encoded"};
  }
  auto wire = std::make_shared<WireRequest>();
  wire->head = RequestHead(request, url_.path_prefix + request.target,
                           {url_.host_header(), options_.user_agent, options_.bearer_token});
  if (request.method == "HEAD") wire->answer_body = ResponseParser::BodyKind::kNone;
  wire->limits = {options_.max_header_bytes, max_body};
  // A small body is sent in one piece with its head.
  if (request.body.size() <= kJoinBytes) {
    wire->head += request.body;
  } else {
    wire->body = std::move(request.body);
  }
  return std::shared_ptr<const WireRequest>(std::move(wire));
}

void ClientPool::Send(Request request, Duration timeout,
                      std::function<void(Result<Response>)> done) {
  const SteadyInstant now = std::chrono::steady_clock::now();
  const SteadyInstant deadline =
      now + std::clamp<Duration>(timeout, Duration::zero(), std::chrono::hours(24 * 365));
  PooledCall::Start start;
  start.name = request.method + " " + url_.origin() +
               std::string(TruncateUtf8(url_.path_prefix + request.target, kMaxNameBytes));
  start.may_replay = IsReadOnly(request.method);
  start.timeout = timeout;
  auto wire = ToWire(std::move(request), options_.max_body_bytes);
  if (!wire) {
    strand_.Post(
        [done = std::move(done), error = Annotate(wire.error(), start.name)] { done(error); });
    return;
  }
  start.request = *std::move(wire);
  start.done = std::move(done);
  auto call = std::make_shared<PooledCall>(shared_from_this(), std::move(start));
  strand_.Post([self = shared_from_this(), call = std::move(call), deadline] {
    self->Begin(call, deadline);
  });
}

void ClientPool::Begin(const std::shared_ptr<PooledCall>& call, SteadyInstant deadline) {
  live_.insert(call);
  if (is_closing_) {
    call->Fail(ErrorCode::kUnavailable, std::string(kClosing), false);
    return;
  }
  call->deadline_.Set(deadline);
  // New calls queue behind waiting ones.
  if (waiting_.empty() && RunOnIdle(call)) return;
  if (waiting_.empty() && open_count_ < options_.max_connections) {
    RunFresh(call);
    return;
  }
  if (waiting_.size() >= options_.max_waiting) {
    call->Fail(ErrorCode::kUnavailable,
               std::to_string(waiting_.size()) + " requests wait for a connection already", false);
    return;
  }
  waiting_.push_back(call);
}

bool ClientPool::RunOnIdle(const std::shared_ptr<PooledCall>& call) {
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back().connection);
    idle_.pop_back();
    if (!connection->IsQuiet()) {
      connection->Abort();
      --open_count_;
      continue;
    }
    call->is_connection_reused_ = true;
    call->connection_ = std::move(connection);
    call->connection_->Run(call->start_.request, call);
    return true;
  }
  return false;
}

void ClientPool::RunFresh(const std::shared_ptr<PooledCall>& call) {
  if (is_closing_) {
    call->Fail(ErrorCode::kUnavailable, std::string(kClosing), false);
    return;
  }
  ++open_count_;
  call->is_connection_reused_ = false;
  call->response_ = {};
  call->connection_ = std::make_shared<ClientConnection>(strand_, target());
  call->connection_->Run(call->start_.request, call);
}

void ClientPool::GiveBack(std::shared_ptr<ClientConnection> connection, const ExchangeEnd& end) {
  if (!end.is_reusable || is_closing_) {
    connection->Abort();
    --open_count_;
    return;
  }
  const SteadyInstant now = std::chrono::steady_clock::now();
  if (idle_.empty()) sweep_.Set(now + kMaxIdle);
  idle_.push_back({std::move(connection), now});
}

void ClientPool::Drop(const std::shared_ptr<PooledCall>& call) {
  if (const auto connection = std::exchange(call->connection_, nullptr)) {
    connection->Abort();
    --open_count_;
  } else {
    std::erase(waiting_, call);
  }
}

void ClientPool::Complete(const std::shared_ptr<PooledCall>& call, Result<Response> result) {
  if (live_.erase(call) == 0) return;
  call->deadline_.Clear();
  const auto done = std::exchange(call->start_.done, nullptr);
  done(std::move(result));
  ServeWaiting();
}

void ClientPool::ServeWaiting() {
  while (!waiting_.empty()) {
    const auto call = waiting_.front();
    if (idle_.empty() && open_count_ >= options_.max_connections) return;
    waiting_.pop_front();
    if (!RunOnIdle(call)) RunFresh(call);
  }
}

void ClientPool::SweepIdle() {
  const SteadyInstant now = std::chrono::steady_clock::now();
  while (!idle_.empty() && now - idle_.front().since >= kMaxIdle) {
    idle_.front().connection->Abort();
    idle_.erase(idle_.begin());
    --open_count_;
  }
  if (!idle_.empty()) sweep_.Set(idle_.front().since + kMaxIdle);
}

std::shared_ptr<StreamCall> ClientPool::Open(Request request, Duration silence,
                                             StreamCallbacks callbacks) {
  std::string name = request.method + " " + url_.origin() +
                     std::string(TruncateUtf8(url_.path_prefix + request.target, kMaxNameBytes));
  auto stream = std::make_shared<StreamCall>(shared_from_this(), std::move(name), silence,
                                             std::move(callbacks));
  bool is_closed = false;
  {
    const std::lock_guard lock(mutex_);
    is_closed = is_closed_;
    streams_[stream.get()] = stream;
  }
  if (is_closed) {
    stream->Start(Error{ErrorCode::kUnavailable, std::string(kClosing)});
  } else {
    stream->Start(ToWire(std::move(request), std::numeric_limits<std::uint64_t>::max()));
  }
  return stream;
}

void ClientPool::RemoveStream(StreamCall* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
  changed_.notify_all();
}

void ClientPool::CloseOnStrand() {
  is_closing_ = true;
  waiting_.clear();
  const auto calls = live_;
  for (const auto& call : calls) {
    const bool was_sent = call->connection_ && call->connection_->was_sent();
    Drop(call);
    call->Fail(ErrorCode::kUnavailable, std::string(kClosing), was_sent);
  }
  for (const Idle& idle : idle_) idle.connection->Abort();
  idle_.clear();
  sweep_.Clear();
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

void ClientPool::Shutdown() {
  strand_.Post([self = shared_from_this()] { self->CloseOnStrand(); });
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<StreamCall>> streams;
  for (const auto& [key, weak] : streams_) {
    if (auto stream = weak.lock()) streams.push_back(std::move(stream));
  }
  for (const auto& stream : streams) stream->Stop(std::string(kClosing));
  if (io_pool_.RunsHere()) return;
  // A stopped pool runs no callbacks.
  while ((!is_closed_ || !streams_.empty()) && !io_pool_.stopped()) {
    changed_.wait_for(lock, kShutdownPoll);
  }
}

}  // namespace berth::net
