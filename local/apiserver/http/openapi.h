// local/apiserver/http/openapi.h — OpenAPI v3: an index and one document per group version.
//
// Built-in kinds get their PATCH operation with the fieldValidation parameter and no schema:
// clients then leave validation to the server, while half a schema would make them warn. Custom
// kinds get their whole schema.
//
// Threads: pure functions. Source: OpenAPI 3.0; Kubernetes' x-kubernetes extensions.
#pragma once

#include <string>

#include "local/apiserver/registry/catalog.h"

namespace berth::local {

Json OpenApiIndex(const ResourceTable& table);  // /openapi/v3
// /openapi/v3/apis/GROUP/VERSION; null where there is no such group version.
Json OpenApiDocument(const ResourceTable& table, const std::string& group,
                     const std::string& version);

}  // namespace berth::local
