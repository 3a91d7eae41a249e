// local/apiserver/registry/object_review.h — the stages that decide on a write between its body and
// its storage: mutating admission, and the checks of the prepared object.
//
//   Mutate → (the kind's strategy prepares and validates) → Validate
//
// Threads: any; may block (webhooks).
// Errors: those of admission (admission.h), rights (rights_check.h) and size (CheckStorable).
#pragma once

#include <optional>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/admission.h"
#include "local/apiserver/registry/rights_check.h"

namespace berth::local {

class ObjectReview {
 public:
  ObjectReview(const AdmissionChain& admission, const RightsCheck& rights)
      : admission_(admission), rights_(rights) {}

  // Mutating admission. An object that a webhook or a policy has changed is completed again
  // (object_decoder.h).
  std::optional<ApiError> Mutate(const AdmissionRequest& request, Json& object) const;
  // The rights that the object grants, then its size, then validating admission.
  std::optional<ApiError> Validate(const AdmissionRequest& request, const Json& object) const;
  // Validating admission of a deletion.
  std::optional<ApiError> ValidateDeletion(const AdmissionRequest& request) const;

 private:
  const AdmissionChain& admission_;
  const RightsCheck& rights_;
};

}  // namespace berth::local
