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
#include "base/token_bucket.h"
#include "kube/client/transport.h"

namespace berth::kube {

// Transports with one bucket share its turns. A Transport that checks a request at its sending must
// be inside: the request may have waited.
std::unique_ptr<Transport> LimitRequests(Transport& inner, Executor& executor, const Clock& clock,
                                         std::shared_ptr<TokenBucket> bucket);

}  // namespace berth::kube
