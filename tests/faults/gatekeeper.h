// tests/faults/gatekeeper.h — the controller of admission checks named "gate…": answers
// after a delay, sometimes with Retry or Rejected.
//
// Threads: one. The world must outlive it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/random.h"
#include "scenarios/world/sim_world.h"
#include "tests/faults/truth.h"

namespace berth::sim {

class Gatekeeper {
 public:
  Gatekeeper(SimWorld& world, std::uint64_t seed) : world_(world), random_(seed + 0x6A7E) {}
  Gatekeeper(const Gatekeeper&) = delete;
  Gatekeeper& operator=(const Gatekeeper&) = delete;

  void See(const WorkloadFacts& workload);
  // Answers only Ready after this call.
  void BecomeKind() { is_kind_ = true; }

 private:
  struct Question {
    Key workload;
    std::string uid;
    std::string check;
  };
  void AnswerLater(Duration delay, const Question& question);
  void Answer(const Question& question);

  SimWorld& world_;
  Random random_;
  bool is_kind_ = false;
  std::set<std::pair<std::string, std::string>> asked_;  // UID, check
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::sim
