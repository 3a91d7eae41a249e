#include "integrations/controller/job_tables.h"

#include <utility>

namespace berth::integrations {

JobTables::JobTables(kube::Manager& manager)
    : flavors_(manager.InformerFor<api::ResourceFlavor>()),
      priority_classes_(manager.InformerFor<api::PriorityClass>()),
      workload_priority_classes_(manager.InformerFor<api::WorkloadPriorityClass>()) {
  const auto stale = [this](const auto&) { stale_ = true; };
  const auto stale_update = [this](const auto&, const auto&) { stale_ = true; };
  flavors_.AddHandler({.on_add = stale, .on_update = stale_update, .on_delete = stale});
  priority_classes_.AddHandler({.on_add = stale, .on_update = stale_update, .on_delete = stale});
  workload_priority_classes_.AddHandler(
      {.on_add = stale, .on_update = stale_update, .on_delete = stale});
}

void JobTables::Fill(JobSituation& situation) {
  if (std::exchange(stale_, false)) Refresh();
  situation.workload_priority_classes = &workload_priority_class_table_;
  situation.priority_classes = &priority_class_table_;
  situation.flavors = &flavor_table_;
}

void JobTables::Refresh() {
  flavor_table_.clear();
  priority_class_table_.clear();
  workload_priority_class_table_.clear();
  for (const auto& flavor : flavors_.objects()) flavor_table_[flavor->meta.name] = *flavor;
  for (const auto& each : priority_classes_.objects()) {
    priority_class_table_[each->meta.name] = *each;
  }
  for (const auto& each : workload_priority_classes_.objects()) {
    workload_priority_class_table_[each->meta.name] = *each;
  }
}

}  // namespace berth::integrations
