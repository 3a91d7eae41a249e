// tests/golden/world.h — a ControlPlane (simulation/control_plane.h) for stories in their recorded
// form: objects and events are read from JSON, cycles and states are written as JSON.
//
// Threads: one. Errors: kInvalid for an object or event it cannot read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "admission/driver.h"
#include "api/workload.h"
#include "base/clock.h"
#include "base/result.h"
#include "simulation/control_plane.h"

namespace berth::golden {

using Json = nlohmann::json;

class World {
 public:
  static Result<admission::DriverOptions> OptionsOf(const Json& story_config,
                                                    const admission::OwnRules& own_rules);

  explicit World(const admission::DriverOptions& options) : core_(options) {}

  void SetTime(WallTime now) { core_.SetTime(now); }
  void Advance(Duration by) { core_.Advance(by); }

  Status ApplyObject(const Json& object);
  Status ApplyEvent(const Json& event);

  bool HasHeads() const { return core_.HasHeads(); }
  // Runs a cycle and carries its decisions out. Returns the recorded form of the cycle.
  Json RunCycle();
  // The names of the woken workloads, sorted.
  std::vector<std::string> RunWakeUps();
  // The job of an evicted workload has stopped; the reason of its eviction, empty if it was not
  // evicted.
  std::string Release(const std::string& name);
  std::vector<std::string> Evicted() const;  // not yet released, in order of name

  // The recorded form of the state at the end of a step.
  Json State() const;

  const simulation::ControlPlane& core() const { return core_; }

 private:
  Json Describe(const admission::Decision& decision) const;
  Json DescribeAdmitted(const api::Workload& workload) const;
  Json UsageOf(admission::NodeId node) const;
  Status ApplyWorkloadEvent(const std::string& op, const Json& event);
  Status Delete(const Json& event);

  simulation::ControlPlane core_;
  std::map<std::string, Json> raw_;  // last spec by kind and name: an equal update has no effect
};

std::string NameOf(const api::ObjectMeta& meta);  // name, or namespace/name outside default

}  // namespace berth::golden
