// local/cloud/cloud_driver.h — runs the emulated cloud on an API: watches pools, nodes, requests
// and pods, calls StepCloud (cloud_step.h), performs its effects.
//
// The cloud waits until the API serves the kinds nodepools.cloud.berth.dev and
// provisioningrequests.autoscaling.x-k8s.io.
//
// Threads: tasks of the Executor that also drives `cache` (Cluster::cache()).
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/executor.h"
#include "local/apiserver/api.h"
#include "local/cloud/cloud_step.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cloud {

class CloudDriver {
 public:
  // `cache` is a Cluster's. With `machine`, this machine is a node (machine_node.h). Starts in a
  // task of `executor`. Stop the executor before destroying the driver.
  CloudDriver(Api& api, cluster::ObjectCache& cache, const Clock& clock, Executor& executor,
              CloudTimes times = {}, std::optional<MachineSize> machine = std::nullopt);
  CloudDriver(const CloudDriver&) = delete;
  CloudDriver& operator=(const CloudDriver&) = delete;

 private:
  void Begin();
  void StepAt(WallTime due);
  void Step();
  CloudView View();
  bool Perform(const CloudEffect& effect);  // false: repeat the step
  bool CreateOneNode(const CreateNode& effect);
  bool EditNode(const std::string& name, const std::string& subresource,
                const std::function<bool(Json&)>& edit);

  Api& api_;
  cluster::ObjectCache& cache_;
  const Clock& clock_;
  Executor& executor_;
  const CloudTimes times_;
  const std::optional<MachineSize> machine_;
  cluster::Writer writer_;
  cluster::ObjectEvents events_;
  bool is_tracking_ = false;
  std::optional<WallTime> next_step_;
  std::uint64_t ticket_ = 0;  // names the posted step; older tickets do nothing
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::local::cloud
