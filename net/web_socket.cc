#include "net/web_socket.h"

#include "base/strings.h"

namespace berth::net {
namespace {

// Whether one of the comma-separated words of the header is `word`.
bool HasWord(const Headers& headers, std::string_view name, std::string_view word) {
  for (const Header& header : headers) {
    if (!EqualsIgnoreCase(header.name, name)) continue;
    for (const std::string_view part : Split(header.value, ',')) {
      if (EqualsIgnoreCase(TrimSpace(part), word)) return true;
    }
  }
  return false;
}

}  // namespace

bool AsksForWebSocket(const Request& request) {
  return request.method == "GET" && HasWord(request.headers, "Connection", "upgrade") &&
         HasWord(request.headers, "Upgrade", "websocket");
}

std::vector<std::string> WebSocketProtocols(const Request& request) {
  std::vector<std::string> protocols;
  for (const Header& header : request.headers) {
    if (!EqualsIgnoreCase(header.name, "Sec-WebSocket-Protocol")) continue;
    for (const std::string_view part : Split(header.value, ',')) {
      if (const auto protocol = TrimSpace(part); !protocol.empty()) {
        protocols.emplace_back(protocol);
      }
    }
  }
  return protocols;
}

}  // namespace berth::net
