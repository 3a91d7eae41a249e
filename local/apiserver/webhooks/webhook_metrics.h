// local/apiserver/webhooks/webhook_metrics.h — counts the calls of admission webhooks, as
// kube-apiserver does.
//
//     WebhookDispatch ──Count──▶ calls, durations, rejections, failures let pass ──▶ /metrics
//
// A metric has kMostSeries series at most; calls that would begin another one are not counted in
// it.
//
// Threads: any. Source: k8s.io/apiserver pkg/admission/metrics and the dispatchers of webhooks,
// restated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "local/apiserver/bucket_counts.h"

namespace berth::local {

struct WebhookCall {
  enum class Ending : std::uint8_t {
    kAllowed,
    kRejected,      // by the webhook
    kFailed,        // no answer, or one that is no AdmissionReview; failurePolicy Fail
    kFailedOpen,    // a failure as for kFailed; failurePolicy Ignore
    kServerFailed,  // the webhook's patch does not fit the object
  };
  Ending ending = Ending::kAllowed;
  std::string webhook;    // the webhook's name
  std::string type;       // "admit" of mutating webhooks, "validating"
  std::string operation;  // "CREATE", …
  int code = 200;         // the code of the HTTP answer or of the rejection; 0 for kServerFailed
  double seconds = 0;
};

class WebhookMetrics {
 public:
  static constexpr std::size_t kMostSeries = 10'000;
  static constexpr int kHighestCode = 600;  // stands for higher codes, too
  static constexpr std::array<double, 8> kBounds{0.005, 0.025, 0.1, 0.5,
                                                 1,     2.5,   10,  25};  // seconds

  using LabelValues = std::vector<std::string>;
  struct Counts {
    std::map<LabelValues, BucketCounts<kBounds.size()>> seconds;  // name, operation, rejected, type
    std::map<LabelValues, std::uint64_t> requests;     // code, name, operation, rejected, type
    std::map<LabelValues, std::uint64_t> rejections;   // error_type, name, operation,
                                                       // rejection_code, type
    std::map<LabelValues, std::uint64_t> failed_open;  // name, type
  };

  void Count(const WebhookCall& call);
  Counts counts() const;

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

}  // namespace berth::local
