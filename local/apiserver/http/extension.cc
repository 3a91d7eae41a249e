#include "local/apiserver/http/extension.h"

#include <mutex>
#include <utility>

#include "local/apiserver/blocking.h"

namespace berth::local {

void Extension::Set(const std::string& group, Handler handler) {
  const std::unique_lock lock(mutex_);
  if (handler == nullptr) {
    handler_by_group_.erase(group);
  } else {
    handler_by_group_[group] = std::move(handler);
  }
}

bool Extension::Serves(const std::string& group) {
  const std::shared_lock lock(mutex_);
  return handler_by_group_.contains(group);
}

std::optional<net::Response> Extension::Answer(const std::string& path,
                                               const net::Request& request) {
  const std::shared_lock lock(mutex_);
  for (const auto& [group, handler] : handler_by_group_) {
    const std::string root = "/apis/" + group;
    const bool is_of_group = path == root || path.starts_with(root + "/") ||
                             path.starts_with("/openapi/v3" + root + "/");
    if (!is_of_group) continue;
    const BlockingScope blocking;
    return handler(request);
  }
  return std::nullopt;
}

void Extension::AddTo(Json& document, const char* list, const std::string& path,
                      const std::string& accept) {
  const std::shared_lock lock(mutex_);
  net::Request request;
  request.method = "GET";
  request.target = path;
  request.headers.Add("Accept", accept);
  for (const auto& [group, handler] : handler_by_group_) {
    // allow json-parse: written by this process
    const Json other = Json::parse(handler(request).body, nullptr, false);
    if (!other.is_object() || !other.contains(list)) continue;
    Json& entries = document[list];
    if (entries.is_object()) {
      entries.update(other[list]);
      continue;
    }
    for (const Json& entry : other[list]) entries.push_back(entry);
  }
}

}  // namespace berth::local
