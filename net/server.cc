#include "net/server.h"

#include <chrono>
#include <utility>

#include "base/assert.h"
#include "net/internal/listener.h"
#include "net/internal/server_core.h"
#include "net/internal/server_session.h"
#include "net/internal/tls.h"
#include "net/io_pool.h"

namespace berth::net {
namespace {

// The interval at which Stop checks whether the pool was stopped.
constexpr auto kStopPoll = std::chrono::milliseconds(50);

class Server final : public HttpServer {
 public:
  Server(std::shared_ptr<ServerCore> core, std::shared_ptr<Listener> listener)
      : core_(std::move(core)), listener_(std::move(listener)) {}
  ~Server() override { Stop(); }

  void Open() {
    Listener::Callbacks callbacks;
    callbacks.tls = [core = core_] {
      const std::lock_guard lock(core->mutex);
      return core->tls;
    };
    callbacks.on_connection = [core = core_](Strand strand, std::unique_ptr<Transport> transport,
                                             std::string peer) {
      const auto session = std::make_shared<ServerSession>(core, std::move(strand),
                                                           std::move(transport), std::move(peer));
      // A session over the limits is dropped; its destructor closes the connection.
      if (core->Add(session)) session->Start();
    };
    callbacks.on_closed = [core = core_] {
      const std::lock_guard lock(core->mutex);
      core->is_listening = false;
      core->changed.notify_all();
    };
    listener_->Open(std::move(callbacks));
  }

  std::uint16_t port() const override { return listener_->port(); }
  std::string address() const override { return listener_->address(); }

  Status ReplaceTls(std::shared_ptr<const TlsIdentity> tls) override {
    if (!core_->options.tls || !tls) {
      return Error{ErrorCode::kInvalid, "a plain server cannot become a TLS one, nor back"};
    }
    const std::lock_guard lock(core_->mutex);
    BERTH_TRY(core_->tls, MakeServerTls(*tls, core_->client_ca_pem));
    core_->identity = std::move(tls);
    return OkStatus();
  }

  Status ReplaceClientCa(std::string client_ca_pem) override {
    if (!core_->options.tls) return Error{ErrorCode::kInvalid, "client certificates need TLS"};
    const std::lock_guard lock(core_->mutex);
    BERTH_TRY(core_->tls, MakeServerTls(*core_->identity, client_ca_pem));
    core_->client_ca_pem = std::move(client_ca_pem);
    for (const auto& session : core_->sessions) session->Abort();
    return OkStatus();
  }

  void Stop() override {
    BERTH_ASSERT(!core_->pool.RunsHere());
    listener_->Close();
    std::unique_lock lock(core_->mutex);
    core_->is_stopping = true;
    for (const auto& session : core_->sessions) session->Abort();
    while (core_->is_listening || !core_->sessions.empty() || !core_->leaving.empty()) {
      // A stopped pool runs no tasks: remaining sessions cannot end.
      if (core_->pool.stopped()) break;
      core_->changed.wait_for(lock, kStopPoll);
    }
    const auto left = std::exchange(core_->sessions, {});
    const auto leaving = std::exchange(core_->leaving, {});
    lock.unlock();
  }

 private:
  const std::shared_ptr<ServerCore> core_;
  const std::shared_ptr<Listener> listener_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(IoPool& pool, ServerOptions options,
                                                      Handler handler) {
  if (!handler) return Error{ErrorCode::kInvalid, "an HTTP server needs a handler"};
  if (!options.tls && !options.client_ca_pem.empty()) {
    return Error{ErrorCode::kInvalid, "client certificates need TLS"};
  }
  std::shared_ptr<TlsContext> tls;
  if (options.tls) {
    BERTH_TRY(tls, MakeServerTls(*options.tls, options.client_ca_pem));
  }
  BERTH_TRY(auto listener, Listener::Bind(pool, options.address, options.port));
  auto core = std::make_shared<ServerCore>(pool, std::move(options), std::move(handler));
  core->tls = std::move(tls);
  auto server = std::make_unique<Server>(std::move(core), std::move(listener));
  server->Open();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace berth::net
