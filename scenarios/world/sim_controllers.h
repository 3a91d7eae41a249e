// scenarios/world/sim_controllers.h — the controllers of `berth up` as processes: replicas that are
// started, killed and started again.
//
//     SimControllers ─▶ SimReplica 0, 1, … ─▶ EmbeddedApi
//
// A replica that has lost its lease ends, and is started again after three seconds.
//
// Threads: one. All arguments must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admission/controller/configuration/configuration.h"
#include "admission/scheduler.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/runtime/leader_election.h"
#include "scenarios/world/embedded_api.h"
#include "scenarios/world/sim_executor.h"
#include "scenarios/world/sim_replica.h"
#include "scenarios/world/sim_transport.h"
#include "scenarios/world/sim_webhooks.h"

namespace berth::sim {

struct SimControllersOptions {
  admission::Configuration configuration;  // what `berth controller --config` reads
  SimTransportOptions transport;
  int replicas = 1;  // more than one elect a leader
  kube::LeaderElectionOptions election;
};

class SimControllers {
 public:
  SimControllers(EmbeddedApi& api, SimWebhooks& webhooks, SimExecutor& executor, const Clock& clock,
                 SimControllersOptions options);
  SimControllers(const SimControllers&) = delete;
  SimControllers& operator=(const SimControllers&) = delete;

  // Sets the configuration of replicas that start later.
  void Configure(admission::Configuration configuration);
  // Applies the reviews of the configuration, starts all replicas and waits until one leads.
  // kDeadlineExceeded: no replica leads after two minutes.
  Status Start();
  // kill -9 of all replicas.
  void Stop();
  // Starts one replica, by its number from 0, without waiting. No effect if the replica runs.
  void Launch(int number);
  // kill -9 of one replica.
  void Kill(int number);

  // Whether any replica runs.
  bool launched() const;
  // Whether a replica leads.
  bool running() const { return leader() >= 0; }
  // The number of the leading replica; -1: none.
  int leader() const;
  // The identity of the replica's present process; empty: none runs.
  std::string identity(int number) const;
  // The leader's scheduler; there must be a leader.
  const admission::Scheduler& scheduler() const;

  // Calls `fault` for every later request; asking() returns the requesting replica. Null: no
  // faults.
  void SetFault(std::function<Fault(const kube::ApiRequest& request)> fault) {
    fault_ = std::move(fault);
  }
  int asking() const { return asking_; }
  // Calls the hook with every answer that reaches a replica.
  void SetAnswerHook(
      std::function<void(const kube::ApiRequest& request, const kube::ApiResponse& response)>
          hook) {
    answer_hook_ = std::move(hook);
  }
  SimTransport& transport();  // the transport of the leader
  // Calls `act` for every running replica.
  void ForEachTransport(const std::function<void(SimTransport& transport)>& act);

 private:
  Status ApplyReviews();
  SimReplicaOptions ReplicaOptions(int number);
  void OnLeaseLost(int number);

  EmbeddedApi& api_;
  SimWebhooks& webhooks_;
  SimExecutor& executor_;
  const Clock& clock_;
  SimControllersOptions options_;
  std::function<Fault(const kube::ApiRequest& request)> fault_;
  std::function<void(const kube::ApiRequest& request, const kube::ApiResponse& response)>
      answer_hook_;
  int asking_ = 0;
  int launches_ = 0;
  std::vector<std::string> reviewed_ = {"batch/job"};  // the frameworks whose reviews are applied
  std::vector<std::unique_ptr<SimReplica>> replicas_;  // null: not running
};

}  // namespace berth::sim
