#include "tests/jobs/haversine/object_store.h"

#include <algorithm>

#include "base/assert.h"
#include "base/strings.h"

namespace berth::haversine {

ObjectStore::ObjectStore(std::string object) : object_(std::move(object)) {
  auto server = net::HttpServer::Start(
      pool_, {}, [this](const net::Request& request, const std::shared_ptr<net::Responder>& peer) {
        int nth = 0;
        {
          const std::lock_guard lock(mutex_);
          requests_.push_back(request);
          nth = static_cast<int>(requests_.size());
        }
        net::Response answer = Answer(request);
        peer->Send(fault_ ? fault_(nth, request, std::move(answer)) : std::move(answer));
      });
  BERTH_ASSERT(server.has_value());
  server_ = *std::move(server);
}

ObjectStore::~ObjectStore() { server_->Stop(); }

std::string ObjectStore::Url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(server_->port()) + path;
}

int ObjectStore::request_count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(requests_.size());
}

std::vector<net::Request> ObjectStore::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

net::Response ObjectStore::Answer(const net::Request& request) const {
  net::Response whole{200, {{"ETag", "\"v1\""}}, object_};
  const std::string_view range = request.headers.Find("Range");
  if (!range.starts_with("bytes=")) return whole;
  const auto ends = Split(range.substr(6), '-');
  const auto first = static_cast<std::size_t>(ParseInt64(ends[0]).value_or(-1));
  if (first >= object_.size()) {
    return {416, {{"Content-Range", "bytes */" + std::to_string(object_.size())}}, ""};
  }
  const std::size_t last =
      std::min(static_cast<std::size_t>(*ParseInt64(ends[1])), object_.size() - 1);
  return {206,
          {{"ETag", "\"v1\""},
           {"Content-Range", "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
                                 std::to_string(object_.size())}},
          object_.substr(first, last - first + 1)};
}

HttpOptions FastOptions() {
  HttpOptions options;
  options.first_backoff = std::chrono::milliseconds(1);
  options.deadline = std::chrono::seconds(20);
  options.most_attempts = 4;
  options.most_unranged_bytes = 1 << 20;
  return options;
}

std::string ObjectOf(std::size_t size) {
  std::string object(size, '\0');
  for (std::size_t i = 0; i < size; ++i) object[i] = static_cast<char>((i * 31 + i / 251) % 256);
  return object;
}

}  // namespace berth::haversine
