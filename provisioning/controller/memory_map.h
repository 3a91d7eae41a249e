// provisioning/controller/memory_map.h — the ConfigMap in which a keeper stores a memory: one text
// under one key.
//
// Threads: one Executor, that of the client. Errors: of the API, in the answer of the write.
#pragma once

#include <functional>
#include <string>

#include "api/object_meta.h"
#include "base/result.h"
#include "kube/client/api_client.h"

namespace berth::provisioning {

inline constexpr api::ResourceKind kMemoryMap{"", "v1", "ConfigMap", "configmaps", true};

// The text under `key`; empty: there is none.
std::string MemoryTextOf(const kube::Json& config_map, const char* key);

// Writes `object`, which has data, labels and annotations: creates the ConfigMap where
// `resource_version` is empty, else patches that version of the ConfigMap.
void WriteMemoryMap(kube::ApiClient& client, const api::ObjectKey& name,
                    const std::string& resource_version, kube::Json object,
                    std::function<void(const Result<kube::JsonPtr>&)> written);

}  // namespace berth::provisioning
