// local/apiserver/webhooks/dispatch.h — calls the admission webhooks that match a write.
//
//     mutating    one after the other, by the names of their configurations; a webhook with
//                 reinvocationPolicy IfNeeded is called again if a later one changed the object
//     validating  in parallel; the first refusal in order wins, all warnings are kept
//
// Calls are counted (webhook_metrics.h); audit annotations of answers go to the request's audit
// event as WEBHOOK/KEY.
//
// A webhook whose matchConditions do not hold is not called (match_conditions.h).
//
// Webhook configurations are never sent to webhooks, so that a webhook cannot block its removal.
//
// Threads: any thread; blocks for the webhooks' timeouts at most.
// Errors: refusals with the webhook's own code and reason, failures as 500 InternalError, in
// Kubernetes' words. Source: Kubernetes dynamic admission control.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "local/apiserver/registry/admission.h"
#include "local/apiserver/webhooks/admission_review.h"
#include "local/apiserver/webhooks/match.h"
#include "local/apiserver/webhooks/webhook_metrics.h"

namespace berth::local {

class WebhookDispatch {
 public:
  WebhookDispatch(const Store& store, WebhookCaller* caller, const Converter& converter,
                  RoleIndex& roles, WebhookMetrics& metrics)
      : store_(store), caller_(caller), converter_(converter), roles_(roles), metrics_(metrics) {}

  std::optional<ApiError> Mutate(const AdmissionRequest& request, Json& object,
                                 const AdmissionChain::Accept& accept) const;
  std::optional<ApiError> Validate(const AdmissionRequest& request, const Json* object) const;

 private:
  struct Hook {
    Object configuration;           // keeps `webhook`
    const Json* webhook = nullptr;  // never null
    std::string name;
    std::string version;  // for the call
  };
  struct Outcome {
    std::optional<ApiError> error;  // a refusal, or a failure with failurePolicy Fail
    Json patch;
    std::vector<std::string> warnings;
    std::vector<std::pair<std::string, std::string>> annotations;
    WebhookCall::Ending ending = WebhookCall::Ending::kAllowed;
    int code = 200;  // see WebhookCall
  };

  std::vector<Hook> Concerned(const char* configurations, const AdmissionRequest& request,
                              const Json* object) const;
  // The question to a webhook, if its conditions allow the call.
  struct Question {
    ReviewQuestion review;
    // The AdmissionReview of `review`; made if the webhook is called, or if a condition reads
    // `request`.
    std::optional<WebhookQuestion> asked;
    Json converted[2];  // the objects of `review` that had another version
    bool call = false;
    Outcome outcome;  // the outcome of a webhook that is not called
  };

  using Instant = std::chrono::steady_clock::time_point;

  static Outcome Failure(const Hook& hook, const std::string& why, int code);
  void Ask(const Hook& hook, const AdmissionRequest& request, const Json* object,
           Question& question) const;
  Outcome Call(const Hook& hook, const Question& question) const;
  Outcome CallToValidate(const Hook& hook, const AdmissionRequest& request,
                         const Question& question) const;
  void Count(const Hook& hook, const char* type, const AdmissionRequest& request,
             const Outcome& outcome, Instant begin) const;
  // Passes warnings and annotations on.
  static void Note(const Hook& hook, const AdmissionRequest& request, Outcome& outcome);
  std::optional<ApiError> MutateOnce(const Hook& hook, const AdmissionRequest& request,
                                     Json& object, const AdmissionChain::Accept& accept) const;
  std::optional<ApiError> ApplyPatch(const Hook& hook, const AdmissionRequest& request,
                                     const Json& patch, Json& object,
                                     const AdmissionChain::Accept& accept) const;

  const Store& store_;
  WebhookCaller* caller_;
  const Converter& converter_;
  RoleIndex& roles_;
  WebhookMetrics& metrics_;
};

}  // namespace berth::local
