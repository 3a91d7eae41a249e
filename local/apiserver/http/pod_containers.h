// local/apiserver/http/pod_containers.h — which container of a pod a request means.
#pragma once

#include <string>

#include "local/apiserver/api.h"

namespace berth::local {

// The container that `named` names; if `named` is "", the one of the annotation
// kubectl.kubernetes.io/default-container, or the first one. 400 BadRequest: there is no such
// container.
ApiResult<std::string> ContainerFor(const Json& pod, const std::string& named);

}  // namespace berth::local
