// program/job_kinds.h — the job kinds of a Configuration, for the controllers and for reviews.
//
// Threads: pure functions. Errors: none; a Configuration names known frameworks only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "admission/controller/configuration/configuration.h"
#include "integrations/kind_description.h"
#include "webhook/job_rules.h"
#include "webhook/workload_rules.h"

namespace berth::program {

// The described kinds among `frameworks` (integrations.frameworks).
std::vector<integrations::KindPtr> DescribedKinds(const std::vector<std::string>& frameworks);

// Whether pods are queued as jobs of their own: framework "pod".
bool ManagesPods(const std::vector<std::string>& frameworks);

// Whether pods are queued at all, as jobs of their own or for their parents. The parents are those
// of the frameworks "deployment", "statefulset" and the others whose pods are held by their gates.
bool ManagesPodsOfParents(const std::vector<std::string>& frameworks);

// Labels of pods with the name of a job that is held by its pods (KindDescription::hold).
std::vector<std::string> PodLabelsOf(const std::vector<std::string>& frameworks);

// The kinds of owners whose jobs are managed: those of `frameworks`, and the external ones.
std::vector<admission::OwnerKind> OwnersOf(const admission::Configuration& configuration);

// The names among `frameworks` that Kueue knows and Berth does not manage.
std::vector<std::string> UnmanagedFrameworks(const std::vector<std::string>& frameworks);

// Returns the further objects that a kind reads for one of its objects. Called on any thread; null:
// there are none.
using ReadsOf = std::function<integrations::ReadObjects(const integrations::KindDescription& kind,
                                                        const nlohmann::json& object)>;

webhook::ReviewedKind ReviewedKindOf(const integrations::KindPtr& kind,
                                     const ReadsOf& reads_of = {});

// The kinds of `frameworks` beside batch/v1 Job.
std::vector<webhook::ReviewedKind> ReviewedKinds(const std::vector<std::string>& frameworks,
                                                 const ReadsOf& reads_of = {});

// The feature gates of reviews; the caller sets `record_users`.
webhook::ReviewGates ReviewGatesOf(const admission::FeatureGates& gates);

}  // namespace berth::program
