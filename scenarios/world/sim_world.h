// scenarios/world/sim_world.h — everything `berth up` runs, in one thread and virtual time.
//
//     Store (memory) ◀─ Registry ◀─ Api ◀─ Cluster (Job controller, binder, …), CloudDriver
//                          ▲                  └─ SimRunner: programs that only take time
//                          └─ SimReplica: all controllers; several elect a leader
//
// The same seed and the same calls give the same history: compare trace_hash().
//
// Threads: one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/controller/configuration.h"
#include "admission/scheduler.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/runtime/leader_election.h"
#include "local/apiserver/api.h"
#include "local/apiserver/store/store.h"
#include "local/cloud/cloud_step.h"
#include "scenarios/world/sim_executor.h"
#include "scenarios/world/sim_replica.h"
#include "scenarios/world/sim_transport.h"

namespace berth::sim {

struct SimWorldOptions {
  std::uint64_t seed = 1;
  local::cloud::CloudTimes cloud_times;
  admission::Configuration configuration;  // what `berth controller --config` reads
  SimTransportOptions transport;
  int replicas = 1;  // replicas of the controllers; more than one elect a leader
  kube::LeaderElectionOptions election;
};

class SimWorld {
 public:
  // Applies the project's CRDs, starts everything and waits until the controllers run.
  static Result<std::unique_ptr<SimWorld>> Start(SimWorldOptions options);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  FakeClock& clock() { return clock_; }
  SimExecutor& executor() { return executor_; }
  // Calls `fault` for every later request of the controllers; asking() returns the requesting
  // replica. Null: no faults.
  void SetFault(std::function<Fault(const kube::ApiRequest& request)> fault) {
    fault_ = std::move(fault);
  }
  // Calls the hook with every answer that reaches the controllers.
  void SetAnswerHook(
      std::function<void(const kube::ApiRequest& request, const kube::ApiResponse& response)>
          hook) {
    answer_hook_ = std::move(hook);
  }
  local::WholeApi& api();
  local::Store& store();
  SimTransport& transport();  // the transport of the leader
  // Calls `act` for every running replica.
  void ForEachTransport(const std::function<void(SimTransport& transport)>& act);
  WallTime started_at() const { return started_at_; }  // when the controllers had started

  // Does what kubectl apply --server-side does. Stops at the first refusal.
  local::ApiResult<std::vector<local::Object>> Apply(const std::vector<local::Json>& objects);
  local::ApiResult<local::Object> ApplyOne(const local::Json& object);
  // nullopt: no such kind. `word`: a kind, plural, singular or short name, in any case.
  std::optional<local::WholeApi::KindInfo> FindKind(std::string_view word);

  // Lets virtual time pass.
  void RunFor(Duration span) { executor_.RunFor(span); }
  bool RunUntil(const std::function<bool()>& holds, Duration limit);
  // Runs until nothing has been written for a second, at most a minute.
  void Settle();

  // Sets the configuration of controllers that start later.
  void Configure(admission::Configuration configuration);
  // kill -9 of the controllers, and their restart. False: the start failed.
  void StopControllers();
  bool StartControllers();
  // Starts the controllers without waiting until they run.
  void LaunchControllers();
  bool has_controllers() const;
  bool controllers_running() const;
  // Kills one replica, by its number from 0.
  void KillReplica(int number);
  void LaunchReplica(int number);
  // The number of the leading replica; -1: none.
  int leader() const;
  int asking() const { return asking_; }
  // The identity of the replica's present process; empty: none runs.
  std::string identity(int number) const;
  // The leader's scheduler; there must be a leader.
  const admission::Scheduler& scheduler() const;

  // GET of a path, as any client's.
  kube::ApiResponse Get(const std::string& path);

  std::int64_t revision() const;
  std::int64_t writes() const { return writes_; }  // without lease renewals
  std::uint64_t trace_hash() const;

 private:
  struct Parts;
  explicit SimWorld(SimWorldOptions options);
  Status Open();
  Status ApplyReviews();
  SimReplicaOptions ReplicaOptions(int number);
  void OnLeaseLost(int number);

  SimWorldOptions options_;
  FakeClock clock_;
  SimExecutor executor_{clock_};
  WallTime started_at_{};
  std::function<Fault(const kube::ApiRequest& request)> fault_;
  std::function<void(const kube::ApiRequest& request, const kube::ApiResponse& response)>
      answer_hook_;
  int asking_ = 0;
  int launches_ = 0;
  std::int64_t writes_ = 0;
  std::vector<std::string> reviewed_ = {"batch/job"};  // the frameworks whose reviews are applied
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::sim
