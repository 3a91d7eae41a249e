#include "admission/catalogue/flavor_table.h"

#include <utility>

namespace berth::admission {

void FlavorTable::Set(FlavorId id, std::shared_ptr<const api::ResourceFlavor> object,
                      GpuSharing sharing) {
  const auto slot = static_cast<std::size_t>(id);
  if (slot >= flavors_.size()) {
    flavors_.resize(slot + 1);
    takes_all_pods_.resize(slot + 1, 0);
  }
  takes_all_pods_[slot] =
      object->node_labels.empty() && object->node_taints.empty() && sharing.empty() ? 1 : 0;
  flavors_[slot] = {std::move(object), std::move(sharing)};
}

void FlavorTable::Remove(FlavorId id) {
  const auto slot = static_cast<std::size_t>(id);
  if (slot >= flavors_.size()) return;
  flavors_[slot] = {};
  takes_all_pods_[slot] = 0;
}

const std::shared_ptr<const api::ResourceFlavor>& FlavorTable::Find(FlavorId id) const {
  static const std::shared_ptr<const api::ResourceFlavor> none;
  const auto slot = static_cast<std::size_t>(id);
  return slot < flavors_.size() ? flavors_[slot].object : none;
}

const GpuSharing& FlavorTable::sharing(FlavorId id) const {
  static const GpuSharing none;
  const auto slot = static_cast<std::size_t>(id);
  return slot < flavors_.size() ? flavors_[slot].sharing : none;
}

}  // namespace berth::admission
