// tests/support/sim_request.h — one API request to one registry call.
#pragma once

#include "kube/client/transport.h"
#include "local/apiserver/http/target.h"
#include "local/apiserver/registry/registry.h"

namespace berth::sim {

// The answer a server gives. Not for watches.
kube::ApiResponse Answer(local::Registry& registry, const kube::ApiRequest& request);

// What a path names; an ApiError where the API does not serve it.
local::ApiResult<local::RequestContext> ContextOf(local::Registry& registry,
                                                  const local::Target& target);

// labelSelector, fieldSelector, limit, continue, resourceVersion.
local::ApiResult<local::ReadQuery> QueryOf(const local::Target& target,
                                           const local::ResourceInfo& resource);

kube::ApiResponse ErrorResponse(const local::ApiError& error);

}  // namespace berth::sim
