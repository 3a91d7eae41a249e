// local/apiserver/registry/in_process_api.h — the registry as berth::local::Api, with the thread
// that delivers changes to in-process watchers.
#pragma once

#include <memory>

#include "base/executor.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {

// Destroy every WatchHandle before the Api, and the Api before the registry. `deliver_on`, if not
// null, runs the watch callbacks as its tasks, for a single thread and virtual time.
std::unique_ptr<WholeApi> MakeInProcessApi(Registry& registry, Executor* deliver_on = nullptr);

}  // namespace berth::local
