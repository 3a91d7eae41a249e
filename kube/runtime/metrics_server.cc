#include "kube/runtime/metrics_server.h"

#include <string_view>
#include <utility>

#include "base/log/log.h"
#include "base/strings.h"
#include "net/server.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMaxConnections = 64;
constexpr std::size_t kMostScrapeBody = 4096;  // scrapes send none
constexpr char kPath[] = "/metrics";

net::Response Plain(int status, std::string body) {
  net::Response response;
  response.status = status;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

// The pages by path, /metrics among them.
using Pages = std::map<std::string, std::function<net::Response()>, std::less<>>;

Pages PagesOf(const Metrics& metrics,
              const std::map<std::string, std::function<std::string()>>& further) {
  Pages pages;
  pages[kPath] = [&metrics] {
    net::Response response;
    response.headers.Add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body = metrics.Text();
    return response;
  };
  for (const auto& [path, text] : further) {
    pages[path] = [text = text] {
      net::Response response;
      response.headers.Add("Content-Type", "application/json");
      response.body = text();
      return response;
    };
  }
  return pages;
}

net::Response Unauthorized() {
  net::Response response = Plain(401, "Unauthorized\n");
  response.headers.Add("WWW-Authenticate", "Bearer");
  return response;
}

net::Response AnswerTo(const AccessAnswer& access, const std::function<net::Response()>& page) {
  switch (access.outcome) {
    case AccessAnswer::Outcome::kAllowed: return page();
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
            const std::shared_ptr<const Pages>& pages, const AccessGate& gate) {
  const std::string_view target = request.target;
  const auto page = pages->find(target.substr(0, target.find('?')));
  if (page == pages->end()) {
    std::string paths;
    for (const auto& each : *pages) paths += (paths.empty() ? "" : ", ") + each.first;
    return responder->Send(Plain(404, "try " + paths + "\n"));
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return responder->Send(Plain(405, "only GET is allowed here\n"));
  }
  if (gate == nullptr) return responder->Send(page->second());
  std::string token = BearerTokenOf(request);
  if (token.empty()) return responder->Send(Unauthorized());
  gate({.token = std::move(token),
        .verb = request.method == "GET" ? "get" : "head",
        .path = page->first},
       [responder, pages, page](const AccessAnswer& access) {
         responder->Send(AnswerTo(access, page->second));
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
  server.max_body_bytes = kMostScrapeBody;
  const auto pages = std::make_shared<const Pages>(PagesOf(metrics, options.pages));
  return net::HttpServer::Start(
      pool, std::move(server),
      [pages, gate = std::move(gate)](const net::Request& request,
                                      const std::shared_ptr<net::Responder>& responder) {
        Answer(request, responder, pages, gate);
      });
}

}  // namespace berth::kube
