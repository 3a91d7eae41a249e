#include "admission/controller/second_pass.h"

#include <utility>

#include "admission/controller/decision_facts.h"
#include "admission/controller/rebased_write.h"
#include "admission/lifecycle/node_failure.h"
#include "admission/messages.h"
#include "api/reasons.h"
#include "base/log/log.h"

namespace berth::admission {
namespace {

// Whether a placement decided on `before` holds for `after` too.
bool IsForTheSameNodes(const api::Workload& before, const api::Workload& after) {
  return before.meta.uid == after.meta.uid && !after.meta.deletion_timestamp &&
         NeedsSecondPass(after) && before.status.admission == after.status.admission &&
         before.status.unhealthy_nodes == after.status.unhealthy_nodes;
}

}  // namespace

void TakePlacement(const api::Admission& decided, api::Admission& admission) {
  for (api::PodSetAssignment& assigned : admission.pod_set_assignments) {
    for (const api::PodSetAssignment& source : decided.pod_set_assignments) {
      if (source.name != assigned.name) continue;
      assigned.topology_assignment = source.topology_assignment;
      assigned.delayed_topology_request = source.delayed_topology_request;
    }
  }
}

SecondPass::SecondPass(SecondPassParts parts)
    : parts_(std::move(parts)),
      workloads_(parts_.manager.InformerFor<api::Workload>()),
      self_(std::make_shared<SecondPass*>(this)) {}

SecondPass::Progress SecondPass::Perform(const Decision& decision) {
  switch (decision.outcome) {
    case Outcome::kAdmitted:
    case Outcome::kQuotaReserved: Place(decision); return Progress::kSome;
    case Outcome::kEvictForNodeFailure: Evict(decision); return Progress::kSome;
    default: break;
  }
  const std::string& queue = parts_.scheduler.state().queue(decision.cluster_queue).name;
  parts_.events.Record(
      kube::ReferenceTo(*decision.object), kube::EventType::kWarning, "SecondPassFailed",
      "SecondPass",
      TruncateEventMessage(PendingMessage(decision, parts_.scheduler.vocabulary(), queue)),
      kube::EventRank::kCommentary);
  return Progress::kNone;
}

void SecondPass::Place(const Decision& decided) {
  const auto decision = std::make_shared<const Decision>(decided);
  WriteRebased(parts_.manager, parts_.writer, self_, *decision->object,
               {.status_on =
                    [this, decision](const api::Workload& base) {
                      api::WorkloadStatus status = base.status;
                      TakePlacement(AdmissionOf(*decision, parts_.scheduler), *status.admission);
                      status.unhealthy_nodes.clear();
                      return status;
                    },
                .still_holds =
                    [decision](const api::Workload& fresh) {
                      return IsForTheSameNodes(*decision->object, fresh);
                    },
                .done =
                    [this, decision](const Result<api::WorkloadStatus>& written) {
                      if (!written) Fail(decision->object->meta.key(), written.error());
                    }});
}

void SecondPass::Evict(const Decision& decision) {
  const api::ObjectKey key = decision.object->meta.key();
  const auto current = workloads_.Get(key);
  if (current == nullptr || !NeedsSecondPass(*current)) return parts_.read_back(key);
  const Eviction eviction = NoReplacement(*current);
  WorkloadPlan plan;
  plan.status = current->status;
  admission::Evict(*plan.status, eviction, current->meta.generation, parts_.clock.Now());
  plan.events.push_back(
      {PlannedEvent::Type::kNormal, "EvictedDueTo" + eviction.reason, eviction.message});
  parts_.writer.ApplyStatus(
      *current, *plan.status, [weak = std::weak_ptr(self_), current, plan](const Status& written) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        SecondPass& pass = **self;
        if (!written) return pass.Fail(current->meta.key(), written.error());
        const PlannedEvent& event = plan.events.front();
        pass.parts_.events.Record(kube::ReferenceTo(*current), kube::EventType::kNormal,
                                  event.reason, "Evicted", event.message);
        pass.parts_.on_evicted(*current, plan);
      });
}

void SecondPass::Fail(const api::ObjectKey& key, const Error& error) {
  if (error.code == ErrorCode::kNotFound) return;  // the informer will deliver the deletion
  LogWarning("second pass not written, will be decided again",
             {{"workload", key.ToString()}, {"error", error.message}});
  parts_.read_back(key);
}

}  // namespace berth::admission
