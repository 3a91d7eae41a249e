// local/apiserver/webhooks/review.h — AdmissionReview: the question and what the answer means.
// Pure.
//
// Source: admission.k8s.io/v1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/admission.h"

namespace berth::local {

struct ReviewQuestion {
  std::string uid;
  std::string version;               // the one the webhook asked for
  const Json* object = nullptr;      // in that version; null on delete
  const Json* old_object = nullptr;  // likewise; null on create
};

const char* OperationName(AdmissionRequest::Operation operation);

// Borrows the objects of `question`.
WebhookQuestion MakeReview(const AdmissionRequest& request, const ReviewQuestion& question);

struct ReviewAnswer {
  bool allowed = false;
  ApiError denial;  // where it is not allowed
  Json patch;       // a JSON patch, or null
  std::vector<std::string> warnings;
  std::string invalid;  // not empty: the answer is not one, and why
};

ReviewAnswer ReadReview(const Json& review, const std::string& uid, const std::string& webhook);

}  // namespace berth::local
