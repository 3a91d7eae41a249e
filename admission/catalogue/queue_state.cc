#include "admission/catalogue/queue_state.h"

namespace berth::admission {

std::string QueueState::ActiveReason() const {
  return inactive.empty() ? "Ready" : inactive.front().reason;
}

std::string QueueState::ActiveMessage() const {
  if (inactive.empty()) return "Can admit new workloads";
  if (deleting) return "Can't admit new workloads; clusterQueue is terminating";
  std::string text;
  for (const InactiveReason& reason : inactive) {
    text += (text.empty() ? "" : ", ") + reason.message;
  }
  return "Can't admit new workloads: " + text + ".";
}

}  // namespace berth::admission
