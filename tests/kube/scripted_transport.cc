#include "tests/kube/scripted_transport.h"

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::kube {
namespace {

std::string QueryValue(const std::string& query, std::string_view key) {
  for (const std::string_view part : Split(query, '&')) {
    if (part.starts_with(key) && part.size() > key.size() && part[key.size()] == '=') {
      return std::string(part.substr(key.size() + 1));
    }
  }
  return {};
}

bool InCollection(const std::string& path, const std::string& collection) {
  const std::string parent = path.substr(0, path.rfind('/'));
  if (parent == collection) return true;
  // A collection over all namespaces: /apis/g/v/jobs has /apis/g/v/namespaces/n/jobs/j.
  const std::string root = collection.substr(0, collection.rfind('/'));
  const std::string plural = collection.substr(collection.rfind('/'));
  return parent.starts_with(root + "/namespaces/") && parent.ends_with(plural) &&
         std::count(parent.begin(), parent.end(), '/') ==
             std::count(collection.begin(), collection.end(), '/') + 2;
}

// The name of an object of `collection` (if that spans namespaces: the rest of the path), in
// characters that a query need not escape. A list continues after this name, even a deleted one.
std::string ContinueToken(const std::string& path, const std::string& collection) {
  if (path.starts_with(collection + "/")) return path.substr(collection.size() + 1);
  std::string rest = path.substr(collection.rfind('/') + 1);
  std::replace(rest.begin(), rest.end(), '/', '~');
  return rest;
}

std::string PathOfToken(std::string token, const std::string& collection) {
  if (token.empty()) return {};
  if (token.find('~') == std::string::npos) return collection + "/" + token;
  std::replace(token.begin(), token.end(), '~', '/');
  return collection.substr(0, collection.rfind('/') + 1) + token;
}

ApiResponse Refuse(int status, const std::string& reason, const std::string& message,
                   const std::string& go_on = "") {
  Json body = {{"kind", "Status"},
               {"status", "Failure"},
               {"code", status},
               {"reason", reason},
               {"message", message}};
  if (!go_on.empty()) body["metadata"]["continue"] = go_on;
  ApiResponse response;
  response.status = status;
  response.body = std::make_shared<const Json>(std::move(body));
  return response;
}

ApiResponse Answer(Json body) {
  ApiResponse response;
  response.body = std::make_shared<const Json>(std::move(body));
  return response;
}

}  // namespace

struct ScriptedTransport::OpenWatch {
  std::string collection;
  std::int64_t version = 0;
  WatchCallbacks callbacks;
  bool ended = false;
};

class ScriptedTransport::Handle final : public WatchHandle {
 public:
  explicit Handle(std::shared_ptr<OpenWatch> watch) : watch_(std::move(watch)) {}
  ~Handle() override { watch_->ended = true; }

 private:
  std::shared_ptr<OpenWatch> watch_;
};

void ScriptedTransport::Send(ApiRequest request, Duration /*timeout*/,
                             std::function<void(Result<ApiResponse>)> done) {
  executor_.PostAfter(latency_, [this, request = std::move(request), done = std::move(done)] {
    const std::string text = request.method + " " + request.path;
    const auto failure = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& f) {
      return text.find(f.what) != std::string::npos;
    });
    const bool fails = failure != failures_.end();
    const Failure fault = fails ? *failure : Failure{};
    if (fails) failures_.erase(failure);
    // The answer is lost, but the request counts.
    if (!fails || fault.status == 0) {
      ApiResponse response = Respond(request);
      if (fails) return done(Error{fault.code, "fault ordered by the test"});
      return done(std::move(response));
    }
    done(Refuse(fault.status, "", "fault ordered by the test", fault.go_on));
  });
}

ApiResponse ScriptedTransport::Respond(const ApiRequest& request) {
  const std::size_t mark = request.path.find('?');
  const std::string path = request.path.substr(0, mark);
  const std::string query = mark == std::string::npos ? "" : request.path.substr(mark + 1);
  requests_.push_back({request.method, path, query, request.body ? *request.body : Json()});
  if (request.method != "GET") return Answer(request.body ? *request.body : Json());
  return List(path, query);
}

ApiResponse ScriptedTransport::List(const std::string& path, const std::string& query) const {
  const auto limit = ParseInt64(QueryValue(query, "limit")).value_or(0);
  const std::string behind = PathOfToken(QueryValue(query, "continue"), path);
  Json items = Json::array();
  Json metadata = {{"resourceVersion", std::to_string(version_)}};
  std::string last;
  for (auto at = objects_.upper_bound(behind); at != objects_.end(); ++at) {
    if (!InCollection(at->first, path)) continue;
    if (limit > 0 && static_cast<std::int64_t>(items.size()) == limit) {
      metadata["continue"] = ContinueToken(last, path);
      break;
    }
    items.push_back(at->second);
    last = at->first;
  }
  return Answer({{"kind", "List"}, {"metadata", metadata}, {"items", std::move(items)}});
}

void ScriptedTransport::Put(const std::string& collection, Json object) {
  Json& metadata = object["metadata"];
  const std::string path = collection + "/" + metadata["name"].get<std::string>();
  const auto [slot, created] = objects_.try_emplace(path);
  if (created) {
    metadata["uid"] = "uid-" + std::to_string(++next_uid_);
    metadata["creationTimestamp"] = FormatTime(clock_.Now());
    const std::vector<std::string_view> parts = Split(collection, '/');
    if (parts.size() > 3 && parts[parts.size() - 3] == "namespaces") {
      metadata["namespace"] = std::string(parts[parts.size() - 2]);
    }
  } else {
    const Json& old = slot->second["metadata"];
    for (const char* kept : {"uid", "creationTimestamp", "namespace"}) {
      if (old.contains(kept)) metadata[kept] = old[kept];
    }
  }
  slot->second = std::move(object);
  Record(path, created ? WatchEvent::Type::kAdded : WatchEvent::Type::kModified, slot->second);
}

const Json* ScriptedTransport::Find(const std::string& path) const {
  const auto found = objects_.find(path);
  return found == objects_.end() ? nullptr : &found->second;
}

void ScriptedTransport::Remove(const std::string& path) {
  const auto found = objects_.find(path);
  if (found == objects_.end()) return;
  const Json last = std::move(found->second);
  objects_.erase(found);
  Record(path, WatchEvent::Type::kDeleted, last);
}

void ScriptedTransport::Record(const std::string& path, WatchEvent::Type type, const Json& object) {
  ++version_;
  Json copy = object;
  copy["metadata"]["resourceVersion"] = std::to_string(version_);
  if (const auto stored = objects_.find(path); stored != objects_.end()) {
    stored->second["metadata"]["resourceVersion"] = std::to_string(version_);
  }
  history_.push_back({version_, path, type, std::make_shared<const Json>(std::move(copy))});
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  for (const auto& weak : watches_) {
    if (auto watch = weak.lock()) {
      executor_.PostAfter(latency_, [this, watch] { Pump(watch); });
    }
  }
}

void ScriptedTransport::Pump(const std::shared_ptr<OpenWatch>& watch) {
  while (!watch->ended) {
    const auto next = std::upper_bound(
        history_.begin(), history_.end(), watch->version,
        [](std::int64_t version, const Change& change) { return version < change.version; });
    if (next == history_.end()) return;
    watch->version = next->version;
    if (!InCollection(next->path, watch->collection)) continue;
    const WatchEvent event{next->type, next->object};
    watch->callbacks.on_event(event);
  }
}

std::unique_ptr<WatchHandle> ScriptedTransport::Watch(ApiRequest request, Duration /*silence*/,
                                                      WatchCallbacks callbacks) {
  auto watch = std::make_shared<OpenWatch>();
  const std::size_t mark = request.path.find('?');
  watch->collection = request.path.substr(0, mark);
  watch->version =
      ParseInt64(QueryValue(request.path.substr(mark + 1), "resourceVersion")).value_or(0);
  watch->callbacks = std::move(callbacks);
  watches_.push_back(watch);
  ++watches_begun_;
  executor_.PostAfter(latency_, [this, watch] {
    if (watch->ended) return;
    if (watch_refusal_) {
      watch->ended = true;
      return watch->callbacks.on_end(*watch_refusal_);
    }
    if (watch->version < compacted_) {
      watch->ended = true;
      return watch->callbacks.on_end(Error{ErrorCode::kExpired, "too old resource version"});
    }
    Pump(watch);
  });
  return std::make_unique<Handle>(std::move(watch));
}

void ScriptedTransport::FailNext(const std::string& what, int status, ErrorCode code) {
  failures_.push_back({what, status, code, ""});
}

void ScriptedTransport::ExpireNextPage(const std::string& continue_token,
                                       const std::string& go_on) {
  failures_.push_back({"continue=" + continue_token, 410, ErrorCode::kExpired, go_on});
}

void ScriptedTransport::DropWatches(const Status& status) {
  for (const auto& weak : std::exchange(watches_, {})) {
    const auto watch = weak.lock();
    if (watch == nullptr || std::exchange(watch->ended, true)) continue;
    executor_.Post([watch, status] { watch->callbacks.on_end(status); });
  }
}

}  // namespace berth::kube
