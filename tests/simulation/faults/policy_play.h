// tests/simulation/faults/policy_play.h — the rules of ProvisioningPolicies in a story. A story has
// at most one policy.
//
// Rules:
//   dearer-than-limit  a ProvisioningRequest is made in a step whose price is above the limit, in
//                      every recent version of the policy
// and of states that may exist for a moment:
//   two-winners        two requests of one Workload and check have capacity
//   loser-left         a check is Ready, and beside the request with capacity another one lives
//   waits-past-limit   a request waits longer than its step may
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/faults/player.h"

namespace berth::sim {

class PolicyPlay final : public Player {
 public:
  PolicyPlay(SimWorld& world, Invariants& invariants) : world_(world), invariants_(invariants) {}

  void Begin() override {}
  void See(const local::StoreEvent& event, bool by_story) override;
  void Find(Findings& findings) const override;
  bool IsOver(const CouldRun& /*could_run*/) const override { return true; }
  void CheckRest(const CouldRun& /*could_run*/) override {}
  bool Owns(const WorkloadFacts& /*workload*/) const override { return false; }
  bool Keeps(const Key& /*pod*/) const override { return false; }
  void Drop(const WorkloadFacts& /*workload*/, std::vector<std::string>& /*lines*/) override {}
  std::vector<std::string> End() override { return {}; }
  void ExpectNothingLeft() override {}

 private:
  struct Step {
    std::int64_t max_wait_seconds = 0;       // 0: none
    std::optional<std::int64_t> nano_price;  // of a node and hour
    std::optional<std::int64_t> nano_price_limit;
  };
  using Steps = std::map<std::string, Step>;  // by name; empty: there is no policy
  struct Version {
    SteadyTime until = SteadyTime::max();
    Steps steps;
  };
  struct Request {
    std::string owner_uid;
    std::string check;  // with the Workload's name: the name without the attempt
    std::string step;
    WallTime created{};
    bool lives = false;    // neither over nor being deleted
    bool granted = false;  // has capacity
  };

  static Steps ReadSteps(const local::Json& policy);
  static Request ReadRequest(const std::string& name, const local::Json& object);
  void SeePolicy(const local::Json* object);
  void CheckPrice(const Key& key, const Request& request);
  void FindLosers(Findings& findings) const;

  SimWorld& world_;
  Invariants& invariants_;
  std::deque<Version> versions_{Version{}};  // the recent ones; the last one is that of now
  std::map<Key, Request> requests_;
};

}  // namespace berth::sim
