// kube/client/status_error.h — metav1.Status, what a Kubernetes API answers where it refuses.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace berth::kube {

// The Error for an answer with `http_status` of 400 and up. `body`, where not null, may be a
// Status: its reason decides before the HTTP status does, its message is taken over.
Error ErrorFromStatus(int http_status, const nlohmann::json* body);

}  // namespace berth::kube
