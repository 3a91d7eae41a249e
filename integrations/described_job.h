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
// `reads`: what the kind reads beside the object; see NamesToRead.
Result<JobView> ViewOf(const KindPtr& kind, const nlohmann::json& object,
                       const ReadObjects& reads = {});

// The names of the objects that the kind reads beside this one, in the order of its `reads`; "":
// the rule reads no object.
std::vector<std::string> NamesToRead(const KindDescription& kind, const nlohmann::json& object);

struct DescribedPodSet {
  api::JobPodSet pods;
  std::string template_path;  // "spec.replicatedJobs[0].template.spec.template"
  // The path of the template as a JSON pointer; points into the expansion if the kind has a hook.
  std::string pointer;
  api::StringMap pod_labels;  // PodHold: labels of the pod set's pods
};
// The pod sets alone. kInvalid: the same cases as JobView::problem.
Result<std::vector<DescribedPodSet>> PodSetsOf(const KindDescription& kind,
                                               const nlohmann::json& object,
                                               const ReadObjects& reads = {});

// `object`, started with one change per pod set: the states that are written one after the other.
// kInvalid where the object's pod sets are not those of the changes.
Result<std::vector<nlohmann::json>> Started(const KindDescription& kind,
                                            const nlohmann::json& object,
                                            const std::vector<PodSetChange>& changes,
                                            const ReadObjects& reads = {});

// `object`, suspended, as Started. Its templates become `originals`, unless these are not of its
// pod sets. `active`: pods of the job exist.
std::vector<nlohmann::json> Stopped(const KindDescription& kind, const nlohmann::json& object,
                                    const std::vector<PodSetChange>& originals, bool active);

// If the kind has PodHold::groups: the pod set of `object` that `group` sizes. kInvalid: the same
// cases as JobView::problem.
Result<DescribedPodSet> PodSetOfGroup(const KindDescription& kind, const nlohmann::json& object,
                                      const nlohmann::json& group);
// If the kind has PodHold::restart: whether the job's operator can be made to create the pod again.
bool CanRestart(const KindDescription& kind, const nlohmann::json& object);

// Whether the job is held (KindDescription::held_by).
bool IsSuspended(const KindDescription& kind, const nlohmann::json& object);
// Whether the field managedBy gives the job to MultiKueue.
bool IsDelegated(const KindDescription& kind, const nlohmann::json& object);
void SetSuspended(const KindDescription& kind, bool suspended, nlohmann::json& object);

}  // namespace berth::integrations
