// net/internal/url.h — the base URL of a client.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::net {

struct BaseUrl {
  bool is_tls = false;
  std::string host;         // a name or an address, IPv6 without brackets
  std::uint16_t port = 0;   // default: that of the scheme
  std::string path_prefix;  // "" or "/prefix", never with a final slash

  std::string host_header() const;  // "localhost", "[::1]:6443"; without the scheme's default port
  std::string origin() const;       // "https://localhost"
};

struct ProxyUrl {
  BaseUrl url;
  std::string user_info;  // "user:password", decoded; empty: none
};

// "http://[user:password@]host:port". kInvalid as in ParseBaseUrl, and for https and a path.
Result<ProxyUrl> ParseProxyUrl(std::string_view text);

// kInvalid for other schemes, user info, query, fragment, a port out of range, blanks.
Result<BaseUrl> ParseBaseUrl(std::string_view text);

}  // namespace berth::net
