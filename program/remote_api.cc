#include "program/remote_api.h"

#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "api/codec/codec.h"
#include "kube/client/api_client.h"
#include "kube/client/http_transport.h"
#include "kube/client/reflector.h"
#include "net/io_pool.h"

namespace berth::program {
namespace {

using local::ApiError;
using local::ApiResult;
using local::Json;
using local::Object;
using local::ResourceId;

constexpr Duration kTimeout = std::chrono::seconds(30);
constexpr int kPageSize = 500;
constexpr int kCallThreads = 2;

std::string GroupVersionPath(const ResourceId& resource) {
  return (resource.group.empty() ? "/api/" : "/apis/" + resource.group + "/") + resource.version;
}

// The result refers to `resource` and `kind`.
api::ResourceKind KindOf(const ResourceId& resource, const std::string& kind) {
  return {resource.group, resource.version, kind, resource.resource};
}

std::string PathOf(const ResourceId& resource, const std::string& namespace_name,
                   const std::string& name, const std::string& subresource = "") {
  return kube::ObjectPath(KindOf(resource, ""), {namespace_name, name}, subresource);
}

std::string QueryOf(const local::WriteOptions& options) {
  std::string query = "?fieldManager=" + options.field_manager;
  if (options.force) query += "&force=true";
  if (options.dry_run) query += "&dryRun=All";
  return query;
}

std::string ContentTypeOf(local::PatchType type) {
  switch (type) {
    case local::PatchType::kJson: return "application/json-patch+json";
    case local::PatchType::kMerge: return "application/merge-patch+json";
    case local::PatchType::kStrategic: return "application/strategic-merge-patch+json";
    case local::PatchType::kApply: return "application/apply-patch+yaml";
  }
  return "";
}

ApiError NoAnswer(const Error& error) { return {503, "ServiceUnavailable", error.message, Json()}; }

// The Status of a refusal.
ApiError ErrorOf(const kube::ApiResponse& response) {
  ApiError error{response.status, "InternalError", "HTTP " + std::to_string(response.status),
                 Json()};
  if (response.status == 404) error.reason = "NotFound";
  if (!response.body || !response.body->is_object()) return error;
  error.reason = response.body->value("reason", error.reason);
  error.message = response.body->value("message", error.message);
  error.details = response.body->value("details", Json());
  return error;
}

// The kind of a resource: items of a list contain neither kind nor version.
struct Named {
  std::string api_version;
  std::string kind;
};

Object WithType(const Json& item, const Named& named) {
  Json object = item;
  object["apiVersion"] = named.api_version;
  object["kind"] = named.kind;
  return std::make_shared<const Json>(std::move(object));
}

// Converts objects from JSON trees, where the transport answers with trees.
class TreeReader final : public kube::ObjectReader {
 public:
  explicit TreeReader(Named named) : named_(std::move(named)) {}
  kube::ReadObject Read(const api::JsonSource& source) const override {
    if (source.tree() == nullptr || !source.tree()->is_object()) {
      return {nullptr, "not an object", nullptr};
    }
    return {WithType(*source.tree(), named_), "", nullptr};
  }

 private:
  const Named named_;
};

// A transport that answers with trees: does not pass the reader on.
class TreeTransport final : public kube::Transport {
 public:
  explicit TreeTransport(std::unique_ptr<kube::Transport> inner) : inner_(std::move(inner)) {}
  void Send(kube::ApiRequest request, Duration timeout,
            std::function<void(Result<kube::ApiResponse>)> done) override {
    request.reader = nullptr;
    inner_->Send(std::move(request), timeout, std::move(done));
  }
  std::unique_ptr<kube::WatchHandle> Watch(kube::ApiRequest request, Duration silence,
                                           kube::WatchCallbacks callbacks) override {
    request.reader = nullptr;
    return inner_->Watch(std::move(request), silence, std::move(callbacks));
  }

 private:
  std::unique_ptr<kube::Transport> inner_;
};

// One watch: a reflector, and the last known states of its objects. Lives on the strand.
class RemoteWatch {
 public:
  using OnEvent = std::function<void(const local::WatchEvent&)>;

  RemoteWatch(kube::ApiClient& client, const ResourceId& resource, const Named& named,
              OnEvent on_event)
      : resource_(resource),
        named_(named),
        kind_(KindOf(resource_, named_.kind)),
        on_event_(std::move(on_event)),
        reflector_(client, kind_, {}, std::make_shared<TreeReader>(named), Callbacks()) {
    reflector_.Start();
  }

 private:
  using Key = std::pair<std::string, std::string>;

  kube::ReflectorCallbacks Callbacks() {
    return {.on_list_start = [this] { listed_.clear(); },
            .on_page =
                [this](const std::vector<kube::ReadObject>& page) {
                  for (const kube::ReadObject& each : page) {
                    if (const Object object = TreeOf(each)) listed_[KeyOf(*object)] = object;
                  }
                },
            .on_list_end = [this] { TakeList(); },
            .on_event =
                [this](kube::WatchEvent::Type type, const kube::ReadObject& each) {
                  const Object object = TreeOf(each);
                  if (object == nullptr) return;
                  if (type == kube::WatchEvent::Type::kDeleted) {
                    Tell(KeyOf(*object), object, Change::kGone);
                  } else {
                    Tell(KeyOf(*object), object, Change::kThere);
                  }
                },
            .on_error = nullptr};
  }

  enum class Change { kThere, kGone };

  static Object TreeOf(const kube::ReadObject& read) {
    return std::static_pointer_cast<const Json>(read.object);
  }
  static Key KeyOf(const Json& object) {
    const Json& metadata = object.at("metadata");
    return {metadata.value("namespace", ""), metadata.value("name", "")};
  }

  void TakeList() {
    std::map<Key, Object> gone = known_;
    for (const auto& [key, object] : listed_) {
      gone.erase(key);
      Tell(key, object, Change::kThere);
    }
    for (const auto& [key, object] : gone) Tell(key, object, Change::kGone);
    listed_.clear();
  }

  void Tell(const Key& key, const Object& object, Change change) {
    const auto known = known_.find(key);
    const Object previous = known == known_.end() ? nullptr : known->second;
    if (change == Change::kGone) {
      if (previous == nullptr) return;
      known_.erase(known);
      return on_event_({local::WatchEvent::Type::kDeleted, object, previous});
    }
    known_[key] = object;
    if (previous == nullptr) return on_event_({local::WatchEvent::Type::kAdded, object, nullptr});
    if (VersionOf(*previous) == VersionOf(*object)) return;
    on_event_({local::WatchEvent::Type::kModified, object, previous});
  }

  static const Json& VersionOf(const Json& object) {
    return object.at("metadata").at("resourceVersion");
  }

  const ResourceId resource_;
  const Named named_;
  const api::ResourceKind kind_;  // refers to the two members above
  const OnEvent on_event_;
  std::map<Key, Object> known_;
  std::map<Key, Object> listed_;  // keys in the running list
  kube::Reflector reflector_;
};

class RemoteApi final : public local::Api {
 public:
  explicit RemoteApi(kube::KubeConfig config)
      : config_(std::move(config)), pool_(kCallThreads), strand_(pool_.MakeStrand()) {}

  ~RemoteApi() override {
    pool_.Stop();  // ends all callbacks
    client_.reset();
    transport_.reset();
  }

  Status Connect() {
    BERTH_TRY(auto transport, kube::MakeHttpTransport(pool_, *strand_, config_, {}));
    transport_ = std::make_unique<TreeTransport>(std::move(transport));
    client_ = std::make_unique<kube::ApiClient>(*transport_, *strand_);
    return OkStatus();
  }

  ApiResult<Object> Get(const ResourceId& resource, const std::string& namespace_name,
                        const std::string& name) override {
    return AskForObject(resource, {"GET", PathOf(resource, namespace_name, name)});
  }

  ApiResult<local::ObjectList> List(const ResourceId& resource, const std::string& namespace_name,
                                    const local::ListOptions& options) override;

  ApiResult<Object> Create(const ResourceId& resource, const std::string& namespace_name,
                           Json object, const local::WriteOptions& options) override {
    const std::string path =
        options.subresource.empty()
            ? kube::CollectionPath(KindOf(resource, ""), namespace_name)
            : PathOf(resource, namespace_name, object.at("metadata").value("name", ""),
                     options.subresource);
    return AskForObject(resource, {"POST", path + QueryOf(options), "application/json",
                                   std::make_shared<const Json>(std::move(object))});
  }

  ApiResult<Object> Update(const ResourceId& resource, const std::string& namespace_name,
                           const std::string& name, Json object,
                           const local::WriteOptions& options) override {
    return AskForObject(
        resource,
        {"PUT", PathOf(resource, namespace_name, name, options.subresource) + QueryOf(options),
         "application/json", std::make_shared<const Json>(std::move(object))});
  }

  ApiResult<Object> Patch(const ResourceId& resource, const std::string& namespace_name,
                          const std::string& name, local::PatchType type, const Json& patch,
                          const local::WriteOptions& options) override {
    return AskForObject(
        resource,
        {"PATCH", PathOf(resource, namespace_name, name, options.subresource) + QueryOf(options),
         ContentTypeOf(type), std::make_shared<const Json>(patch)});
  }

  ApiResult<Object> Delete(const ResourceId& resource, const std::string& namespace_name,
                           const std::string& name, const local::DeleteOptions& options) override;

  // Tells the state always: the reflector's list comes after the call.
  std::unique_ptr<local::WatchHandle> Watch(const ResourceId& resource, local::WatchFrom from,
                                            RemoteWatch::OnEvent on_event) override;

 private:
  class Handle;

  // Runs `task` on the strand and waits for its end.
  void OnStrand(const std::function<void()>& task) {
    std::promise<void> done;
    strand_->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  ApiResult<Json> Ask(kube::ApiRequest request);
  ApiResult<Named> NameOf(const ResourceId& resource);
  ApiResult<Object> AskForObject(const ResourceId& resource, kube::ApiRequest request);

  const kube::KubeConfig config_;
  net::IoPool pool_;
  std::unique_ptr<Executor> strand_;
  std::unique_ptr<kube::Transport> transport_;
  std::unique_ptr<kube::ApiClient> client_;
  std::mutex mutex_;  // guards names_
  std::map<ResourceId, Named> names_;
};

class RemoteApi::Handle final : public local::WatchHandle {
 public:
  Handle(RemoteApi& api, std::unique_ptr<RemoteWatch> watch)
      : api_(api), watch_(std::move(watch)) {}
  ~Handle() override {
    api_.OnStrand([this] { watch_.reset(); });
  }

 private:
  RemoteApi& api_;
  std::unique_ptr<RemoteWatch> watch_;
};

ApiResult<Json> RemoteApi::Ask(kube::ApiRequest request) {
  std::promise<ApiResult<Json>> answer;
  strand_->Post([&] {
    transport_->Send(std::move(request), kTimeout, [&answer](Result<kube::ApiResponse> response) {
      if (!response) return answer.set_value(NoAnswer(response.error()));
      if (response->status >= 400) return answer.set_value(ErrorOf(*response));
      answer.set_value(response->body ? *response->body : Json());
    });
  });
  return answer.get_future().get();
}

ApiResult<Named> RemoteApi::NameOf(const ResourceId& resource) {
  const std::lock_guard lock(mutex_);
  if (const auto known = names_.find(resource); known != names_.end()) return known->second;
  const ApiResult<Json> served = Ask({"GET", GroupVersionPath(resource)});
  if (!served) return served.error();
  for (const Json& each : served->value("resources", Json::array())) {
    if (each.value("name", "") != resource.resource) continue;
    const std::string kind = each.value("kind", "");
    const Named named{KindOf(resource, kind).api_version(), kind};
    names_[resource] = named;
    return named;
  }
  return ApiError{404, "NotFound", "the server has no resource " + resource.resource, Json()};
}

ApiResult<Object> RemoteApi::AskForObject(const ResourceId& resource, kube::ApiRequest request) {
  const ApiResult<Json> answer = Ask(std::move(request));
  if (!answer) return answer.error();
  const ApiResult<Named> named = NameOf(resource);
  if (!named) return named.error();
  return WithType(*answer, *named);
}

ApiResult<local::ObjectList> RemoteApi::List(const ResourceId& resource,
                                             const std::string& namespace_name,
                                             const local::ListOptions& options) {
  const ApiResult<Named> named = NameOf(resource);
  if (!named) return named.error();
  std::promise<ApiResult<local::ObjectList>> answer;
  const api::ResourceKind kind = KindOf(resource, named->kind);
  strand_->Post([&] {
    client_->List(kind, namespace_name, {options.label_selector, options.field_selector, kPageSize},
                  [&](Result<kube::ObjectList> list) {
                    if (!list) return answer.set_value(NoAnswer(list.error()));
                    local::ObjectList objects;
                    objects.resource_version = list->resource_version;
                    for (const kube::JsonPtr& item : list->items) {
                      objects.items.push_back(WithType(*item, *named));
                    }
                    answer.set_value(std::move(objects));
                  });
  });
  return answer.get_future().get();
}

ApiResult<Object> RemoteApi::Delete(const ResourceId& resource, const std::string& namespace_name,
                                    const std::string& name, const local::DeleteOptions& options) {
  Json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!options.propagation_policy.empty()) body["propagationPolicy"] = options.propagation_policy;
  if (options.grace_period_seconds >= 0) {
    body["gracePeriodSeconds"] = options.grace_period_seconds;
  }
  if (!options.precondition_uid.empty()) body["preconditions"]["uid"] = options.precondition_uid;
  if (!options.precondition_resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.precondition_resource_version;
  }
  // The answer is a Status if the object is gone, the object if it has finalizers.
  const ApiResult<Json> answer =
      Ask({"DELETE", PathOf(resource, namespace_name, name), "application/json",
           std::make_shared<const Json>(std::move(body))});
  if (!answer) return answer.error();
  return std::make_shared<const Json>(*answer);
}

std::unique_ptr<local::WatchHandle> RemoteApi::Watch(const ResourceId& resource,
                                                     local::WatchFrom /*from*/,
                                                     RemoteWatch::OnEvent on_event) {
  // A resource that is not served yet has no known kind; the reflector retries until it has.
  const ApiResult<Named> named = NameOf(resource);
  std::unique_ptr<RemoteWatch> watch;
  OnStrand([&] {
    watch = std::make_unique<RemoteWatch>(*client_, resource, named ? *named : Named{},
                                          std::move(on_event));
  });
  return std::make_unique<Handle>(*this, std::move(watch));
}

}  // namespace

Result<std::unique_ptr<local::Api>> ConnectRemoteApi(const kube::KubeConfig& config) {
  auto api = std::make_unique<RemoteApi>(config);
  BERTH_CHECK_OK(api->Connect());
  return std::unique_ptr<local::Api>(std::move(api));
}

}  // namespace berth::program
