// net/tcp_connect.h — whether a port accepts connections.
//
// Threads: any; `done` is called once, on a thread of the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace berth::net {

class IoPool;

// Connects, and closes. Errors: kUnavailable: refused; kDeadlineExceeded; kInvalid: `address` is no
// IP address.
void TryConnect(IoPool& pool, const std::string& address, std::uint16_t port, Duration timeout,
                std::function<void(Status)> done);

}  // namespace berth::net
