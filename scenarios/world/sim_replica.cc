#include "scenarios/world/sim_replica.h"

#include <utility>

#include "base/seed.h"
#include "kube/client/api_client.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "program/controller_set.h"

namespace berth::sim {

struct SimReplica::Parts {
  Parts(local::Registry& registry, SimWebhooks& all_webhooks, Executor& executor,
        const Clock& clock, SimReplicaOptions options)
      : transport(registry, executor, std::move(options.transport)),
        client(transport, executor),
        manager(client, executor),
        events(client, clock, {.controller = "kueue-admission", .instance = "sim"}),
        set(manager, clock, events, metrics, options.configuration, {.cloud_pools = true}),
        webhooks(all_webhooks),
        served(webhooks.Serve(set.Reviews())) {
    manager.StartInformers();
    if (options.election == nullptr) {
      manager.StartControllers();
      return;
    }
    kube::LeaderElectionOptions election = *options.election;
    election.identity = options.identity;
    election.seed = SeedFrom(options.identity);
    elector = std::make_unique<kube::LeaderElector>(
        client, clock, std::move(election), [this] { manager.TakeOver(); },
        [this, lost = std::move(options.on_lease_lost)] {
          manager.Stop();
          lost();
        });
    elector->Start();
  }
  ~Parts() {
    webhooks.Withdraw(served);
    elector.reset();
    manager.Stop();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  SimTransport transport;
  kube::ApiClient client;
  kube::Manager manager;
  kube::Metrics metrics;
  kube::EventRecorder events;
  program::ControllerSet set;
  SimWebhooks& webhooks;
  const int served;
  std::unique_ptr<kube::LeaderElector> elector;
};

SimReplica::SimReplica(local::Registry& registry, SimWebhooks& webhooks, Executor& executor,
                       const Clock& clock, SimReplicaOptions options)
    : identity_(options.identity),
      parts_(std::make_unique<Parts>(registry, webhooks, executor, clock, std::move(options))) {}

SimReplica::~SimReplica() = default;

SimTransport& SimReplica::transport() { return parts_->transport; }

bool SimReplica::controllers_running() const { return parts_->manager.controllers_running(); }

std::vector<std::string> SimReplica::NotSynced() const { return parts_->manager.NotSynced(); }

const admission::Scheduler& SimReplica::scheduler() const { return parts_->set.scheduler(); }

}  // namespace berth::sim
