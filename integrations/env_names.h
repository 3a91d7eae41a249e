// integrations/env_names.h — the names of environment variables in the pod templates of Workloads.
//
// A container may name a variable twice: the last value counts. The CRD of Kueue's Workloads lists
// variables by name, and an API server refuses a Workload with such a container.
//
// Threads: pure function. Errors: none. Source: Kueue pkg/util/podset, clean-up of duplicates.
#pragma once

#include <memory>
#include <string>

namespace berth::integrations {

// If a container or init container of the template (JSON; null: nothing is done) has several
// variables of one name, the last one stays, at the place of the first.
void DropDuplicateEnv(std::shared_ptr<const std::string>& pod_template);

}  // namespace berth::integrations
