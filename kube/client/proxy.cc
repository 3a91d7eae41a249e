#include "kube/client/proxy.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/strings.h"

namespace berth::kube {
namespace {

std::string EitherOf(const char* upper, const char* lower) {
  for (const char* name : {upper, lower}) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): start-up only
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

struct HostPort {
  std::string host;  // IPv6 without brackets, in lower case
  std::string port;  // empty: none given
};

HostPort SplitHostPort(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {ToLower(text), ""};
    const std::string_view rest = text.substr(end + 1);
    return {ToLower(text.substr(1, end - 1)),
            rest.starts_with(':') ? std::string(rest.substr(1)) : std::string()};
  }
  const std::size_t colon = text.find(':');
  // More than one colon: an IPv6 address without brackets.
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
    return {ToLower(text), ""};
  }
  return {ToLower(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

// The 4 or 16 bytes of an address.
std::optional<std::vector<std::uint8_t>> AddressBytes(const std::string& text) {
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return std::vector<std::uint8_t>(bytes.begin(), bytes.begin() + 4);
  }
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) {
    return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
  }
  return std::nullopt;
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  const auto bytes = AddressBytes(host);
  if (!bytes) return false;
  if (bytes->size() == 4) return bytes->front() == 127;
  return host == "::1";
}

bool InRange(const std::string& host, std::string_view range) {
  const std::size_t slash = range.find('/');
  const auto address = AddressBytes(host);
  const auto base = AddressBytes(std::string(range.substr(0, slash)));
  const auto bits = ParseInt64(range.substr(slash + 1));
  if (!address || !base || address->size() != base->size() || !bits || *bits < 0 ||
      *bits > static_cast<std::int64_t>(8 * address->size())) {
    return false;
  }
  for (std::size_t bit = 0; bit < static_cast<std::size_t>(*bits); ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if (((*address)[bit / 8] & mask) != ((*base)[bit / 8] & mask)) return false;
  }
  return true;
}

// One entry of NO_PROXY: an address, a range, a domain (which covers its subdomains; with "." or
// "*." in front only these), each optionally with a port.
bool Covers(std::string_view entry, const HostPort& server) {
  if (entry == "*") return true;
  if (entry.find('/') != std::string_view::npos) return InRange(server.host, entry);
  HostPort wanted = SplitHostPort(entry);
  if (wanted.host.empty() || (!wanted.port.empty() && wanted.port != server.port)) return false;
  if (wanted.host.starts_with("*.")) wanted.host.erase(0, 1);
  if (wanted.host.starts_with('.')) return server.host.ends_with(wanted.host);
  return server.host == wanted.host ||
         (!AddressBytes(server.host) && server.host.ends_with("." + wanted.host));
}

}  // namespace

ProxyEnvironment ReadProxyEnvironment() {
  return {EitherOf("HTTPS_PROXY", "https_proxy"), EitherOf("NO_PROXY", "no_proxy")};
}

Result<std::string> ProxyFor(std::string_view server, std::string_view configured,
                             const ProxyEnvironment& environment) {
  if (!configured.empty()) return std::string(configured);
  constexpr std::string_view kHttps = "https://";
  if (!server.starts_with(kHttps) || environment.https_proxy.empty()) return std::string();
  const std::string_view rest = server.substr(kHttps.size());
  HostPort target = SplitHostPort(rest.substr(0, rest.find_first_of("/?#")));
  if (target.host.empty()) return Error{ErrorCode::kInvalid, "the server's URL has no host"};
  if (target.port.empty()) target.port = "443";
  if (IsLoopback(target.host)) return std::string();
  for (const std::string_view entry : Split(environment.no_proxy, ',')) {
    if (Covers(TrimSpace(entry), target)) return std::string();
  }
  // A proxy without a scheme is an HTTP proxy.
  const std::string& proxy = environment.https_proxy;
  return proxy.find("://") == std::string::npos ? "http://" + proxy : proxy;
}

}  // namespace berth::kube
