// scenarios/world/sim_webhooks.h — calls the controllers' webhooks without a server.
#pragma once

#include <map>
#include <utility>

#include "local/apiserver/registry/webhook_caller.h"
#include "webhook/review.h"

namespace berth::sim {

// Replicas answer in turn, as behind a Service; without a replica calls fail.
//
// Threads: one.
class SimWebhooks final : public local::WebhookCaller {
 public:
  // Serves until Withdraw of the returned number.
  int Serve(webhook::JobReviews jobs) {
    servers_.emplace(next_, std::move(jobs));
    return next_++;
  }
  void Withdraw(int server) { servers_.erase(server); }

  Result<local::Json> Call(const local::WebhookTarget& target,
                           const local::WebhookQuestion& question, Duration timeout,
                           int* http_code) override;

 private:
  std::map<int, webhook::JobReviews> servers_;
  int next_ = 1;
  int last_asked_ = 0;
};

}  // namespace berth::sim
