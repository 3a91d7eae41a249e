// integrations/described_job.h — objects of a described kind: their JobView, and the object as a
// start and a stop leave it.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "integrations/job_view.h"
#include "integrations/kind_description.h"

namespace berth::integrations {

// A pod set that the object does not describe as the kind says (a template is missing, an
// expression fails) makes JobView::problem, with the field. kInvalid: the metadata cannot be read.
Result<JobView> ViewOf(const KindPtr& kind, const nlohmann::json& object);

struct DescribedPodSet {
  api::PodSet pods;
  std::string template_path;  // "spec.replicatedJobs[0].template.spec.template"
};
// The pod sets alone. kInvalid: as JobView::problem.
Result<std::vector<DescribedPodSet>> PodSetsOf(const KindDescription& kind,
                                               const nlohmann::json& object);

// `object`, started with one change per pod set. kInvalid where the object's pod sets are not
// those of the changes.
Result<nlohmann::json> Started(const KindDescription& kind, const nlohmann::json& object,
                               const std::vector<PodSetChange>& changes);

// `object`, suspended. Its templates become `originals`, unless these are not of its pod sets.
nlohmann::json Stopped(const KindDescription& kind, const nlohmann::json& object,
                       const std::vector<PodSetChange>& originals);

// The field that holds the job; one that is no boolean does not hold it.
bool IsSuspended(const KindDescription& kind, const nlohmann::json& object);
// Sets the field that holds the job.
void SetSuspended(const KindDescription& kind, bool suspended, nlohmann::json& object);

}  // namespace berth::integrations
