#include "admission/controller/loop/second_pass.h"

#include <utility>

#include "admission/controller/loop/decided_writes.h"
#include "admission/lifecycle/node_failure.h"
#include "admission/messages.h"
#include "base/log/log.h"

namespace berth::admission {

SecondPass::SecondPass(SecondPassParts parts)
    : parts_(std::move(parts)),
      workloads_(parts_.manager.InformerFor<api::Workload>()),
      self_(std::make_shared<SecondPass*>(this)) {}

SecondPass::Progress SecondPass::Perform(const DecidedWrite& write) {
  switch (write.kind) {
    case DecidedWrite::Kind::kPlace: Place(write); return Progress::kSome;
    case DecidedWrite::Kind::kEvict: Evict(write); return Progress::kSome;
    default: break;
  }
  const Decision& decision = *write.decision;
  const Scheduler& scheduler = parts_.driver.scheduler();
  const std::string& queue = scheduler.state().queue(decision.cluster_queue).name;
  parts_.events.Record(
      kube::ReferenceTo(*decision.object), kube::EventType::kWarning, "SecondPassFailed",
      "SecondPass",
      TruncateEventMessage(PendingMessage(decision, scheduler.state().vocabulary(), queue)),
      kube::EventRank::kCommentary);
  return Progress::kNone;
}

void SecondPass::Place(const DecidedWrite& decided) {
  std::shared_ptr<const Decision> copy;
  const auto write = Keep(decided, copy);
  const DecidedWrites writes{parts_.manager, parts_.driver, parts_.writer, parts_.clock, self_};
  writes.Send(write, write->decision->object,
              [this, write](const Result<api::WorkloadStatus>& written) {
                if (!written) Fail(write->workload().meta.key(), written.error());
              });
}

void SecondPass::Evict(const DecidedWrite& write) {
  const api::ObjectKey key = write.workload().meta.key();
  const auto current = workloads_.Get(key);
  if (current == nullptr || !parts_.driver.IsDue(write, *current)) return parts_.read_back(key);
  const Eviction eviction = NoReplacement(*current);
  WorkloadPlan plan;
  plan.status = current->status;
  parts_.driver.Change(write, *current, *plan.status, parts_.clock.Now());
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
