// The Scheduler's dealings with nodes, pods and the second pass.
#include "admission/scheduler.h"

namespace berth::admission {

// Received, not yet used: no flavor places pods so far.
void Scheduler::ApplyNode(const api::Node& /*object*/) {}
void Scheduler::ForgetNode(const std::string& /*name*/) {}
void Scheduler::ApplyPod(const api::Pod& /*object*/) {}
void Scheduler::ForgetPod(const api::ObjectKey& /*key*/) {}

std::optional<WallTime> Scheduler::NextSecondPass() const { return std::nullopt; }

}  // namespace berth::admission
