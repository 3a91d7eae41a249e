#include "local/apiserver/http/target.h"

#include "base/strings.h"
#include "net/escapes.h"

namespace berth::local {
namespace {

using net::Plus;

// Names and parameters reach JSON, logs and the store, which hold UTF-8 alone.
std::optional<std::string> DecodeText(std::string_view text, Plus plus) {
  std::optional<std::string> decoded = net::Unescape(text, plus);
  if (decoded && !IsValidUtf8(*decoded)) return std::nullopt;
  return decoded;
}

}  // namespace

std::string Target::Get(std::string_view name) const {
  const auto it = query.find(name);
  return it == query.end() ? std::string() : it->second;
}

bool Target::IsTrue(std::string_view name) const {
  const auto it = query.find(name);
  if (it == query.end()) return false;
  return !EqualsIgnoreCase(it->second, "false") && it->second != "0";
}

std::optional<Target> ParseTarget(std::string_view target) {
  Target parsed;
  const std::size_t mark = target.find('?');
  auto path = DecodeText(target.substr(0, mark), Plus::kLiteral);
  if (!path) return std::nullopt;
  parsed.path = std::move(*path);
  if (mark == std::string_view::npos) return parsed;
  for (const std::string_view pair : Split(target.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto name = DecodeText(pair.substr(0, equals), Plus::kBlank);
    auto value =
        DecodeText(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1),
                   Plus::kBlank);
    if (!name || !value) return std::nullopt;
    parsed.query.emplace(std::move(*name), std::move(*value));
  }
  return parsed;
}

std::optional<ApiPath> ParseApiPath(std::string_view path) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : Split(path, '/')) {
    if (!part.empty()) parts.push_back(part);
  }
  ApiPath parsed;
  std::size_t at = 0;
  if (parts.size() >= 2 && parts[0] == "api") {
    parsed.version = parts[1];
    at = 2;
  } else if (parts.size() >= 3 && parts[0] == "apis") {
    parsed.group = parts[1];
    parsed.version = parts[2];
    at = 3;
  } else {
    return std::nullopt;
  }
  // namespaces/NS/RESOURCE…, but namespaces/NAME/status is the namespace's subresource.
  if (parts.size() >= at + 3 && parts[at] == "namespaces" && parts[at + 2] != "status" &&
      parts[at + 2] != "finalize") {
    parsed.namespace_name = parts[at + 1];
    at += 2;
  }
  if (at < parts.size()) parsed.resource = parts[at++];
  if (at < parts.size()) parsed.name = parts[at++];
  if (at < parts.size()) parsed.subresource = parts[at++];
  // A proxied request has a path of its own behind.
  if (at < parts.size() && parsed.subresource != "proxy") return std::nullopt;
  return parsed;
}

}  // namespace berth::local
