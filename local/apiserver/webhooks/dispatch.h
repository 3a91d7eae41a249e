// local/apiserver/webhooks/dispatch.h — calls the admission webhooks that a write concerns.
//
// Threads: any; blocks for the webhooks' timeouts at most.
// Errors: refusals with the webhook's own code and reason, failures as 500 InternalError, in
// Kubernetes' words. Source: Kubernetes dynamic admission control.
#pragma once

#include <optional>

#include "local/apiserver/registry/admission.h"

namespace berth::local {

class WebhookDispatch {
 public:
  WebhookDispatch(const Store& store, WebhookCaller* caller, const Converter& converter)
      : store_(store), caller_(caller), converter_(converter) {}

  std::optional<ApiError> Mutate(const AdmissionRequest& request, Json& object,
                                 const AdmissionChain::Accept& accept) const;
  std::optional<ApiError> Validate(const AdmissionRequest& request, const Json* object) const;

 private:
  const Store& store_;
  WebhookCaller* caller_;
  const Converter& converter_;
};

}  // namespace berth::local
