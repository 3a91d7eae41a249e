// kube/runtime/leader_election.h — elects a leader among replicas, by a coordination.k8s.io Lease.
//
// Timing (client-go's words): a follower takes a lease over when the lease's record has not changed
// for lease_duration by the follower's own steady clock, at most a retry_period after the leader's
// end; the leader renews every retry_period and gives up renew_deadline after the start of its last
// successful renewal, whether or not a later request is unanswered. Clocks of two machines are
// never compared.
//
// A lease that is deleted is free when its last record has run out; only its leader makes the lease
// again at once. A leader that finds another holder, or none, stops for good: a later leadership is
// another generation (leaseTransitions) and starts with fresh caches.
//
// on_stopped_leading means: stop writing at once; programs usually exit.
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
#include "kube/runtime/leader_fence.h"

namespace berth::kube {

struct LeaderElectionOptions {
  api::ObjectKey lease{"kueue-system", "c1f6bfd2.kueue.x-k8s.io"};
  std::string identity;  // unique per replica
  // A holder whose identity has this prefix is gone: its lease is free. Empty: no such holder.
  std::string predecessors;
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  std::uint64_t seed = 1;
};

class LeaderElector {
 public:
  LeaderElector(ApiClient& client, const Clock& clock, LeaderElectionOptions options,
                std::function<void()> on_started_leading, std::function<void()> on_stopped_leading);
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  void Start();
  // Gives the lease back, so that another replica need not wait for its expiry; calls `done` after
  // the attempt. Does not call on_stopped_leading.
  void Release(std::function<void()> done);

  bool is_leader() const { return is_leader_; }
  const std::string& holder() const { return holder_; }  // holder of the last seen record
  // The time in which this replica may write its decisions, see leader_fence.h.
  WriteWindow write_window() const;

 private:
  void Try();
  void OnLease(const Result<JsonPtr>& lease);
  void OnMissing();
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
  std::string observed_record_;  // last seen spec
  SteadyTime observed_at_{};
  std::string observed_version_;
  SteadyTime attempted_at_{};  // start of the newest write
  SteadyTime renewed_at_{};    // start of the newest successful write
  std::shared_ptr<LeaderElector*> self_;
};

}  // namespace berth::kube
