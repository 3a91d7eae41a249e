// local/apiserver/http/openapi_v2.h — the OpenAPI v2 document of all kinds, as JSON and in
// gnostic's protobuf form, which kubectl up to 1.28 reads.
//
// Built-in kinds have Kubernetes' schemas; the parts of custom kinds' schemas that OpenAPI v2
// cannot express are left out (anyOf, oneOf, not, nullable). Each kind has its PATCH operation, by
// whose parameters kubectl knows what the server can do.
//
// Threads: pure functions. Source: OpenAPI 2.0; gnostic-models openapiv2/OpenAPIv2.proto, restated.
#pragma once

#include <string>

#include "local/apiserver/registry/catalog.h"

namespace berth::local {

inline constexpr char kOpenApiV2Media[] =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

std::string OpenApiV2Json(const ResourceTable& table);
std::string OpenApiV2Protobuf(const ResourceTable& table);

// A schema of OpenAPI v3 in the form of v2.
Json SchemaInV2(const Json& schema);

}  // namespace berth::local
