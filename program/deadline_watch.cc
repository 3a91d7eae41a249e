#include "program/deadline_watch.h"

#include "api/deadline.h"

namespace berth::program {
namespace {

constexpr char kInDanger[] = "berth_deadlines_in_danger";

}  // namespace

void DeadlineWatch::Tell(const api::Workload& workload, std::int32_t in_time) {
  const std::string* deadline = api::FindValue(workload.meta.annotations, api::kDeadlineAnnotation);
  if (deadline == nullptr) return;
  events_.Record(kube::ReferenceTo(workload), kube::EventType::kWarning, "DeadlineInDanger",
                 "DeadlineInDanger",
                 "the job ends by its deadline, " + *deadline + ", in " + std::to_string(in_time) +
                     " of 100 futures");
}

void DeadlineWatch::Show(const std::map<std::string, std::int64_t>& endangered) {
  for (const std::string& queue : shown_) {
    if (!endangered.contains(queue)) metrics_.RemoveGauge(kInDanger, {{"cluster_queue", queue}});
  }
  shown_.clear();
  for (const auto& [queue, count] : endangered) {
    shown_.insert(queue);
    metrics_.SetGauge(kInDanger, {{"cluster_queue", queue}}, static_cast<double>(count));
  }
}

}  // namespace berth::program
