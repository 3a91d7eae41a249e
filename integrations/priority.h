// integrations/priority.h — the queueing priority of a job, with its source.
//
//     label priority-class (WorkloadPriorityClass) → pods' priorityClassName → global default → 0
//
// Source: Kueue pkg/util/priority.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/workload.h"
#include "base/result.h"
#include "integrations/job_view.h"

namespace berth::integrations {

using PriorityClassesByName = std::map<std::string, api::PriorityClass>;

struct JobPriority {
  std::optional<api::PriorityClassRef> ref;
  std::int32_t value = 0;
  friend bool operator==(const JobPriority&, const JobPriority&) = default;
};

// Errors: kNotFound with the name of the missing class.
Result<JobPriority> PriorityOf(const JobView& job, const PriorityClassesByName& workload_classes,
                               const PriorityClassesByName& pod_classes);

}  // namespace berth::integrations
