#include "integrations/controller/job_source.h"

#include "api/labels.h"

namespace berth::integrations {

const std::string* PrebuiltWorkloadOf(const api::ObjectMeta& job) {
  return api::FindValue(job.labels, api::kPrebuiltWorkloadLabel);
}

}  // namespace berth::integrations
