#include "kube/runtime/event_queue.h"

namespace berth::kube {

EventQueue::Pushed EventQueue::Push(const EventSeries& series) {
  const std::uint64_t place = next_place_++;
  const auto [newest, is_only] = newest_.try_emplace({series.object, series.reason}, place);
  if (!is_only && superseded_ == Superseded::kGivesWay) {
    return {newest->second, std::exchange(waiting_.at(newest->second), &series)};
  }
  if (!is_only) older_.insert(std::exchange(newest->second, place));
  waiting_.emplace(place, &series);
  if (waiting_.size() <= bound_) return {place, nullptr};
  return {place, Take(older_.empty() ? waiting_.begin() : waiting_.find(*older_.begin()))};
}

const EventSeries* EventQueue::Pop() { return waiting_.empty() ? nullptr : Take(waiting_.begin()); }

void EventQueue::Remove(std::uint64_t place) {
  if (const auto found = waiting_.find(place); found != waiting_.end()) Take(found);
}

const EventSeries* EventQueue::Take(Waiting::iterator which) {
  const auto [place, series] = *which;
  waiting_.erase(which);
  older_.erase(place);
  const auto newest = newest_.find({series->object, series->reason});
  if (newest != newest_.end() && newest->second == place) newest_.erase(newest);
  return series;
}

}  // namespace berth::kube
