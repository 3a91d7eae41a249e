#include "tests/local/support/test_api.h"

#include <utility>

#include "base/assert.h"

namespace berth::local::test {

TestApi::TestApi(const Clock& clock, Executor* deliver_on) {
  auto started = EmbeddedApi::Start(clock, {.deliver_on = deliver_on});
  BERTH_ASSERT(started.has_value());
  embedded_ = *std::move(started);
}

const ApiError* TestApi::Refused(const std::string& verb, const ResourceId& resource) {
  return refusal_ ? refusal_(verb, resource) : nullptr;
}

ApiResult<Object> TestApi::Get(const ResourceId& resource, const std::string& namespace_name,
                               const std::string& name) {
  return api().Get(resource, namespace_name, name);
}

ApiResult<ObjectList> TestApi::List(const ResourceId& resource, const std::string& namespace_name,
                                    const ListOptions& options) {
  return api().List(resource, namespace_name, options);
}

ApiResult<Object> TestApi::Create(const ResourceId& resource, const std::string& namespace_name,
                                  Json object, const WriteOptions& options) {
  if (const ApiError* refused = Refused("create", resource)) return *refused;
  if (const ResourcePtr known = embedded_->registry().table()->Find(resource);
      known != nullptr && options.subresource.empty() && !object.contains("kind")) {
    object["apiVersion"] = known->api_version();
    object["kind"] = known->kind;
  }
  return api().Create(resource, namespace_name, std::move(object), options);
}

ApiResult<Object> TestApi::CreateWithStatus(const ResourceId& resource,
                                            const std::string& namespace_name, const Json& object) {
  auto created = Create(resource, namespace_name, object, {});
  if (!created) return created;
  // A controller may write the status meanwhile.
  const std::string name = (**created)["metadata"]["name"];
  return Patch(resource, namespace_name, name, PatchType::kMerge, {{"status", object.at("status")}},
               {.subresource = "status"});
}

ApiResult<Object> TestApi::Update(const ResourceId& resource, const std::string& namespace_name,
                                  const std::string& name, Json object,
                                  const WriteOptions& options) {
  if (const ApiError* refused = Refused("update", resource)) return *refused;
  return api().Update(resource, namespace_name, name, std::move(object), options);
}

ApiResult<Object> TestApi::Patch(const ResourceId& resource, const std::string& namespace_name,
                                 const std::string& name, PatchType type, const Json& patch,
                                 const WriteOptions& options) {
  if (const ApiError* refused = Refused("patch", resource)) return *refused;
  return api().Patch(resource, namespace_name, name, type, patch, options);
}

ApiResult<Object> TestApi::Delete(const ResourceId& resource, const std::string& namespace_name,
                                  const std::string& name, const DeleteOptions& options) {
  if (const ApiError* refused = Refused("delete", resource)) return *refused;
  return api().Delete(resource, namespace_name, name, options);
}

std::unique_ptr<WatchHandle> TestApi::Watch(const ResourceId& resource, WatchFrom from,
                                            std::function<void(const WatchEvent&)> on_event) {
  return api().Watch(resource, from,
                     [this, resource, deliver = std::move(on_event)](const WatchEvent& event) {
                       {
                         const std::lock_guard lock(silent_mutex_);
                         if (silent_.contains(resource)) return;
                       }
                       deliver(event);
                     });
}

void TestApi::Silence(const ResourceId& resource) {
  const std::lock_guard lock(silent_mutex_);
  silent_.insert(resource);
}

std::vector<WholeApi::KindInfo> TestApi::Kinds() { return api().Kinds(); }

std::unique_ptr<WatchHandle> TestApi::WatchAll(
    WatchFrom from, std::function<void(const ResourceId&, const WatchEvent&)> on_event) {
  return api().WatchAll(from, std::move(on_event));
}

}  // namespace berth::local::test
