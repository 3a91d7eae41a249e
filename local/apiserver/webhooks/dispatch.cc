#include "local/apiserver/webhooks/dispatch.h"

namespace berth::local {

std::optional<ApiError> WebhookDispatch::Mutate(const AdmissionRequest& /*request*/,
                                                Json& /*object*/,
                                                const AdmissionChain::Accept& /*accept*/) const {
  return std::nullopt;
}

std::optional<ApiError> WebhookDispatch::Validate(const AdmissionRequest& /*request*/,
                                                  const Json* /*object*/) const {
  return std::nullopt;
}

}  // namespace berth::local
