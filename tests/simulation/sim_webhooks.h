// tests/simulation/sim_webhooks.h — the controller's webhooks without a server between.
#pragma once

#include <utility>

#include "local/apiserver/registry/webhook_caller.h"
#include "webhook/review.h"

namespace berth::sim {

// Threads: one.
class SimWebhooks final : public local::WebhookCaller {
 public:
  // Null: nobody answers, as while the controller is down.
  void Serve(webhook::JobFactsOf facts) { facts_ = std::move(facts); }

  Result<local::Json> Call(const local::WebhookTarget& target,
                           const local::WebhookQuestion& question, Duration timeout) override;

 private:
  webhook::JobFactsOf facts_;
};

}  // namespace berth::sim
