#include "net/upgrade.h"

#include <algorithm>

#include "base/strings.h"

namespace berth::net {
namespace {

// Whether one of the comma-separated words of the header is `word`.
bool HasWord(const Request& request, std::string_view name, std::string_view word) {
  const std::vector<std::string> words = ListedValues(request, name);
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& each) { return EqualsIgnoreCase(each, word); });
}

}  // namespace

bool AsksForWebSocket(const Request& request) {
  return request.method == "GET" && AsksForUpgrade(request, "websocket");
}

bool AsksForUpgrade(const Request& request, std::string_view protocol) {
  return HasWord(request, "Connection", "upgrade") && HasWord(request, "Upgrade", protocol);
}

std::vector<std::string> ListedValues(const Request& request, std::string_view header) {
  std::vector<std::string> values;
  for (const Header& each : request.headers) {
    if (!EqualsIgnoreCase(each.name, header)) continue;
    for (const std::string_view part : Split(each.value, ',')) {
      if (const auto value = TrimSpace(part); !value.empty()) values.emplace_back(value);
    }
  }
  return values;
}

}  // namespace berth::net
