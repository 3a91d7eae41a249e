#include "local/apiserver/http/extension.h"

#include <mutex>
#include <utility>

#include "local/apiserver/blocking.h"

namespace berth::local {

void Extension::Set(const std::string& group, Handler handler) {
  const std::unique_lock lock(mutex_);
  group_ = group;
  handler_ = std::move(handler);
}

std::optional<net::Response> Extension::Answer(const std::string& path,
                                               const net::Request& request) {
  const std::shared_lock lock(mutex_);
  if (handler_ == nullptr) return std::nullopt;
  const std::string root = "/apis/" + group_;
  const bool is_of_group =
      path == root || path.starts_with(root + "/") || path.starts_with("/openapi/v3" + root + "/");
  if (!is_of_group) return std::nullopt;
  const BlockingScope blocking;
  return handler_(request);
}

void Extension::AddTo(Json& document, const char* list, const std::string& path,
                      const std::string& accept) {
  const std::shared_lock lock(mutex_);
  if (handler_ == nullptr) return;
  net::Request request;
  request.method = "GET";
  request.target = path;
  request.headers.Add("Accept", accept);
  // allow json-parse: written by this process
  const Json other = Json::parse(handler_(request).body, nullptr, false);
  if (!other.is_object() || !other.contains(list)) return;
  Json& entries = document[list];
  if (entries.is_object()) return entries.update(other[list]);
  for (const Json& entry : other[list]) entries.push_back(entry);
}

}  // namespace berth::local
