// local/apiserver/registry/in_process_api.h — the registry as berth::local::Api, and the thread
// that tells in-process watchers of changes.
#pragma once

#include <memory>

#include "base/executor.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {

// Destroy every WatchHandle before the Api, and the Api before the registry. `deliver_on`, where
// not null, runs the watch callbacks in its tasks: one thread and virtual time are enough then.
std::unique_ptr<WholeApi> MakeInProcessApi(Registry& registry, Executor* deliver_on = nullptr);

}  // namespace berth::local
