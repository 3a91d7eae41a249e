// tests/faults/policy_play.h — the rules of ProvisioningPolicies in a story. The
// policy named `chain` of a story has limits, races, budgets and standing nodes.
//
// Rules:
//   dearer-than-limit  a ProvisioningRequest is made in a step whose price is above the limit, in
//                      every recent version of the policy
//   race-too-wide      more requests of one Workload and check wait than any recent version lets
//                      race
//   over-budget        a request is made whose cost is above the budget of a Workload, or of what
//                      the LocalQueue has left of the day, in every recent version. The day's
//                      requests count that were made under a budget in every recent version and
//                      have capacity or wait for capacity.
// and of states that may exist for a moment:
//   two-winners        two requests of one Workload and check have capacity for the same pods
//   loser-left         a check is Ready, and beside the request with capacity another one lives
//   waits-past-limit   a request waits longer than its step may; not that of a later part of a job
//                      that is asked for in parts
//   lease-left         a node is leased to a Workload that is gone, finished or without quota
//   placeholder-left   a pod holds a node for such a Workload
//   node-kept          a node stands, and the policy has no window
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/faults/player.h"

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
    std::optional<std::int64_t> nano_price;  // billionths of USD for a node and hour
    std::optional<std::int64_t> nano_price_limit;
  };
  using Steps = std::map<std::string, Step>;  // by name; empty: there is no policy
  struct Version {
    SteadyTime until = SteadyTime::max();
    Steps steps;
    std::int64_t race_width = 1;
    bool prewarms = false;
    // Budgets that are kept, in nano-dollars; nullopt: none.
    std::optional<std::int64_t> workload_budget;
    std::optional<std::int64_t> day_budget;
  };
  struct Request {
    std::string owner_uid;
    std::string check;  // includes the Workload's name: the name without the attempt
    std::string step;
    std::string part;   // request_part.h
    std::string queue;  // namespace/name of the LocalQueue
    WallTime created{};
    std::int64_t pods = 0;
    std::int64_t cost = 0;  // nano-dollars; 0: made without a budget
    bool divided = false;
    bool lives = false;    // neither over nor being deleted
    bool granted = false;  // has capacity
  };
  using QueueDay = std::pair<std::string, std::int64_t>;  // LocalQueue, days since 1970

  static Version ReadPolicy(const local::Json& policy);
  static Request ReadRequest(const std::string& name, const local::Json& object);
  static QueueDay DayOf(const Request& request);
  void SeePolicy(const local::Json* object);
  void SeeRequest(const Key& key, const local::Json* object);
  void SeeNode(const std::string& name, const local::Json* object);
  void SeePod(const Key& key, const local::Json* object);
  bool HasCapacity(const Request& request) const;
  void FindLeftovers(Findings& findings) const;
  bool SomeRecent(const std::function<bool(const Version&)>& is_so) const;
  void CheckPrice(const Key& key, const Request& request);
  void CheckWidth(const Key& key, const Request& request);
  void CheckBudget(const Key& key, Request& request);
  std::int64_t SpentBeside(const Key& key, const QueueDay& day) const;
  void FindLosers(Findings& findings) const;
  void FindLeases(Findings& findings) const;

  SimWorld& world_;
  Invariants& invariants_;
  std::deque<Version> versions_{Version{}};  // the recent ones; the last one is that of now
  std::map<Key, Request> requests_;
  std::map<QueueDay, std::int64_t> spent_;   // on requests that had capacity and are deleted
  std::map<std::string, Key> leases_;        // node → Workload
  std::map<Key, std::string> placeholders_;  // pod → UID of its Workload
  std::set<std::string> standing_;           // nodes
};

}  // namespace berth::sim
