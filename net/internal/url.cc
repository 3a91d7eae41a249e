#include "net/internal/url.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "net/internal/message_writer.h"

namespace berth::net {
namespace {

Error Invalid(std::string_view text, std::string_view why) {
  return {ErrorCode::kInvalid,
          "\"" + std::string(text) + "\" cannot be a base URL: " + std::string(why)};
}

bool IsHostChar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_';
}

bool IsIpv6Char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
         c == '.' || c == '%';
}

std::optional<std::string> PercentDecode(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) {
      return std::nullopt;
    }
    decoded += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return decoded;
}

}  // namespace

std::string BaseUrl::host_header() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  std::string text = is_ipv6 ? "[" + host + "]" : host;
  if (port != (is_tls ? 443 : 80)) text += ":" + std::to_string(port);
  return text;
}

std::string BaseUrl::origin() const { return (is_tls ? "https://" : "http://") + host_header(); }

Result<ProxyUrl> ParseProxyUrl(std::string_view text) {
  // Messages must contain neither the password nor the user's name.
  const std::string_view kHttp = "http://";
  if (!text.starts_with(kHttp)) {
    return Error{ErrorCode::kInvalid,
                 "a proxy's URL must begin with http:// (socks5 and https "
                 "proxies are not supported)"};
  }
  std::string_view rest = text.substr(kHttp.size());
  ProxyUrl proxy;
  if (const std::size_t at = rest.rfind('@'); at != rest.npos) {
    std::optional<std::string> decoded = PercentDecode(rest.substr(0, at));
    if (!decoded) return Error{ErrorCode::kInvalid, "the user info of the proxy's URL"};
    proxy.user_info = *std::move(decoded);
    rest.remove_prefix(at + 1);
  }
  BERTH_TRY(proxy.url, ParseBaseUrl(std::string(kHttp) + std::string(rest)));
  if (!proxy.url.path_prefix.empty()) return Invalid(rest, "a proxy's URL has no path");
  return proxy;
}

Result<BaseUrl> ParseBaseUrl(std::string_view text) {
  BaseUrl url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.is_tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return Invalid(text, "it must begin with https:// or http://");
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.empty() && (!IsPlainTarget(path) || path.find_first_of("?#") != path.npos)) {
    return Invalid(text, "the path must be plain, without query and fragment");
  }
  url.path_prefix = std::string(path);

  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == authority.npos)
      return Invalid(text, "the bracket of the IPv6 address is not closed");
    url.host = std::string(authority.substr(1, end - 1));
    authority.remove_prefix(end + 1);
    if (url.host.find(':') == url.host.npos ||
        !std::all_of(url.host.begin(), url.host.end(), IsIpv6Char)) {
      return Invalid(text, "no IPv6 address within the brackets");
    }
    has_port = authority.starts_with(':');
    if (!has_port && !authority.empty()) return Invalid(text, "unexpected text behind the address");
    port = has_port ? authority.substr(1) : std::string_view();
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    has_port = colon < authority.size();
    url.host = std::string(authority.substr(0, colon));
    port = has_port ? authority.substr(colon + 1) : std::string_view();
    if (url.host.empty() || !std::all_of(url.host.begin(), url.host.end(), IsHostChar)) {
      return Invalid(text, "the host must be a name or an address");
    }
  }
  url.port = url.is_tls ? 443 : 80;
  if (has_port) {
    const std::optional<std::int64_t> number = ParseInt64(port);
    if (!number || *number < 1 || *number > 65535) {
      return Invalid(text, "the port must be from 1 to 65535");
    }
    url.port = static_cast<std::uint16_t>(*number);
  }
  return url;
}

}  // namespace berth::net
