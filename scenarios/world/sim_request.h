// scenarios/world/sim_request.h — answers an API request by a call of the registry.
#pragma once

#include "kube/client/transport.h"
#include "local/apiserver/http/target.h"
#include "local/apiserver/registry/registry.h"

namespace berth::sim {

// The server's answer. Not for watches.
kube::ApiResponse Answer(local::Registry& registry, const kube::ApiRequest& request);

// The context of a path; an ApiError if the API does not serve it.
local::ApiResult<local::RequestContext> ContextOf(local::Registry& registry,
                                                  const local::Target& target);

// labelSelector, fieldSelector, limit, continue, resourceVersion.
local::ApiResult<local::ReadQuery> QueryOf(const local::Target& target,
                                           const local::ResourceInfo& resource);

kube::ApiResponse ErrorResponse(const local::ApiError& error);

}  // namespace berth::sim
