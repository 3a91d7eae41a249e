// local/apiserver/webhooks/admission_review.h — builds AdmissionReviews and interprets their
// answers. Pure.
//
// Source: admission.k8s.io/v1.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/admission.h"

namespace berth::local {

struct ReviewQuestion {
  std::string uid;
  std::string version;               // the webhook's version
  const Json* object = nullptr;      // in that version; null on delete
  const Json* old_object = nullptr;  // in that version; null on create
};

const char* OperationName(AdmissionRequest::Operation operation);

// Borrows the objects of `question`.
WebhookQuestion MakeReview(const AdmissionRequest& request, const ReviewQuestion& question);

struct ReviewAnswer {
  bool allowed = false;
  ApiError denial;  // set if not allowed
  Json patch;       // a JSON patch, or null
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> annotations;  // for the audit event
  std::string invalid;  // not empty: why the answer is no AdmissionReview
};

ReviewAnswer ReadReview(const Json& review, const std::string& uid, const std::string& webhook);

}  // namespace berth::local
