#include "local/cluster/probes/net_probe_caller.h"

#include <fmt/format.h>

#include "net/client.h"
#include "net/tcp_connect.h"

namespace berth::local::cluster {
namespace {

constexpr std::size_t kMostProbeBody = std::size_t{64} * 1024;
constexpr int kFirstFailure = 400;
constexpr int kFirstSuccess = 200;

ProbeAnswer Judge(const Result<net::Response>& response) {
  if (!response) return {false, response.error().message};
  const bool good = response->status >= kFirstSuccess && response->status < kFirstFailure;
  if (good) return {true, ""};
  return {false, fmt::format("HTTP probe failed with statuscode: {}", response->status)};
}

}  // namespace

NetProbeCaller::~NetProbeCaller() {
  if (pool_ != nullptr) pool_->Stop();
}

void NetProbeCaller::Call(const ProbeTarget& target, Duration timeout,
                          std::function<void(ProbeAnswer)> done) {
  if (pool_ == nullptr) pool_ = std::make_unique<net::IoPool>(1);
  if (target.port == 0) return done({false, "the container has no port of that name"});
  if (target.how == ProbeTarget::How::kTcp) {
    net::TryConnect(
        *pool_, target.host, target.port, timeout,
        [done = std::move(done)](const Status& connected) {
          done(connected ? ProbeAnswer{true, ""} : ProbeAnswer{false, connected.error().message});
        });
    return;
  }
  net::ClientOptions options;
  options.base_url = fmt::format("http://{}:{}", target.host, target.port);
  options.user_agent = "kube-probe/1.36";
  options.max_connections = 1;
  options.max_body_bytes = kMostProbeBody;
  auto made = net::HttpClient::Create(*pool_, std::move(options));
  if (!made) return done({false, made.error().message});
  net::Request request;
  request.method = "GET";
  request.target = target.path;
  request.headers.Set("Accept", "*/*");
  request.headers.Set("Connection", "close");
  for (const auto& [name, value] : target.headers) request.headers.Set(name, value);
  const std::shared_ptr<net::HttpClient> client = *std::move(made);
  client->Send(std::move(request), timeout,
               [client, done = std::move(done)](const Result<net::Response>& response) {
                 done(Judge(response));
               });
}

}  // namespace berth::local::cluster
