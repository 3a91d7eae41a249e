#include "webhook/webhook_server.h"

#include <atomic>
#include <utility>

#include "base/executor.h"
#include "net/io_pool.h"

namespace berth::webhook {
namespace {

constexpr std::size_t kMaxBodyBytes = 8 * 1024 * 1024;
constexpr std::size_t kLargeBodyBytes = 256 * 1024;
constexpr int kMostLargeWaiting = 16;

// Answers requests with large bodies one at a time, beside those with small ones: anybody who
// reaches the port may send large ones, and an API server waits for its reviews.
class LargeRequests {
 public:
  explicit LargeRequests(net::IoPool& pool) : strand_(pool.MakeStrand()) {}

  // False: too many wait.
  bool Post(std::function<void()> work) {
    if (waiting_.fetch_add(1) >= kMostLargeWaiting) {
      --waiting_;
      return false;
    }
    strand_->Post([this, work = std::move(work)] {
      work();
      --waiting_;
    });
    return true;
  }

 private:
  std::unique_ptr<Executor> strand_;
  std::atomic<int> waiting_{0};
};

net::Response TooManyLarge() {
  net::Response response;
  response.status = 503;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.body = "too many requests of more than 256 KiB wait\n";
  return response;
}

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
      [jobs = std::make_shared<const JobReviews>(std::move(jobs)), gates = options.gates,
       large = std::make_shared<LargeRequests>(pool)](
          net::Request request, const std::shared_ptr<net::Responder>& responder) {
        if (request.body.size() < kLargeBodyBytes) {
          return responder->Send(AnswerWebhook(request, *jobs, gates));
        }
        // The task keeps `large` alive, whose strand runs the task.
        const bool is_posted =
            large->Post([jobs, gates, responder, large,
                         asked = std::make_shared<const net::Request>(std::move(request))] {
              responder->Send(AnswerWebhook(*asked, *jobs, gates));
            });
        if (!is_posted) responder->Send(TooManyLarge());
      });
}

}  // namespace berth::webhook
