// integrations/controller/job_patches.h — planned writes as JSON patches.
//
// Merge patches (RFC 7396) carry only what changes, and the resourceVersion they were planned on;
// applied configurations carry what their field manager owns. Fields unknown to us survive both.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "api/job.h"
#include "api/workload.h"
#include "integrations/batch_job.h"

namespace berth::integrations {

// Of the Job, or of its status where the write clears the start time.
nlohmann::json JobPatch(const api::Job& job, const BatchJobWrite& write,
                        const std::string& resource_version);

// The whole spec; what the new one lacks is removed.
nlohmann::json WorkloadSpecPatch(const api::Workload& workload, const api::WorkloadSpec& spec);

// apiVersion, kind, name: what every applied configuration of a Workload begins with.
nlohmann::json AppliedWorkload(const api::ObjectKey& key);

}  // namespace berth::integrations
