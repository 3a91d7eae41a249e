// local/apiserver/http/pod_containers.h — which container of a pod a request means.
#pragma once

#include <string>

#include "local/apiserver/api.h"

namespace berth::local {

// The container that `named` names; if "", that of the annotation
// kubectl.kubernetes.io/default-container, or the first. 400 BadRequest: there is none.
ApiResult<std::string> ContainerFor(const Json& pod, const std::string& named);

}  // namespace berth::local
