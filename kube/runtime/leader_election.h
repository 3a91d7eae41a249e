// kube/runtime/leader_election.h — one of several replicas leads, by a coordination.k8s.io Lease.
//
// Timing (client-go's words): a follower takes a lease over when its record has not changed for
// lease_duration by the follower's own steady clock, at most a retry_period later than the leader's
// end; the leader renews every retry_period and gives
// up renew_deadline after it asked for its last renewal that succeeded, whether or not a later
// request is still unanswered. Clocks of machines are never compared.
//
// on_stopped_leading means: stop acting at once; the usual way is to exit.
//
// Threads: one Executor.
// Source: client-go tools/leaderelection.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "kube/client/api_client.h"

namespace berth::kube {

struct LeaderElectionOptions {
  api::ObjectKey lease{"kueue-system", "c1f6bfd2.kueue.x-k8s.io"};
  std::string identity;  // unique per replica
  // A holder whose identity begins so is known to be gone: its lease is free. Empty: nobody's is.
  std::string predecessors;
  std::chrono::seconds lease_duration{15};
  std::chrono::seconds renew_deadline{10};
  std::chrono::seconds retry_period{2};
  std::uint64_t seed = 1;
};

class LeaderElector {
 public:
  LeaderElector(ApiClient& client, const Clock& clock, LeaderElectionOptions options,
                std::function<void()> on_started_leading, std::function<void()> on_stopped_leading);
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  void Start();
  // Gives the lease back, so that another replica need not wait for it to run out; `done` when that
  // has been tried. on_stopped_leading is not called.
  void Release(std::function<void()> done);

  bool is_leader() const { return is_leader_; }
  const std::string& holder() const { return holder_; }  // as last seen

 private:
  void Try();
  void OnLease(const Result<JsonPtr>& lease);
  void OnWritten(const Result<JsonPtr>& lease);
  void Observe(const Json& lease);
  void GiveUpUnlessRenewed();
  bool StopIfLost();
  void Next();
  Duration UntilNextTry();
  Json Claim(Json lease) const;

  ApiClient& client_;
  const Clock& clock_;
  LeaderElectionOptions options_;
  std::function<void()> on_started_;
  std::function<void()> on_stopped_;
  Random random_;
  bool is_leader_ = false;
  bool stopped_ = false;
  std::string holder_;
  std::string observed_record_;  // the spec as last seen
  SteadyTime observed_at_{};
  std::string observed_version_;
  SteadyTime attempted_at_{};  // when the newest write was asked for
  SteadyTime renewed_at_{};    // when the newest write that succeeded was asked for
  std::shared_ptr<LeaderElector*> self_;
};

}  // namespace berth::kube
