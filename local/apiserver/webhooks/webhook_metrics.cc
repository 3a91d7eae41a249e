#include "local/apiserver/webhooks/webhook_metrics.h"

#include <algorithm>
#include <utility>

namespace berth::local {
namespace {

// The series of `labels`; null: there are too many.
template <typename Series>
Series* SeriesFor(std::map<WebhookMetrics::LabelValues, Series>& all,
                  WebhookMetrics::LabelValues labels) {
  const auto found = all.find(labels);
  if (found != all.end()) return &found->second;
  if (all.size() >= WebhookMetrics::kMostSeries) return nullptr;
  return &all[std::move(labels)];
}

void CountOne(std::map<WebhookMetrics::LabelValues, std::uint64_t>& all,
              WebhookMetrics::LabelValues labels) {
  if (std::uint64_t* count = SeriesFor(all, std::move(labels))) ++*count;
}

// The label error_type of a rejection; null: the write was let pass.
const char* ErrorTypeOf(WebhookCall::Ending ending) {
  switch (ending) {
    case WebhookCall::Ending::kRejected: return "no_error";
    case WebhookCall::Ending::kFailed: return "calling_webhook_error";
    case WebhookCall::Ending::kServerFailed: return "apiserver_internal_error";
    case WebhookCall::Ending::kAllowed:
    case WebhookCall::Ending::kFailedOpen: break;
  }
  return nullptr;
}

}  // namespace

void WebhookMetrics::Count(const WebhookCall& call) {
  const std::string code = std::to_string(std::min(call.code, kHighestCode));
  const char* error_type = ErrorTypeOf(call.ending);
  const std::string rejected = error_type == nullptr ? "false" : "true";
  const std::lock_guard lock(mutex_);
  CountOne(counts_.requests, {code, call.webhook, call.operation, rejected, call.type});
  if (auto* seconds =
          SeriesFor(counts_.seconds, {call.webhook, call.operation, rejected, call.type})) {
    seconds->Add(kBounds, call.seconds);
  }
  if (error_type != nullptr) {
    CountOne(counts_.rejections, {error_type, call.webhook, call.operation, code, call.type});
  }
  if (call.ending == WebhookCall::Ending::kFailedOpen) {
    CountOne(counts_.failed_open, {call.webhook, call.type});
  }
}

WebhookMetrics::Counts WebhookMetrics::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace berth::local
