// tests/golden/world.h — a cluster in miniature around one Scheduler, played by the rules of the
// golden stories: objects in memory, every write delivered at once, times cut to whole seconds, the
// workload reconciler (admission/lifecycle) and a job controller that stops evicted workloads when
// told.
//
// Threads: one. Errors: kInvalid for an object or event it cannot read.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "admission/scheduler.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "base/result.h"

namespace berth::golden {

using Json = nlohmann::json;

class World {
 public:
  static Result<admission::SchedulerConfig> ConfigOf(const Json& story_config,
                                                     const admission::OwnRules& own_rules);

  explicit World(const admission::SchedulerConfig& config) : scheduler_(config) {}

  void SetTime(WallTime now) { now_ = now; }
  void Advance(Duration by) { now_ += by; }

  Status ApplyObject(const Json& object);
  Status ApplyEvent(const Json& event);

  bool HasHeads() const { return scheduler_.HasHeads(); }
  // Runs a cycle and makes its decisions true. The recorded form of a cycle.
  Json RunCycle();
  // Names of the woken, sorted.
  std::vector<std::string> RunWakeUps();
  // The job of an evicted workload has stopped; the reason of its eviction, empty if it was not
  // evicted.
  std::string Release(const std::string& name);
  std::vector<std::string> Evicted() const;  // not yet released, in order of name

  // The recorded form of the state at the end of a step.
  Json State() const;

  const admission::Scheduler& scheduler() const { return scheduler_; }

 private:
  api::Workload* Find(const Json& event);
  WallTime Stamp() const { return CutToSeconds(now_); }
  void Store(const api::Workload& workload);  // and tells the scheduler
  void React();                               // until nothing changes
  bool ReactTo(api::Workload& workload);
  void Perform(const admission::Decision& decision);
  Json Describe(const admission::Decision& decision) const;
  Json DescribeAdmitted(const api::Workload& workload) const;
  Json UsageOf(admission::NodeId node) const;
  Status ApplyWorkloadEvent(const std::string& op, const Json& event);
  Status Delete(const Json& event);

  admission::Scheduler scheduler_;
  WallTime now_{};
  std::map<api::ObjectKey, api::Workload> workloads_;
  std::map<std::string, api::ClusterQueue> cluster_queues_;
  std::map<api::ObjectKey, api::LocalQueue> local_queues_;
  std::map<std::string, Json> raw_;  // last spec by kind and name: an equal update is none
};

std::string NameOf(const api::ObjectMeta& meta);  // name, or namespace/name outside default

}  // namespace berth::golden
