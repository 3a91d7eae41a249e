// program/listen_address.h — parses a flag's ADDRESS:PORT.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace berth::program {

struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;  // 0: any free port
};

// "127.0.0.1:6443", "[::1]:0", ":8443" (then `default_host`). kInvalid names the flag.
Result<ListenAddress> ParseListenAddress(const std::string& flag, const std::string& text,
                                         const std::string& default_host);

// Whether the host is a loopback address: 127/8, ::1, or localhost.
bool IsLoopback(const std::string& host);

}  // namespace berth::program
