// provisioning/controller/check_memory.h — the memory of the checks of provisioning: an annotation
// of the Workload.
//
// Threads: pure functions. Errors: none.
#pragma once

#include "api/object_meta.h"
#include "api/provisioning_policy.h"
#include "api/workload.h"

namespace berth::provisioning {

// The annotation of the Workload; empty where it is missing or cannot be read: the memory begins
// anew.
api::MemoryByCheck MemoryOf(const api::Workload& workload);

// `annotations` with the annotation of the memory, whose value is empty for an empty memory.
api::StringMap WithMemory(api::StringMap annotations, const api::MemoryByCheck& memory);

}  // namespace berth::provisioning
