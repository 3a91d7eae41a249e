// local/apiserver/http/openapi.h — OpenAPI v3: an index and one document per group version.
//
// Built-in kinds get a PATCH operation with the fieldValidation parameter and no schema, so that
// clients leave validation to the server; an incomplete schema would cause warnings. Custom kinds
// get their whole schema.
//
// Threads: pure functions. Source: OpenAPI 3.0; Kubernetes' x-kubernetes extensions.
#pragma once

#include <string>

#include "local/apiserver/registry/catalog.h"

namespace berth::local {

Json OpenApiIndex(const ResourceTable& table);  // /openapi/v3
// /openapi/v3/apis/GROUP/VERSION; null for an unknown group version.
Json OpenApiDocument(const ResourceTable& table, const std::string& group,
                     const std::string& version);

}  // namespace berth::local
