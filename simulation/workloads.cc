#include "simulation/workloads.h"

#include <cstdint>

#include "api/condition.h"
#include "api/reasons.h"
#include "base/assert.h"
#include "integrations/release.h"

namespace berth::simulation {
namespace {

constexpr std::size_t kNotStored = SIZE_MAX;

}  // namespace

Workloads::Workloads(admission::Driver& driver, std::size_t count)
    : driver_(driver), scheduler_(driver.scheduler()), objects_(count) {}

void Workloads::Note(std::size_t number) {
  const auto id =
      static_cast<std::size_t>(scheduler_.workloads().Find(objects_[number]->meta.key()).value());
  if (id >= number_by_id_.size()) number_by_id_.resize(id + 1, kNotStored);
  number_by_id_[id] = number;
}

void Workloads::Set(std::size_t number, std::shared_ptr<const api::Workload> object, WallTime now) {
  if (number >= objects_.size()) objects_.resize(number + 1);
  objects_[number] = object;
  scheduler_.ApplyWorkload(std::move(object), now);
  Note(number);
}

void Workloads::Forget(std::size_t number) {
  std::erase_if(changed_, [number](const auto& change) { return change.first == number; });
  scheduler_.Forget<api::Workload>(objects_[number]->meta.key());
  objects_[number].reset();
}

std::size_t Workloads::NumberOf(admission::WorkloadId id) const {
  const std::size_t number = number_by_id_.at(static_cast<std::size_t>(id));
  BERTH_ASSERT(number != kNotStored);
  return number;
}

api::Workload& Workloads::Edit(std::size_t number) {
  if (changed_.empty() || changed_.back().first != number) {
    auto copy = std::make_shared<api::Workload>(*objects_[number]);
    objects_[number] = copy;
    changed_.emplace_back(number, std::move(copy));
  }
  return *changed_.back().second;
}

void Workloads::Write(std::size_t number, const admission::DecidedWrite& write, WallTime now) {
  api::Workload& workload = Edit(number);
  driver_.Change(write, workload, workload.status, now);
}

void Workloads::Release(std::size_t number, WallTime now) {
  api::Workload& workload = Edit(number);
  workload.status = integrations::StatusAfterRelease(workload, now);
}

void Workloads::Finish(std::size_t number, WallTime now, bool failed) {
  if (api::IsTrue(objects_[number]->status.conditions, api::kFinished)) return;
  api::Workload& workload = Edit(number);
  api::SetCondition(workload.status.conditions, {.type = api::kFinished,
                                                 .status = api::ConditionStatus::kTrue,
                                                 .reason = failed ? api::kFailed : api::kSucceeded,
                                                 .message = "",
                                                 .last_transition_time = CutToSeconds(now),
                                                 .observed_generation = workload.meta.generation});
}

void Workloads::ReleaseEvicted(WallTime now) {
  for (const auto& [number, object] : changed_) {
    if (object->status.admission && api::IsTrue(object->status.conditions, api::kEvicted)) {
      object->status = integrations::StatusAfterRelease(*object, now);
    }
  }
}

void Workloads::Deliver(WallTime now) {
  for (auto& [number, object] : changed_) {
    scheduler_.ApplyWorkload(std::move(object), now);
    Note(number);
  }
  changed_.clear();
}

}  // namespace berth::simulation
