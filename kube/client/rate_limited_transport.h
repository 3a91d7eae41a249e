// kube/client/rate_limited_transport.h — a Transport that sends a limited number of requests per
// second.
//
//     Send, Watch ─▶ TokenBucket ─0─▶ the inner Transport
//                        └─ a wait, in order of arrival, as long as the request's timeout allows
//
// A request whose turn comes after its timeout fails at once with kDeadlineExceeded and takes no
// turn. So the rate and the timeouts bound the number of waiting requests.
//
// Threads: as Transport, on `executor`. The inner Transport, the executor and the clock must
// outlive it.
// Source: client-go util/flowcontrol (token bucket with `qps` and `burst`).
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/executor.h"
#include "base/token_bucket.h"
#include "kube/client/transport.h"

namespace berth::kube {

// Transports that share a bucket share its rate. A Transport that checks each request at the moment
// of sending must be the inner one, since a request may wait here.
std::unique_ptr<Transport> LimitRequests(Transport& inner, Executor& executor, const Clock& clock,
                                         std::shared_ptr<TokenBucket> bucket);

}  // namespace berth::kube
