#include "tests/local/support/fake_api.h"

#include <fmt/format.h>

#include "base/random.h"
#include "base/rfc3339.h"
#include "local/cluster/fields.h"

namespace berth::local::test {
namespace {

using namespace cluster;  // NOLINT: the readers of fields.h

ApiError NotFound(const ResourceId& resource, const std::string& name) {
  const std::string group = resource.group.empty() ? "" : "." + resource.group;
  return {
      404, "NotFound", fmt::format("{}{} \"{}\" not found", resource.resource, group, name), {}};
}

ApiError Conflict(const ResourceId& resource, const std::string& name) {
  return {409,
          "Conflict",
          fmt::format("Operation cannot be fulfilled on {} \"{}\": the object has been modified; "
                      "please apply your changes to the latest version and try again",
                      resource.resource, name),
          {}};
}

bool IsPod(const ResourceId& resource) {
  return resource.group.empty() && resource.resource == "pods";
}

void DefaultJob(Json& job) {
  Json& spec = job["spec"];
  if (!spec.contains("completions") && !spec.contains("parallelism")) spec["completions"] = 1;
  if (!spec.contains("parallelism")) spec["parallelism"] = 1;
  if (!spec.contains("backoffLimit")) spec["backoffLimit"] = 6;
  if (!spec.contains("completionMode")) spec["completionMode"] = "NonIndexed";
  if (!spec.contains("suspend")) spec["suspend"] = false;
  if (!spec.contains("podReplacementPolicy")) {
    spec["podReplacementPolicy"] =
        spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed";
  }
  Json& labels = spec["template"]["metadata"]["labels"];
  labels["batch.kubernetes.io/controller-uid"] = UidOf(job);
  labels["batch.kubernetes.io/job-name"] = NameOf(job);
}

// What a deletion leaves: the finalizer that stands for the propagation policy.
void AddPolicyFinalizer(Json& object, const std::string& policy) {
  if (policy != "Foreground" && policy != "Orphan") return;
  const char* finalizer = policy == "Orphan" ? "orphan" : "foregroundDeletion";
  if (!HasFinalizer(object, finalizer)) object["metadata"]["finalizers"].push_back(finalizer);
}

std::int64_t PodGrace(const Json& pod, std::int64_t asked) {
  const std::string phase = StringAt(pod, {"status", "phase"});
  if (StringAt(pod, {"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed") {
    return 0;
  }
  return asked >= 0 ? asked : IntAt(pod, {"spec", "terminationGracePeriodSeconds"}, 30);
}

}  // namespace

struct FakeApi::Watcher {
  ResourceId resource;
  bool every_kind = false;
  bool open = true;
  std::function<void(const ResourceId&, const WatchEvent&)> on_event;
};

struct FakeApi::Handle final : WatchHandle {
  explicit Handle(FakeApi& fake, std::shared_ptr<Watcher> one)
      : api(fake), watcher(std::move(one)) {}
  ~Handle() override {
    const std::lock_guard lock(api.mutex_);
    watcher->open = false;
  }
  FakeApi& api;
  std::shared_ptr<Watcher> watcher;
};

FakeApi::FakeApi(const Clock& clock) : clock_(clock) {
  AddKind({"", "v1", "pods"}, "Pod", true);
  AddKind({"", "v1", "nodes"}, "Node", false);
  AddKind({"", "v1", "namespaces"}, "Namespace", false);
  AddKind({"", "v1", "events"}, "Event", true);
  AddKind({"", "v1", "configmaps"}, "ConfigMap", true);
  AddKind({"", "v1", "secrets"}, "Secret", true);
  AddKind({"", "v1", "podtemplates"}, "PodTemplate", true);
  AddKind({"batch", "v1", "jobs"}, "Job", true);
}

FakeApi::~FakeApi() = default;

void FakeApi::AddKind(const ResourceId& resource, const std::string& kind, bool namespaced) {
  const std::lock_guard lock(mutex_);
  kinds_.push_back({resource, kind, namespaced});
}

bool FakeApi::Refused(const std::string& verb, const ResourceId& resource, ApiError& error) {
  ++write_count_;
  if (!refusal_) return false;
  const ApiError* refused = refusal_(verb, resource);
  if (refused == nullptr) return false;
  error = *refused;
  return true;
}

ApiResult<Object> FakeApi::Get(const ResourceId& resource, const std::string& namespace_name,
                               const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_[resource].find({namespace_name, name});
  if (found == objects_[resource].end()) return NotFound(resource, name);
  return found->second;
}

ApiResult<ObjectList> FakeApi::List(const ResourceId& resource, const std::string& namespace_name,
                                    const ListOptions&) {
  const std::lock_guard lock(mutex_);
  ObjectList list;
  list.resource_version = std::to_string(revision_);
  for (const auto& [key, object] : objects_[resource]) {
    if (namespace_name.empty() || key.first == namespace_name) list.items.push_back(object);
  }
  return list;
}

ApiResult<Object> FakeApi::Create(const ResourceId& resource, const std::string& namespace_name,
                                  Json object, const WriteOptions& options) {
  const std::lock_guard lock(mutex_);
  ApiError error;
  if (Refused("create", resource, error)) return error;
  if (options.subresource == "binding") {
    return Bind(resource, {namespace_name, NameOf(object)}, object);
  }
  Json& metadata = object["metadata"];
  if (NameOf(object).empty()) {
    Random random(static_cast<std::uint64_t>(next_name_++));
    metadata["name"] = StringAt(metadata, {"generateName"}) + random.NameSuffix(5);
  }
  const Key key{namespace_name, NameOf(object)};
  if (objects_[resource].count(key) != 0) {
    return ApiError{409,
                    "AlreadyExists",
                    fmt::format("{} \"{}\" already exists", resource.resource, key.second),
                    {}};
  }
  if (!namespace_name.empty()) metadata["namespace"] = namespace_name;
  metadata["uid"] = fmt::format("uid-{:04}", next_uid_++);
  metadata["creationTimestamp"] = FormatTime(clock_.Now());
  metadata["generation"] = 1;
  for (const KindInfo& kind : kinds_) {
    if (kind.id != resource) continue;
    object["kind"] = kind.kind;
    object["apiVersion"] =
        resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
  }
  if (resource.resource == "jobs") DefaultJob(object);
  if (IsPod(resource) && Find(object, {"status", "phase"}) == nullptr) {
    object["status"]["phase"] = "Pending";
  }
  return Store(resource, key, std::move(object));
}

ApiResult<Object> FakeApi::Bind(const ResourceId& resource, const Key& key, const Json& binding) {
  const auto found = objects_[resource].find(key);
  if (found == objects_[resource].end()) return NotFound(resource, key.second);
  Json pod = *found->second;
  if (const std::string node = StringAt(pod, {"spec", "nodeName"}); !node.empty()) {
    return ApiError{409,
                    "Conflict",
                    fmt::format("pod {} is already assigned to node \"{}\"", key.second, node),
                    {}};
  }
  pod["spec"]["nodeName"] = StringAt(binding, {"target", "name"});
  SetCondition(pod["status"], {"PodScheduled", "True", "", ""}, clock_.Now());
  return Store(resource, key, std::move(pod));
}

ApiResult<Object> FakeApi::Update(const ResourceId& resource, const std::string& namespace_name,
                                  const std::string& name, Json object,
                                  const WriteOptions& options) {
  const std::lock_guard lock(mutex_);
  ApiError error;
  if (Refused("update", resource, error)) return error;
  return Write(resource, {namespace_name, name}, std::move(object), options.subresource);
}

ApiResult<Object> FakeApi::Write(const ResourceId& resource, const Key& key, Json object,
                                 const std::string& subresource) {
  const auto found = objects_[resource].find(key);
  if (found == objects_[resource].end()) return NotFound(resource, key.second);
  const Json& old = *found->second;
  const std::string version = StringAt(object, {"metadata", "resourceVersion"});
  if (!version.empty() && version != StringAt(old, {"metadata", "resourceVersion"})) {
    return Conflict(resource, key.second);
  }
  Json next = old;
  if (subresource == "status") {
    next["status"] = object.value("status", Json::object());
  } else {
    next = std::move(object);
    if (subresource != "finalize" && old.contains("status")) next["status"] = old["status"];
    for (const char* fixed : {"uid", "creationTimestamp", "resourceVersion", "generation"}) {
      next["metadata"][fixed] = old["metadata"][fixed];
    }
    if (next.value("spec", Json()) != old.value("spec", Json())) {
      next["metadata"]["generation"] = IntAt(old, {"metadata", "generation"}) + 1;
    }
  }
  if (next == old) return found->second;
  const bool done = IsDeleting(next) && ArrayAt(next, {"metadata", "finalizers"}).empty() &&
                    IntAt(next, {"metadata", "deletionGracePeriodSeconds"}) == 0 &&
                    ArrayAt(next, {"spec", "finalizers"}).empty();
  if (!done) return Store(resource, key, std::move(next));
  const Object last = std::make_shared<const Json>(std::move(next));
  Erase(resource, key);
  return last;
}

ApiResult<Object> FakeApi::Patch(const ResourceId& resource, const std::string& namespace_name,
                                 const std::string& name, PatchType type, const Json& patch,
                                 const WriteOptions& options) {
  const std::lock_guard lock(mutex_);
  ApiError error;
  if (Refused("patch", resource, error)) return error;
  if (type != PatchType::kMerge) return ApiError{415, "UnsupportedMediaType", "merge only", {}};
  const auto found = objects_[resource].find({namespace_name, name});
  if (found == objects_[resource].end()) return NotFound(resource, name);
  Json object = *found->second;
  object.merge_patch(patch);
  return Write(resource, {namespace_name, name}, std::move(object), options.subresource);
}

ApiResult<Object> FakeApi::Delete(const ResourceId& resource, const std::string& namespace_name,
                                  const std::string& name, const DeleteOptions& options) {
  const std::lock_guard lock(mutex_);
  ApiError error;
  if (Refused("delete", resource, error)) return error;
  const Key key{namespace_name, name};
  const auto found = objects_[resource].find(key);
  if (found == objects_[resource].end()) return NotFound(resource, name);
  const Object old = found->second;
  if (!options.precondition_uid.empty() && options.precondition_uid != UidOf(*old)) {
    return Conflict(resource, name);
  }
  Json object = *old;
  AddPolicyFinalizer(object, options.propagation_policy);
  const std::int64_t grace = IsPod(resource) ? PodGrace(object, options.grace_period_seconds) : 0;
  const bool waits = grace > 0 || !ArrayAt(object, {"metadata", "finalizers"}).empty() ||
                     !ArrayAt(object, {"spec", "finalizers"}).empty();
  if (!waits) {
    Erase(resource, key);
    return old;
  }
  if (!IsDeleting(object) || IntAt(object, {"metadata", "deletionGracePeriodSeconds"}) > grace) {
    object["metadata"]["deletionTimestamp"] =
        FormatTime(clock_.Now() + std::chrono::seconds(grace));
    object["metadata"]["deletionGracePeriodSeconds"] = grace;
  }
  if (resource.resource == "namespaces") object["status"]["phase"] = "Terminating";
  return object == *old ? old : Store(resource, key, std::move(object));
}

std::unique_ptr<WatchHandle> FakeApi::Watch(const ResourceId& resource,
                                            std::function<void(const WatchEvent&)> on_event) {
  const std::lock_guard lock(mutex_);
  auto watcher = std::make_shared<Watcher>();
  watcher->resource = resource;
  watcher->on_event = [callback = std::move(on_event)](const ResourceId&, const WatchEvent& event) {
    callback(event);
  };
  for (const auto& [key, object] : objects_[resource]) {
    watcher->on_event(resource, {WatchEvent::Type::kAdded, object, nullptr});
  }
  watchers_.push_back(watcher);
  return std::make_unique<Handle>(*this, watcher);
}

std::vector<WholeApi::KindInfo> FakeApi::Kinds() {
  const std::lock_guard lock(mutex_);
  return kinds_;
}

std::unique_ptr<WatchHandle> FakeApi::WatchAll(
    std::function<void(const ResourceId&, const WatchEvent&)> on_event) {
  const std::lock_guard lock(mutex_);
  auto watcher = std::make_shared<Watcher>();
  watcher->every_kind = true;
  watcher->on_event = std::move(on_event);
  for (const auto& [resource, objects] : objects_) {
    for (const auto& [key, object] : objects) {
      watcher->on_event(resource, {WatchEvent::Type::kAdded, object, nullptr});
    }
  }
  watchers_.push_back(watcher);
  return std::make_unique<Handle>(*this, watcher);
}

Object FakeApi::Store(const ResourceId& resource, const Key& key, Json object) {
  object["metadata"]["resourceVersion"] = std::to_string(++revision_);
  Object& slot = objects_[resource][key];
  const Object previous = slot;
  slot = std::make_shared<const Json>(std::move(object));
  const Object stored = slot;
  Notify(resource,
         {previous ? WatchEvent::Type::kModified : WatchEvent::Type::kAdded, stored, previous});
  return stored;
}

void FakeApi::Erase(const ResourceId& resource, const Key& key) {
  const Object previous = objects_[resource].at(key);
  objects_[resource].erase(key);
  Json last = *previous;
  last["metadata"]["resourceVersion"] = std::to_string(++revision_);
  Notify(resource,
         {WatchEvent::Type::kDeleted, std::make_shared<const Json>(std::move(last)), previous});
}

void FakeApi::Notify(const ResourceId& resource, const WatchEvent& event) {
  std::erase_if(watchers_, [](const auto& watcher) { return !watcher->open; });
  for (const auto& watcher : watchers_) {
    if (watcher->every_kind || watcher->resource == resource) watcher->on_event(resource, event);
  }
}

}  // namespace berth::local::test
