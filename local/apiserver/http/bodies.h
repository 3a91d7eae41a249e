// local/apiserver/http/bodies.h — request bodies and options in their encodings: JSON, YAML,
// protobuf; options in the query or, for DELETE, in the body.
#pragma once

#include <optional>
#include <string>

#include "local/apiserver/api.h"
#include "local/apiserver/http/exchange.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {

// The body as JSON. `kind`: what the URL implies where the body does not say.
ApiResult<Body> DecodeBody(const TypeTable& types, const net::Request& request,
                           const std::string& api_version, const std::string& kind);

// The body of a PATCH and which kind of patch it is.
ApiResult<Registry::PatchRequest> DecodePatch(const Exchange& exchange,
                                              const ResourceInfo& resource);

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
