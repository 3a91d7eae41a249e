// scenarios/world/sim_world.h — everything `berth up` runs, in one thread and virtual time.
//
//     Store (memory) ◀─ Registry ◀─ Api ◀─ Cluster (Job controller, binder, …), CloudDriver
//                          ▲                  └─ SimRunner: programs that only take time
//                          └─ SimControllers: all controllers; several replicas elect a leader
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

#include "base/clock.h"
#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/apiserver/store/store.h"
#include "local/cloud/cloud_step.h"
#include "scenarios/world/sim_controllers.h"
#include "scenarios/world/sim_executor.h"

namespace berth::sim {

struct SimWorldOptions {
  std::uint64_t seed = 1;
  local::cloud::CloudTimes cloud_times;
  SimControllersOptions controllers;
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
  SimControllers& controllers();
  local::WholeApi& api();
  local::Store& store();
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

  // Answers a GET of the path as for any client.
  kube::ApiResponse Get(const std::string& path);

  std::int64_t revision() const;
  std::int64_t writes() const { return writes_; }  // without lease renewals
  std::uint64_t trace_hash() const;

 private:
  struct Parts;
  explicit SimWorld(SimWorldOptions options);
  Status Open();

  SimWorldOptions options_;
  FakeClock clock_;
  SimExecutor executor_{clock_};
  WallTime started_at_{};
  std::int64_t writes_ = 0;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::sim
