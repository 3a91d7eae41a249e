#include "local/apiserver/registry/object_review.h"

#include "local/apiserver/registry/object_decoder.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {

std::optional<ApiError> ObjectReview::Mutate(const AdmissionRequest& request, Json& object) const {
  const ResourceInfo& resource = *request.context->resource;
  const auto accept = [&](Json& changed) { return CompleteObject(resource, changed, nullptr); };
  return admission_.Mutate(request, object, accept);
}

std::optional<ApiError> ObjectReview::Validate(const AdmissionRequest& request,
                                               const Json& object) const {
  if (auto error = rights_.CheckEscalation(*request.context, object, request.old_object)) {
    return error;
  }
  if (auto error = CheckStorable(object)) return error;
  return admission_.Validate(request, &object);
}

std::optional<ApiError> ObjectReview::ValidateDeletion(const AdmissionRequest& request) const {
  return admission_.Validate(request, nullptr);
}

}  // namespace berth::local
