// admission/messages.h — decisions in Kueue's words: reasons and messages of conditions and events.
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/scheduler (flavorassigner.Assignment.Message, markPreemptionOutcome),
// pkg/workload; the texts are part of what users and dashboards compare.
#pragma once

#include <string>
#include <string_view>

#include "admission/decision.h"

namespace berth::admission {

// Reason of QuotaReserved=False and of the pending event; empty where the workload got its quota,
// and where Kueue has none.
std::string_view PendingReason(const Decision& decision);

// Message of the same; `queue_name` is the ClusterQueue's.
std::string PendingMessage(const Decision& decision, const Vocabulary& vocabulary,
                           const std::string& queue_name);

// Cut to what an event may carry, as Kueue cuts it.
std::string TruncateEventMessage(std::string message);

// "couldn't assign flavors to pod set main: …; couldn't …".
std::string AssignmentMessage(const Assignment& assignment, const Vocabulary& vocabulary);
std::string ObstacleMessage(const Obstacle& obstacle, const Vocabulary& vocabulary);

// What the QuotaReserved event adds: "main: spot(NoFit;…), on-demand(preemptionMode=Reclaim) | …".
std::string ConsideredFlavors(const Assignment& assignment, const Vocabulary& vocabulary);

// Message of the victim's Evicted and Preempted conditions. Paths are "/root/…/queue".
std::string PreemptedMessage(const api::Workload& preemptor, PreemptionReason reason,
                             const std::string& preemptor_path, const std::string& victim_path);

// The UID in the victim's condition Preempted; empty: it has not been preempted, or is admitted
// again.
std::string_view PreemptorUidOf(const api::Workload& victim);

// status.admission of a workload that got its quota.
api::Admission AdmissionOf(const Decision& decision, const Vocabulary& vocabulary,
                           const std::string& queue_name);

std::string QuotaReservedMessage(const std::string& queue_name);
const char* ToString(NoFitReason reason);  // "" for kNone

}  // namespace berth::admission
