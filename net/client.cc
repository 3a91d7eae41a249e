#include "net/client.h"

#include <future>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "net/internal/client_pool.h"
#include "net/internal/tls.h"
#include "net/internal/url.h"

namespace berth::net {
namespace {

// The time SendAndWait waits beyond the request's timeout: the callback comes within the timeout,
// unless the pool has been stopped.
constexpr auto kGrace = std::chrono::seconds(5);

class Handle final : public StreamHandle {
 public:
  explicit Handle(std::shared_ptr<StreamCall> call) : call_(std::move(call)) {}
  ~Handle() override { call_->Cancel(); }
  void Cancel() override { call_->Cancel(); }

 private:
  const std::shared_ptr<StreamCall> call_;
};

class Client final : public HttpClient {
 public:
  explicit Client(std::shared_ptr<ClientPool> pool) : pool_(std::move(pool)) {}
  ~Client() override { pool_->Shutdown(); }

  void Send(Request request, Duration timeout,
            std::function<void(Result<Response>)> done) override {
    pool_->Send(std::move(request), timeout, std::move(done));
  }

  std::unique_ptr<StreamHandle> Open(Request request, Duration silence,
                                     StreamCallbacks callbacks) override {
    return std::make_unique<Handle>(pool_->Open(std::move(request), silence, std::move(callbacks)));
  }

 private:
  const std::shared_ptr<ClientPool> pool_;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::Create(IoPool& pool, ClientOptions options) {
  BERTH_TRY(BaseUrl url, ParseBaseUrl(options.base_url));
  if (options.max_connections == 0) {
    return Error{ErrorCode::kInvalid, "max_connections must be at least 1"};
  }
  std::shared_ptr<TlsContext> tls;
  if (url.is_tls) {
    BERTH_TRY(tls, MakeClientTls(options.ca_pem, options.certificate.get(),
                                 options.takes_any_certificate ? ServerCheck::kNone
                                                               : ServerCheck::kCertificate));
  }
  std::optional<ProxyTarget> proxy;
  if (!options.proxy_url.empty()) {
    BERTH_TRY(ProxyUrl parsed, ParseProxyUrl(options.proxy_url));
    proxy = ProxyTarget{std::move(parsed.url.host), parsed.url.port, {}};
    if (!parsed.user_info.empty()) {
      proxy->authorization = "Basic " + Base64Encode(parsed.user_info);
    }
  }
  auto connections = std::make_shared<ClientPool>(pool, std::move(options), std::move(url),
                                                  std::move(tls), std::move(proxy));
  return std::unique_ptr<HttpClient>(std::make_unique<Client>(std::move(connections)));
}

Result<Response> HttpClient::SendAndWait(Request request, Duration timeout) {
  // Shared: the callback may come after the wait has ended.
  auto promise = std::make_shared<std::promise<Result<Response>>>();
  auto future = promise->get_future();
  Send(std::move(request), timeout,
       [promise](Result<Response> result) { promise->set_value(std::move(result)); });
  if (future.wait_for(timeout + kGrace) != std::future_status::ready) {
    return Error{ErrorCode::kDeadlineExceeded, "no answer: the I/O threads have stopped"};
  }
  return future.get();
}

}  // namespace berth::net
