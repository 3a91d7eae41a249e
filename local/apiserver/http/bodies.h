// local/apiserver/http/bodies.h — decodes request bodies (JSON, YAML, protobuf) and options (from
// the query or, for DELETE, from the body).
#pragma once

#include <optional>
#include <string>

#include "local/apiserver/api.h"
#include "local/apiserver/http/exchange.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {

// Returns the body as JSON. `api_version` and `kind`: those of the URL, used if the body names
// none.
ApiResult<Body> DecodeBody(const TypeTable& types, const net::Request& request,
                           const std::string& api_version, const std::string& kind);

// The body of a PATCH, with the type of the patch.
ApiResult<PatchRequest> DecodePatch(const Exchange& exchange, const ResourceInfo& resource);

// fieldManager, fieldValidation, dryRun of a write.
std::optional<ApiError> ReadWriteOptions(const Exchange& exchange, RequestContext& context);

// Selectors, limit, continue, resourceVersion of a list, a watch or a collection deletion.
ApiResult<ReadQuery> ReadListQuery(const Exchange& exchange, const ResourceInfo& resource);

struct DeleteRequest {
  DeleteOptions options;
  bool dry_run = false;
};
ApiResult<DeleteRequest> ReadDeleteOptions(const TypeTable& types, const Exchange& exchange);

}  // namespace berth::local
