#include "tests/support/fake_transport.h"

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "kube/client/status_error.h"

namespace berth::kube {
namespace {

struct Target {
  std::string path;  // of the object or the collection
  std::string subresource;
  bool is_object = false;
};

std::string JoinPath(const std::vector<std::string_view>& parts, std::size_t from, std::size_t to) {
  std::string path;
  for (std::size_t i = from; i < to; ++i) path += "/" + std::string(parts[i]);
  return path;
}

// "/apis/g/v/namespaces/n/jobs/j/status" → the object, "status".
Target ParseTarget(const std::string& path) {
  const std::vector<std::string_view> parts = Split(std::string_view(path).substr(1), '/');
  std::size_t at = parts[0] == "api" ? 2 : 3;  // the resource
  if (parts.size() > at + 2 && parts[at] == "namespaces") at += 2;
  Target target;
  target.is_object = parts.size() > at + 1;
  target.path = JoinPath(parts, 0, std::min(parts.size(), at + 2));
  if (parts.size() > at + 2) target.subresource = parts[at + 2];
  return target;
}

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

// The name of an object of `collection`, or where that spans namespaces the rest of its path, in
// characters that a query need not escape. Behind it a list goes on, whatever has gone before it.
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

ApiResponse Answer(Json body, int status = 200) {
  ApiResponse response;
  response.status = status;
  response.body = std::make_shared<const Json>(std::move(body));
  return response;
}

const char* ListKey(const Json& list) {
  if (list.empty() || !list[0].is_object()) return nullptr;
  if (list[0].contains("type")) return "type";
  return list[0].contains("name") ? "name" : nullptr;
}

Json* FindItem(Json& list, const char* key, const Json& value) {
  for (Json& item : list) {
    if (item.is_object() && item.value(key, Json()) == value) return &item;
  }
  return nullptr;
}

// Removes from `object` what `old` has and `now` has not.
void RemoveAbsent(Json& object, const Json& old, const Json& now) {
  if (old.is_object() && object.is_object()) {
    for (const auto& [key, value] : old.items()) {
      if (!object.contains(key)) continue;
      if (!now.is_object() || !now.contains(key)) {
        object.erase(key);
      } else {
        RemoveAbsent(object[key], value, now[key]);
      }
    }
    return;
  }
  const char* key = old.is_array() ? ListKey(old) : nullptr;
  if (key == nullptr || !object.is_array()) return;
  for (const Json& item : old) {
    Json copy = now;
    const Json* still = FindItem(copy, key, item[key]);
    if (Json* stored = FindItem(object, key, item[key])) {
      if (still == nullptr) {
        object.erase(object.begin() + (stored - &object[0]));
      } else {
        RemoveAbsent(*stored, item, *still);
      }
    }
  }
}

void Overlay(Json& object, const Json& patch) {
  if (patch.is_object()) {
    if (!object.is_object()) object = Json::object();
    for (const auto& [key, value] : patch.items()) Overlay(object[key], value);
    return;
  }
  const char* key = patch.is_array() ? ListKey(patch) : nullptr;
  if (key == nullptr || !object.is_array()) {
    object = patch;
    return;
  }
  for (const Json& item : patch) {
    Json* stored = FindItem(object, key, item[key]);
    if (stored == nullptr) {
      object.push_back(item);
    } else {
      Overlay(*stored, item);
    }
  }
}

}  // namespace

struct FakeTransport::OpenWatch {
  std::string collection;
  std::int64_t version = 0;
  WatchCallbacks callbacks;
  bool ended = false;
};

class FakeTransport::Handle final : public WatchHandle {
 public:
  explicit Handle(std::shared_ptr<OpenWatch> watch) : watch_(std::move(watch)) {}
  ~Handle() override { watch_->ended = true; }

 private:
  std::shared_ptr<OpenWatch> watch_;
};

void FakeTransport::Send(ApiRequest request, Duration timeout,
                         std::function<void(Result<ApiResponse>)> done) {
  const Duration wait = std::min(latency_, timeout);
  const bool late = latency_ > timeout;
  executor_.PostAfter(wait, [this, late, request = std::move(request), done = std::move(done)] {
    const std::string text = request.method + " " + request.path;
    const auto failure = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& f) {
      return text.find(f.what) != std::string::npos;
    });
    if (failure == failures_.end()) {
      ApiResponse response = Respond(request);
      if (late) return done(Error{ErrorCode::kDeadlineExceeded, "no answer in time"});
      return done(std::move(response));
    }
    const Failure fault = *failure;
    failures_.erase(failure);
    if (fault.effect == Effect::kDone) Respond(request);
    if (fault.status == 0) return done(Error{fault.code, "fault ordered by the test"});
    ApiResponse response = Refuse(fault.status, "", "fault ordered by the test", fault.go_on);
    response.retry_after = retry_after_;
    done(std::move(response));
  });
}

ApiResponse FakeTransport::Respond(const ApiRequest& request) {
  const std::size_t mark = request.path.find('?');
  const std::string path = request.path.substr(0, mark);
  const std::string query = mark == std::string::npos ? "" : request.path.substr(mark + 1);
  requests_.push_back({request.method, path, query, request.body ? *request.body : Json()});
  const Target target = ParseTarget(path);
  for (const std::string& collection : missing_) {
    if (InCollection(target.path, collection) || InCollection(target.path + "/", collection)) {
      return Refuse(404, "NotFound", "the server could not find the requested resource");
    }
  }
  if (request.method == "GET") {
    if (!target.is_object) return List(target.path, query);
    const auto found = objects_.find(target.path);
    if (found == objects_.end()) return Refuse(404, "NotFound", path + " not found");
    return Answer(found->second.object);
  }
  if (request.method == "POST") return Create(target.path, *request.body);
  if (request.method == "DELETE") return Delete(target.path, request.body.get());
  return Write(target.path, target.subresource, request, QueryValue(query, "fieldManager"));
}

ApiResponse FakeTransport::List(const std::string& path, const std::string& query) const {
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
    items.push_back(at->second.object);
    last = at->first;
  }
  return Answer({{"kind", "List"}, {"metadata", metadata}, {"items", std::move(items)}});
}

ApiResponse FakeTransport::Create(const std::string& collection, Json object) {
  Json& metadata = object["metadata"];
  if (!metadata.contains("name") && metadata.contains("generateName")) {
    metadata["name"] =
        metadata["generateName"].get<std::string>() + std::to_string(next_uid_ + 1000);
  }
  const std::string path = collection + "/" + metadata["name"].get<std::string>();
  if (objects_.contains(path)) return Refuse(409, "AlreadyExists", path + " already exists");
  object.erase("status");
  return Answer(Put(collection, std::move(object)), 201);
}

Json FakeTransport::Put(const std::string& collection, Json object) {
  Json& metadata = object["metadata"];
  const std::string path = collection + "/" + metadata["name"].get<std::string>();
  const auto [slot, created] = objects_.try_emplace(path);
  const Json old = slot->second.object;
  if (created) {
    metadata["uid"] = "uid-" + std::to_string(++next_uid_);
    metadata["creationTimestamp"] = FormatTime(clock_.Now());
    metadata["generation"] = 1;
    const std::vector<std::string_view> parts = Split(collection, '/');
    if (parts.size() > 3 && parts[parts.size() - 3] == "namespaces") {
      metadata["namespace"] = std::string(parts[parts.size() - 2]);
    }
  } else {
    for (const char* kept : {"uid", "creationTimestamp", "generation", "namespace"}) {
      if (old["metadata"].contains(kept)) metadata[kept] = old["metadata"][kept];
    }
    if (old.value("spec", Json()) != object.value("spec", Json())) {
      metadata["generation"] = metadata["generation"].get<std::int64_t>() + 1;
    }
  }
  slot->second.object = std::move(object);
  Record(path, created ? WatchEvent::Type::kAdded : WatchEvent::Type::kModified,
         slot->second.object);
  return slot->second.object;
}

ApiResponse FakeTransport::Write(const std::string& path, const std::string& subresource,
                                 const ApiRequest& request, const std::string& manager) {
  const bool apply = request.content_type.find("apply") != std::string::npos;
  auto found = objects_.find(path);
  if (found == objects_.end()) {
    if (!apply || !subresource.empty()) return Refuse(404, "NotFound", path + " not found");
    ApiResponse created = Create(path.substr(0, path.rfind('/')), *request.body);
    objects_.at(path).applied[manager] = *request.body;
    return created;
  }
  Stored& stored = found->second;
  Json patch = *request.body;
  const Json wanted = patch.value("/metadata/resourceVersion"_json_pointer, Json());
  if (wanted.is_string() && wanted != stored.object["metadata"]["resourceVersion"]) {
    return Refuse(409, "Conflict", "the object has been modified");
  }
  if (patch.contains("metadata") && patch["metadata"].is_object()) {
    const Json uid = patch["metadata"].value("uid", Json());
    if (uid.is_string() && uid != stored.object["metadata"]["uid"]) {
      return Refuse(409, "Conflict", "the uid does not match");
    }
    for (const char* servers : {"resourceVersion", "generation", "managedFields"}) {
      patch["metadata"].erase(servers);
    }
  }
  Json updated = stored.object;
  if (request.method == "PUT") {
    Json metadata = stored.object["metadata"];
    updated = std::move(patch);
    metadata.merge_patch(updated["metadata"]);
    updated["metadata"] = std::move(metadata);
  } else if (apply) {
    RemoveAbsent(updated, stored.applied[manager + "/" + subresource], patch);
    Overlay(updated, patch);
    stored.applied[manager + "/" + subresource] = patch;
  } else {
    updated.merge_patch(patch);
  }
  return Store(path, subresource, stored, std::move(updated));
}

ApiResponse FakeTransport::Store(const std::string& path, const std::string& subresource,
                                 Stored& stored, Json updated) {
  const Json& old = stored.object;
  if (subresource == "status") {
    Json status = updated.value("status", Json());
    updated = old;
    if (!status.is_null()) updated["status"] = std::move(status);
  } else if (old.contains("status")) {
    updated["status"] = old["status"];
  } else {
    updated.erase("status");
  }
  if (updated == old) return Answer(old);
  if (old.value("spec", Json()) != updated.value("spec", Json())) {
    updated["metadata"]["generation"] = old["metadata"].value("generation", 0) + 1;
  }
  stored.object = std::move(updated);
  const Json& metadata = stored.object["metadata"];
  const bool finalized = !metadata.contains("finalizers") || metadata["finalizers"].empty();
  if (metadata.contains("deletionTimestamp") && finalized) {
    Json last = stored.object;
    Remove(path);
    return Answer(std::move(last));
  }
  Record(path, WatchEvent::Type::kModified, stored.object);
  return Answer(stored.object);
}

ApiResponse FakeTransport::Delete(const std::string& path, const Json* options) {
  const auto found = objects_.find(path);
  if (found == objects_.end()) return Refuse(404, "NotFound", path + " not found");
  Json& metadata = found->second.object["metadata"];
  if (options != nullptr && options->contains("preconditions")) {
    for (const auto& [key, value] : (*options)["preconditions"].items()) {
      if (metadata[key] != value) return Refuse(409, "Conflict", "a precondition does not hold");
    }
  }
  if (!metadata.contains("finalizers") || metadata["finalizers"].empty()) {
    Remove(path);
    return Answer({{"kind", "Status"}, {"status", "Success"}});
  }
  if (!metadata.contains("deletionTimestamp")) {
    metadata["deletionTimestamp"] = FormatTime(clock_.Now());
    Record(path, WatchEvent::Type::kModified, found->second.object);
  }
  return Answer(found->second.object);
}

const Json* FakeTransport::Find(const std::string& path) const {
  const auto found = objects_.find(path);
  return found == objects_.end() ? nullptr : &found->second.object;
}

void FakeTransport::Remove(const std::string& path) {
  const auto found = objects_.find(path);
  if (found == objects_.end()) return;
  Json last = std::move(found->second.object);
  objects_.erase(found);
  Record(path, WatchEvent::Type::kDeleted, last);
}

void FakeTransport::Record(const std::string& path, WatchEvent::Type type, const Json& object) {
  ++version_;
  Json copy = object;
  copy["metadata"]["resourceVersion"] = std::to_string(version_);
  if (const auto stored = objects_.find(path); stored != objects_.end()) {
    stored->second.object["metadata"]["resourceVersion"] = std::to_string(version_);
  }
  history_.push_back({version_, path, type, std::make_shared<const Json>(std::move(copy))});
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  for (const auto& weak : watches_) {
    if (auto watch = weak.lock()) {
      executor_.PostAfter(latency_, [this, watch] { Pump(watch); });
    }
  }
}

void FakeTransport::Pump(const std::shared_ptr<OpenWatch>& watch) {
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

std::unique_ptr<WatchHandle> FakeTransport::Watch(ApiRequest request, Duration /*silence*/,
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

void FakeTransport::SetMissing(const std::string& collection, bool is_missing) {
  if (is_missing) {
    missing_.insert(collection);
  } else {
    missing_.erase(collection);
  }
}

void FakeTransport::FailNext(const std::string& what, int status, Effect effect, ErrorCode code) {
  failures_.push_back({what, status, effect, code, ""});
}

void FakeTransport::ExpireNextPage(const std::string& continue_token, const std::string& go_on) {
  failures_.push_back(
      {"continue=" + continue_token, 410, Effect::kNone, ErrorCode::kExpired, go_on});
}

void FakeTransport::DropWatches(const Status& status) {
  for (const auto& weak : std::exchange(watches_, {})) {
    const auto watch = weak.lock();
    if (watch == nullptr || std::exchange(watch->ended, true)) continue;
    executor_.Post([watch, status] { watch->callbacks.on_end(status); });
  }
}

std::size_t FakeTransport::CountWrites() const {
  return static_cast<std::size_t>(
      std::count_if(requests_.begin(), requests_.end(),
                    [](const Recorded& request) { return request.method != "GET"; }));
}

}  // namespace berth::kube
