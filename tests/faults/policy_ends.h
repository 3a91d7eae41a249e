// tests/faults/policy_ends.h — the rules of how the policy `chain` ends an attempt, or
// all of them: `whenExhausted`, `rejectHumanCauses`, `bootTimeoutSeconds`, `evictBeforeSeconds`.
//
// Rules:
//   asks-though-held    a request is made for a Workload that the policy holds after its last step
//   leaves-though-held  a check gives the quota of such a Workload back, or rejects it
//                       (no version of the policy came since the Workload was held, nor shortly
//                       before)
//   rejected-unasked    a check rejects a Workload after the last step, and no recent version
//                       of the policy rejects
//   not-rejected        a check lets a Workload begin again after a failure that a person has to
//                       mend, and every recent version rejects for such a failure
// and of states that may exist for a moment:
//   boots-too-long      pods have no node although their capacity came longer ago than the policy
//                       lets nodes boot; not those of a job that is asked for in parts
//   stays-to-the-end    a Workload keeps capacity so close to its end that the policy has it leave
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/player.h"

namespace berth::sim {

class PolicyEnds final : public Player {
 public:
  PolicyEnds(SimWorld& world, Invariants& invariants) : world_(world), invariants_(invariants) {}

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
  struct Version {
    SteadyTime until = SteadyTime::max();
    bool rejects = false;               // whatever the failure
    bool rejects_human_causes = false;  // failures that a person has to mend
    std::int64_t boot_seconds = 0;      // 0: without limit
    std::int64_t leave_seconds = 0;     // before the end of capacity; 0: it does not leave
  };
  // The check of a Workload that follows the policy.
  struct Answer {
    std::string uid;  // the uid of the Workload
    std::string state;
    std::string message;
    WallTime since{};
    std::string last_failure;  // the reason; empty: none is remembered
  };
  struct Capacity {
    std::string owner_uid;
    bool divided = false;
    bool came = false;             // and is not over
    std::optional<WallTime> ends;  // nullopt: unknown
  };
  struct WaitingPod {
    std::string request;  // the capacity that it uses
    WallTime created{};
  };

  static Version ReadPolicy(const local::Json& policy);
  static Answer ReadAnswer(const local::Json& workload);
  static Capacity ReadCapacity(const local::Json& request);
  void SeePolicy(const local::Json* object);
  void SeeWorkload(const Key& key, const local::Json* object);
  void SeeRequest(const Key& key, const local::Json* object);
  void SeePod(const Key& key, const local::Json* object);
  bool SomeRecent(const std::function<bool(const Version&)>& is_so) const;
  bool IsHeld(const std::string& uid) const;
  void CheckAnswer(const Key& key, const Answer& answer);
  // The answer of a Workload with quota; null: there is none.
  const Answer* AnswerOf(const Capacity& capacity) const;
  void FindSlowNodes(Findings& findings) const;
  void FindLateLeavers(Findings& findings) const;

  SimWorld& world_;
  Invariants& invariants_;
  std::deque<Version> versions_{Version{}};  // the recent ones; the last one is that of now
  std::map<std::string, SteadyTime> held_;   // UIDs of Workloads → since when
  std::map<Key, Answer> answers_;            // answers for Workloads
  std::map<Key, Capacity> capacities_;       // what ProvisioningRequests have
  std::map<Key, WaitingPod> waiting_;        // pods without a node
};

}  // namespace berth::sim
