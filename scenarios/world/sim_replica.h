// scenarios/world/sim_replica.h — one replica of `berth controller`, as a process that can die.
//
//     SimTransport ◀─ ApiClient ◀─ LeaderElector ─▶ Manager ◀─ all controllers
//
// Destruction is kill -9: sent requests still happen, without answers.
//
// Threads: one. All arguments must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admission/controller/configuration/configuration.h"
#include "admission/scheduler.h"
#include "base/clock.h"
#include "base/executor.h"
#include "kube/runtime/leader_election.h"
#include "local/apiserver/registry/registry.h"
#include "scenarios/world/sim_transport.h"
#include "scenarios/world/sim_webhooks.h"

namespace berth::sim {

struct SimReplicaOptions {
  std::string identity;
  // Null: a single replica without leader election.
  const kube::LeaderElectionOptions* election = nullptr;
  SimTransportOptions transport;
  admission::Configuration configuration;
  std::function<void()>
      on_lease_lost;  // called when the replica has stopped writing; destroy it then
};

class SimReplica {
 public:
  SimReplica(local::Registry& registry, SimWebhooks& webhooks, Executor& executor,
             const Clock& clock, SimReplicaOptions options);
  ~SimReplica();
  SimReplica(const SimReplica&) = delete;
  SimReplica& operator=(const SimReplica&) = delete;

  const std::string& identity() const { return identity_; }
  SimTransport& transport();
  bool controllers_running() const;
  std::vector<std::string> NotSynced() const;
  const admission::Scheduler& scheduler() const;

 private:
  struct Parts;
  const std::string identity_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::sim
