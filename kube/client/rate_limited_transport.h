// kube/client/rate_limited_transport.h — a Transport that sends at most so many requests a second.
//
//     Send, Watch ─▶ TokenBucket ─0─▶ the inner Transport
//                        └─ a wait, in order of arrival, as long as the request's timeout allows
//
// A request whose turn comes after its timeout fails at once with kDeadlineExceeded and takes no
// turn: so the number of waiting requests is bounded by rate and timeouts.
//
// Threads: as Transport, on `executor`. The inner Transport, executor and clock outlive it.
// Source: client-go util/flowcontrol (token bucket with `qps` and `burst`).
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/executor.h"
#include "kube/client/transport.h"

namespace berth::kube {

struct RequestLimit {
  double per_second = 0;  // greater than 0
  int burst = 1;          // at least 1
};

// Counts turns; pure.
class TokenBucket {
 public:
  TokenBucket(RequestLimit limit, SteadyTime now)
      : limit_(limit), tokens_(limit.burst), refilled_at_(now) {}

  // How long the next turn has to wait.
  Duration Wait(SteadyTime now);
  // Takes the next turn.
  void Take() { tokens_ -= 1; }

 private:
  RequestLimit limit_;
  double tokens_;  // negative: turns that were taken ahead
  SteadyTime refilled_at_;
};

// Transports with one bucket share its turns. A Transport that checks a request at its sending must
// be inside: the request may have waited.
std::unique_ptr<Transport> LimitRequests(Transport& inner, Executor& executor, const Clock& clock,
                                         std::shared_ptr<TokenBucket> bucket);

}  // namespace berth::kube
