#include "simulation/workloads.h"

#include <cstdint>

#include "api/condition.h"
#include "api/reasons.h"
#include "base/assert.h"
#include "simulation/carry_out.h"

namespace berth::simulation {
namespace {

constexpr std::size_t kNotStored = SIZE_MAX;

}  // namespace

Workloads::Workloads(admission::Scheduler& scheduler, std::size_t count)
    : scheduler_(scheduler), objects_(count) {}

void Workloads::Note(std::size_t number) {
  const auto id = static_cast<std::size_t>(scheduler_.Find(objects_[number]->meta.key()).value());
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
  scheduler_.ForgetWorkload(objects_[number]->meta.key());
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

void Workloads::Reserve(std::size_t number, const admission::Decision& decision, WallTime now) {
  simulation::Reserve(scheduler_, decision, Edit(number), now);
}

void Workloads::Preempt(std::size_t number, const admission::Decision& decision,
                        const admission::Victim& victim, WallTime now) {
  simulation::Preempt(scheduler_, decision, victim, Edit(number), now);
}

void Workloads::Release(std::size_t number, WallTime now) {
  simulation::Release(Edit(number), now);
}

void Workloads::Finish(std::size_t number, WallTime now, bool failed) {
  simulation::Finish(Edit(number), now, failed);
}

void Workloads::ReleaseEvicted(WallTime now) {
  for (const auto& [number, object] : changed_) {
    if (object->status.admission && api::IsTrue(object->status.conditions, api::kEvicted)) {
      simulation::Release(*object, now);
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
