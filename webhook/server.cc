#include "webhook/server.h"

#include <utility>

namespace berth::webhook {
namespace {

constexpr std::size_t kMaxBodyBytes = 8 * 1024 * 1024;

}  // namespace

Result<std::unique_ptr<net::HttpServer>> StartWebhookServer(net::IoPool& pool,
                                                            WebhookServerOptions options,
                                                            JobReviews jobs) {
  net::ServerOptions server;
  server.address = std::move(options.address);
  server.port = options.port;
  server.tls = std::move(options.tls);
  server.max_body_bytes = kMaxBodyBytes;
  return net::HttpServer::Start(
      pool, std::move(server),
      [jobs = std::move(jobs), gates = options.gates](
          const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
        responder->Send(AnswerWebhook(request, jobs, gates));
      });
}

}  // namespace berth::webhook
