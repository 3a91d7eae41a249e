// local/apiserver/webhooks/dispatch.h — calls the admission webhooks that match a write.
//
// mutating: one after the other, by the names of their configurations; a webhook with
// reinvocationPolicy IfNeeded is called again if a later one changed the object validating: in
// parallel; the first refusal in order wins, all warnings are kept
//
// A webhook whose matchConditions do not hold is not called (match_conditions.h).
//
// Webhook configurations are never sent to webhooks, so that a webhook cannot block its removal.
//
// Threads: any thread; blocks for the webhooks' timeouts at most.
// Errors: refusals with the webhook's own code and reason, failures as 500 InternalError, in
// Kubernetes' words. Source: Kubernetes dynamic admission control.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/registry/admission.h"
#include "local/apiserver/webhooks/match.h"
#include "local/apiserver/webhooks/review.h"

namespace berth::local {

class WebhookDispatch {
 public:
  WebhookDispatch(const Store& store, WebhookCaller* caller, const Converter& converter,
                  RoleIndex& roles)
      : store_(store), caller_(caller), converter_(converter), roles_(roles) {}

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
  };

  std::vector<Hook> Concerned(const char* configurations, const AdmissionRequest& request,
                              const Json* object) const;
  // What a webhook is asked, if its conditions let it be asked.
  struct Question {
    ReviewQuestion review;
    std::optional<WebhookQuestion> asked;  // of `review`; where it is called, or a condition reads
    Json converted[2];                     // what `review` shows of objects in another version
    bool call = false;
    Outcome outcome;  // of a webhook that is not called
  };

  static Outcome Failure(const Hook& hook, const std::string& why);
  void Ask(const Hook& hook, const AdmissionRequest& request, const Json* object,
           Question& question) const;
  Outcome Call(const Hook& hook, const Question& question) const;
  std::optional<ApiError> MutateOnce(const Hook& hook, const AdmissionRequest& request,
                                     Json& object, const AdmissionChain::Accept& accept) const;

  const Store& store_;
  WebhookCaller* caller_;
  const Converter& converter_;
  RoleIndex& roles_;
};

}  // namespace berth::local
