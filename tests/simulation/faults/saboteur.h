// tests/simulation/faults/saboteur.h — makes the faults of a story happen in its world.
//
// Threads: one. The world must outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/simulation/faults/story.h"
#include "tests/simulation/sim_world.h"

namespace berth::sim {

// Names of all that a story can do, as counts() has them.
const std::vector<std::string>& FaultKinds();

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

  // How often each kind of fault has truly happened.
  const std::map<std::string, std::int64_t>& counts() const { return counts_; }

  std::function<void(const std::string& what)> on_blow;
  std::function<void()> on_crash;
  std::function<void(const kube::ApiRequest& request, const std::string& identity)> on_request;

 private:
  static constexpr int kNobody = -1;

  Fault FaultFor(const kube::ApiRequest& request);
  Fault Judge(const kube::ApiRequest& request);
  void StrikeWatches(const Blow& blow);
  void CutOff(const Blow& blow);
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
  int dying_ = kNobody;       // the replica whose requests get nowhere any more
  int cut_off_ = kNobody;
  SteadyTime cut_off_until_{};
  bool cut_off_writes_happen_ = false;
  const Blow* crash_ = nullptr;  // armed
  std::int64_t writes_left_ = 0;
  std::map<std::string, std::int64_t> counts_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::sim
