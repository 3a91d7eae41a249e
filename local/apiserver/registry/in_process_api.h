// local/apiserver/registry/in_process_api.h — the registry as berth::local::Api, and the thread
// that tells in-process watchers of changes.
#pragma once

#include <memory>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {

// Destroy every WatchHandle before the Api, and the Api before the registry.
std::unique_ptr<Api> MakeInProcessApi(Registry& registry);

}  // namespace berth::local
