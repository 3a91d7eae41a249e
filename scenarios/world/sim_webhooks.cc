#include "scenarios/world/sim_webhooks.h"

#include "webhook/version_conversion.h"

namespace berth::sim {

Result<local::Json> SimWebhooks::Call(const local::WebhookTarget& target,
                                      const local::WebhookQuestion& question, Duration /*timeout*/,
                                      int* /*http_code*/) {
  if (servers_.empty()) {
    return Error{ErrorCode::kUnavailable, "dial tcp: connect: connection refused"};
  }
  auto server = servers_.upper_bound(last_asked_);
  if (server == servers_.end()) server = servers_.begin();
  last_asked_ = server->first;
  if (target.service_path == "/convert") return webhook::AnswerConversion(question.Whole());
  if (webhook::IsReviewPath(target.service_path, server->second)) {
    return webhook::Review(target.service_path, question.Whole(), server->second);
  }
  return Error{ErrorCode::kNotFound, "no webhook answers at " + target.service_path};
}

}  // namespace berth::sim
