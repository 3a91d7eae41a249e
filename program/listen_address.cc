#include "program/listen_address.h"

#include <arpa/inet.h>

#include "base/strings.h"

namespace berth::program {

Result<ListenAddress> ParseListenAddress(const std::string& flag, const std::string& text,
                                         const std::string& default_host) {
  const std::size_t colon = text.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : ParseInt64(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) {
    return Error{ErrorCode::kInvalid,
                 flag + " \"" + text + "\": write ADDRESS:PORT, such as 127.0.0.1:6443"};
  }
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return ListenAddress{host.empty() ? default_host : host, static_cast<std::uint16_t>(*port)};
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&six)) return six.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace berth::program
