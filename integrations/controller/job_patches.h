// integrations/controller/job_patches.h — planned writes as JSON patches.
//
// Merge patches (RFC 7396) carry the changed fields, and patches of Workloads also the
// resourceVersion on which they were planned; applied configurations carry the fields of their
// field manager. Unknown fields survive both.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "api/job.h"
#include "api/workload.h"
#include "integrations/batch_job.h"

namespace berth::integrations {

// A patch of the Job, or of its status where the write clears the start time.
nlohmann::json JobPatch(const api::Job& job, const BatchJobWrite& write);

// A patch of a pod to the labels … gates of `wanted`, based on its present state.
nlohmann::json PodPatch(const api::ObjectMeta& pod, const api::PodSpec& spec,
                        const PodSetChange& wanted);

// A patch to the whole new spec; removes fields that the new spec lacks.
nlohmann::json WorkloadSpecPatch(const api::Workload& workload, const api::WorkloadSpec& spec);

// apiVersion, kind and name, which every applied configuration of a Workload has.
nlohmann::json AppliedWorkload(const api::ObjectKey& key);

}  // namespace berth::integrations
