// admission/messages.h — decisions as reasons and messages of conditions and events, as in Kueue.
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/scheduler (flavorassigner.Assignment.Message, markPreemptionOutcome),
// pkg/workload; users and dashboards match on the texts.
#pragma once

#include <string>
#include <string_view>

#include "admission/decision.h"

namespace berth::admission {

// The reason of QuotaReserved=False and of the Pending event; empty where the workload got quota,
// and where Kueue has no reason.
std::string_view PendingReason(const Decision& decision);

// The message of the same condition and event; `queue_name` is the ClusterQueue's.
std::string PendingMessage(const Decision& decision, const Vocabulary& vocabulary,
                           const std::string& queue_name);

// The rule of Berth that holds the workload back, by its name in docs/reference/differences.md;
// empty: none does.
std::string_view RuleBehind(const Decision& decision);

// Cuts `message` to the maximum length of an event, as Kueue does.
std::string TruncateEventMessage(std::string message);

// "couldn't assign flavors to pod set main: …; couldn't …".
std::string AssignmentMessage(const Assignment& assignment, const Vocabulary& vocabulary);
std::string ObstacleMessage(const Obstacle& obstacle, const Vocabulary& vocabulary);

// The end of the QuotaReserved event: "main: spot(NoFit;…), on-demand(preemptionMode=Reclaim) | …".
std::string ConsideredFlavors(const Assignment& assignment, const Vocabulary& vocabulary);

// The message of the victim's conditions Evicted and Preempted. Paths are "/root/…/queue".
std::string PreemptedMessage(const api::Workload& preemptor, PreemptionReason reason,
                             const std::string& preemptor_path, const std::string& victim_path);

// The preemptor's UID in the victim's condition Preempted; empty: the workload was not preempted,
// or is admitted again.
std::string_view PreemptorUidOf(const api::Workload& victim);

// The status.admission of a workload that got quota.
api::Admission AdmissionOf(const Decision& decision, const Vocabulary& vocabulary,
                           const std::string& queue_name);

std::string QuotaReservedMessage(const std::string& queue_name);
const char* ToString(NoFitReason reason);  // "" for kNone

}  // namespace berth::admission
