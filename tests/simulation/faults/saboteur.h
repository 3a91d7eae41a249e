// tests/simulation/faults/saboteur.h — makes the faults of a story happen in its world.
//
// Threads: one. The world must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/simulation/faults/story.h"
#include "tests/simulation/sim_world.h"

namespace berth::sim {

class Saboteur {
 public:
  // `more`: asked for requests that the story leaves alone; may be null.
  Saboteur(const Story& story, SimWorld& world,
           std::function<Fault(const kube::ApiRequest& request)> more);
  Saboteur(const Saboteur&) = delete;
  Saboteur& operator=(const Saboteur&) = delete;

  void Begin();
  // From now on nothing goes wrong. Controllers that are away stay so until their time.
  void End();
  // Until when somebody who waits for things to be put right has to wait in vain.
  SteadyTime trouble_until() const { return trouble_until_; }

  std::function<void(const std::string& what)> on_blow;
  std::function<void()> on_crash;

 private:
  Fault FaultFor(const kube::ApiRequest& request);
  void Strike(const Blow& blow);
  void Crash(Duration away);
  void Trouble(Duration span);

  const Story& story_;
  SimWorld& world_;
  std::function<Fault(const kube::ApiRequest& request)> more_;
  SteadyTime start_{};
  SteadyTime trouble_until_{};
  bool over_ = false;
  std::vector<Random> dice_;  // one for each span
  bool dying_ = false;
  const Blow* crash_ = nullptr;  // armed
  std::int64_t writes_left_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::sim
