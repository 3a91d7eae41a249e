// kube/client/status_error.h — converts a metav1.Status, a Kubernetes API's refusal, to an Error.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace berth::kube {

// The Error for an answer with `http_status` of 400 and up. A `body` that is a Status gives the
// message and the reason, which takes precedence over the HTTP status. `body` may be null.
Error ErrorFromStatus(int http_status, const nlohmann::json* body);

}  // namespace berth::kube
