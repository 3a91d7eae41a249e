// tests/faults/play_rules.h — histories, written into a store by hand, before the rules
// of a played controller.
//
// Threads: one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/world/sim_world.h"
#include "tests/faults/history.h"
#include "tests/faults/player.h"

namespace berth::sim {

class PlayRulesTest : public HistoryTest {
 protected:
  PlayRulesTest() : world_(std::move(*SimWorld::Start({}))) {}

  void Let(std::unique_ptr<Player> player) {
    player_ = std::move(player);
    store_->AddListener([this](const std::vector<local::EventPtr>& events) {
      for (const auto& event : events) player_->See(*event, actor_ == Invariants::Actor::kStory);
    });
  }
  // The rules of the present findings.
  std::string Found() const {
    Findings findings;
    player_->Find(findings);
    std::string rules;
    for (const auto& [what, text] : findings) rules += (rules.empty() ? "" : " ") + what.first;
    return rules;
  }
  // A Workload of the name and its owner's; without `cpu` it has no quota.
  void PutFinished(const std::string& name, const std::string& job) {
    PutWorkload(name, job, "1", true);
    Json workload = *store_->GetLatest({kWorkloads, "default", name})->json();
    workload["status"]["conditions"].push_back(Condition("Finished", true));
    Put(kWorkloads, "default", name, workload);
  }
  static Json Pod(bool gated, const std::string& phase) {
    Json pod{{"spec", {{"nodeSelector", {{"pool", "f"}}}}}, {"status", {{"phase", phase}}}};
    if (gated) {
      pod["spec"]["schedulingGates"] = Json::array({{{"name", "kueue.x-k8s.io/admission"}}});
    }
    return pod;
  }

  std::unique_ptr<SimWorld> world_;
  std::unique_ptr<Player> player_;
};

}  // namespace berth::sim
