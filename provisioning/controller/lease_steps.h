// provisioning/controller/lease_steps.h — the writes of leases on Nodes (provisioning/lease.h).
// Each names the node's resourceVersion.
//
// Without the right to patch nodes no node is reused: the first refusal is emitted as an event and
// logged, and capacity is asked for; ten minutes later leases are tried again.
//
// Threads: one Executor, that of the manager. Errors: of the API; kConflict where the node has
// changed meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/write_steps.h"
#include "provisioning/controller/node_view.h"
#include "provisioning/decide.h"

namespace berth::provisioning {

class LeaseSteps {
 public:
  LeaseSteps(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
             NodeView& nodes);

  bool AreRefused() const;
  kube::Step Take(std::shared_ptr<const api::Workload> workload, const TakeLease& action);
  kube::Step Release(const ReleaseLease& action);

 private:
  kube::Step Write(const std::string& node, kube::Json metadata,
                   std::function<void(const Error&)> refused);

  kube::Manager& manager_;
  const Clock& clock_;
  kube::EventRecorder& events_;
  NodeView& nodes_;
  std::optional<SteadyTime> refused_at_;
};

}  // namespace berth::provisioning
