#include "admission/controller/queues/in_use.h"

namespace berth::admission {

bool FlavorInUse(const kube::Informer<api::ClusterQueue>& queues, const std::string& flavor) {
  for (const auto& queue : queues.objects()) {
    for (const api::ResourceGroup& group : queue->spec.resource_groups) {
      for (const api::FlavorQuotas& quotas : group.flavors) {
        if (quotas.flavor == flavor) return true;
      }
    }
  }
  return false;
}

bool CheckInUse(const kube::Informer<api::ClusterQueue>& queues, const std::string& check) {
  for (const auto& queue : queues.objects()) {
    for (const api::AdmissionCheckRule& rule : queue->spec.admission_checks) {
      if (rule.check == check) return true;
    }
  }
  return false;
}

bool TopologyInUse(const kube::Informer<api::ResourceFlavor>& flavors,
                   const std::string& topology) {
  for (const auto& flavor : flavors.objects()) {
    if (flavor->topology_name == topology) return true;
  }
  return false;
}

}  // namespace berth::admission
