#include "kube/runtime/health_server.h"

#include <string_view>
#include <utility>

#include "net/server.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMostProbeBody = 4096;  // probes send none

net::Response Text(int status, std::string body) {
  net::Response response;
  response.status = status;
  response.headers.Add("Content-Type", "text/plain");
  response.body = std::move(body);
  return response;
}

struct Paths {
  std::string liveness;
  std::string readiness;
};

net::Response Answer(const net::Request& request, const Paths& paths,
                     const std::function<std::string()>& ready) {
  const std::string_view path =
      std::string_view(request.target).substr(0, request.target.find('?'));
  if (request.method != "GET" && request.method != "HEAD") {
    return Text(405, "only GET is allowed here\n");
  }
  if (path == paths.liveness) return Text(200, "ok\n");
  if (path == paths.readiness) {
    const std::string missing = ready();
    return missing.empty() ? Text(200, "ok\n") : Text(503, missing + "\n");
  }
  return Text(404, "try " + paths.liveness + " or " + paths.readiness + "\n");
}

}  // namespace

Result<std::unique_ptr<net::HttpServer>> StartHealthServer(net::IoPool& pool,
                                                           const HealthServerOptions& options,
                                                           std::function<std::string()> ready) {
  net::ServerOptions server_options;
  server_options.address = options.address;
  server_options.port = options.port;
  server_options.max_connections = 64;
  server_options.max_body_bytes = kMostProbeBody;
  return net::HttpServer::Start(
      pool, server_options,
      [ready = std::move(ready), paths = Paths{"/" + options.liveness, "/" + options.readiness}](
          const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
        responder->Send(Answer(request, paths, ready));
      });
}

}  // namespace berth::kube
