// tests/faults/saboteur.h — makes the faults of a story happen in its world.
//
// Threads: one. The world must outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "scenarios/world/sim_world.h"
#include "tests/faults/story.h"

namespace berth::sim {

// The names of all faults of stories, as in counts().
const std::vector<std::string>& FaultKinds();

class Saboteur {
 public:
  // `more`: called for requests without a fault of the story; may be null.
  Saboteur(const Story& story, SimWorld& world,
           std::function<Fault(const kube::ApiRequest& request)> more);
  Saboteur(const Saboteur&) = delete;
  Saboteur& operator=(const Saboteur&) = delete;

  void Begin();
  // Ends all faults. Stopped controllers stay stopped until the end of their span.
  void End();
  // The end of the last fault: until then repairs cannot be expected.
  SteadyTime trouble_until() const { return trouble_until_; }

  // The number of faults of each kind so far.
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
  Duration ArrivalOfLateWrites() const;
  void Trouble(Duration span);

  const Story& story_;
  SimWorld& world_;
  std::function<Fault(const kube::ApiRequest& request)> more_;
  SteadyTime start_{};
  SteadyTime trouble_until_{};
  SteadyTime late_writes_until_{};  // the arrival of the last overtaken request
  bool over_ = false;
  std::vector<Random> dice_;  // one for each span
  int dying_ = kNobody;       // the replica whose requests are all lost
  int cut_off_ = kNobody;
  SteadyTime cut_off_until_{};
  bool cut_off_writes_happen_ = false;
  const Blow* crash_ = nullptr;  // armed
  std::int64_t writes_left_ = 0;
  std::map<std::string, std::int64_t> counts_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::sim
