#include "kube/runtime/metrics_server.h"

#include <string_view>
#include <utility>

#include "base/log/log.h"
#include "base/strings.h"
#include "net/server.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMaxConnections = 64;
constexpr std::string_view kPath = "/metrics";

net::Response Plain(int status, std::string body) {
  net::Response response;
  response.status = status;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

net::Response Shown(const Metrics& metrics) {
  net::Response response;
  response.headers.Add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = metrics.Text();
  return response;
}

net::Response Unauthorized() {
  net::Response response = Plain(401, "Unauthorized\n");
  response.headers.Add("WWW-Authenticate", "Bearer");
  return response;
}

net::Response AnswerTo(const AccessAnswer& access, const Metrics& metrics) {
  switch (access.outcome) {
    case AccessAnswer::Outcome::kAllowed: return Shown(metrics);
    case AccessAnswer::Outcome::kNoUser: return Unauthorized();
    case AccessAnswer::Outcome::kDenied:
      return Plain(403, "Authorization denied for user " + access.user + "\n");
    case AccessAnswer::Outcome::kOverloaded:
      return Plain(503, "too many reviews of tokens are under way\n");
    case AccessAnswer::Outcome::kFailed: break;
  }
  LogWarning("a request for metrics could not be reviewed", {{"error", access.error}});
  return Plain(500, access.user.empty() ? "Authentication failed\n"
                                        : "Authorization for user " + access.user + " failed\n");
}

void Answer(const net::Request& request, const std::shared_ptr<net::Responder>& responder,
            const Metrics& metrics, const AccessGate& gate) {
  const std::string_view target = request.target;
  if (target.substr(0, target.find('?')) != kPath) {
    return responder->Send(Plain(404, "try /metrics\n"));
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return responder->Send(Plain(405, "only GET is allowed here\n"));
  }
  if (gate == nullptr) return responder->Send(Shown(metrics));
  std::string token = BearerTokenOf(request);
  if (token.empty()) return responder->Send(Unauthorized());
  gate({.token = std::move(token),
        .verb = request.method == "GET" ? "get" : "head",
        .path = std::string(kPath)},
       [responder, &metrics](const AccessAnswer& access) {
         responder->Send(AnswerTo(access, metrics));
       });
}

}  // namespace

std::string BearerTokenOf(const net::Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view header = TrimSpace(request.headers.Find("Authorization"));
  if (header.size() <= kScheme.size() ||
      !EqualsIgnoreCase(header.substr(0, kScheme.size()), kScheme)) {
    return {};
  }
  return std::string(TrimSpace(header.substr(kScheme.size())));
}

Result<std::unique_ptr<net::HttpServer>> StartMetricsServer(net::IoPool& pool,
                                                            MetricsServerOptions options,
                                                            const Metrics& metrics,
                                                            AccessGate gate) {
  net::ServerOptions server;
  server.address = std::move(options.address);
  server.port = options.port;
  server.tls = std::move(options.tls);
  server.max_connections = kMaxConnections;
  return net::HttpServer::Start(
      pool, std::move(server),
      [&metrics, gate = std::move(gate)](const net::Request& request,
                                         const std::shared_ptr<net::Responder>& responder) {
        Answer(request, responder, metrics, gate);
      });
}

}  // namespace berth::kube
