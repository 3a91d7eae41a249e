// local/apiserver/http/openapi_documents.h — OpenAPI v3: an index and one document per group
// version, with a read and a PATCH operation and the whole schema of each kind.
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

// The name of a custom kind's schema ("io.x-k8s.kueue.v1beta2.ClusterQueue"); the kind's schema
// with the members of every object; and {group, version, kind}.
std::string SchemaName(const ResourceInfo& resource);
Json ComponentSchema(const ResourceInfo& resource);
Json GroupVersionKind(const ResourceInfo& resource);

}  // namespace berth::local
