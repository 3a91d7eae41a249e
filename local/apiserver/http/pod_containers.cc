#include "local/apiserver/http/pod_containers.h"

#include "local/apiserver/http/list_parameters.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

std::string DefaultContainer(const Json& pod) {
  std::string chosen =
      TextAt(pod, {"metadata", "annotations", "kubectl.kubernetes.io/default-container"});
  if (!chosen.empty()) return chosen;
  const Json& containers = ArrayAt(pod, {"spec", "containers"});
  return containers.empty() ? std::string() : TextAt(containers[0], {"name"});
}

bool HasContainer(const Json& pod, const std::string& name) {
  for (const char* field : {"containers", "initContainers"}) {
    for (const Json& container : ArrayAt(pod, {"spec", field})) {
      if (TextAt(container, {"name"}) == name) return true;
    }
  }
  return false;
}

}  // namespace

ApiResult<std::string> ContainerFor(const Json& pod, const std::string& named) {
  const std::string container = named.empty() ? DefaultContainer(pod) : named;
  if (HasContainer(pod, container)) return container;
  return ApiError{400, "BadRequest",
                  "container " + container + " is not valid for pod " + NameOf(pod), nullptr};
}

}  // namespace berth::local
