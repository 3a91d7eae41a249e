#include "local/apiserver/registry/in_process_api.h"

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/registry/watch_hub.h"

namespace berth::local {
namespace {

class InProcessApi final : public WholeApi {
 public:
  InProcessApi(Registry& registry, Executor* deliver_on)
      : registry_(registry), hub_(registry.store(), deliver_on) {}

  ApiResult<Object> Get(const ResourceId& resource, const std::string& namespace_name,
                        const std::string& name) override;
  ApiResult<ObjectList> List(const ResourceId& resource, const std::string& namespace_name,
                             const ListOptions& options) override;
  ApiResult<Object> Create(const ResourceId& resource, const std::string& namespace_name,
                           Json object, const WriteOptions& options) override;
  ApiResult<Object> Update(const ResourceId& resource, const std::string& namespace_name,
                           const std::string& name, Json object,
                           const WriteOptions& options) override;
  ApiResult<Object> Patch(const ResourceId& resource, const std::string& namespace_name,
                          const std::string& name, PatchType type, const Json& patch,
                          const WriteOptions& options) override;
  ApiResult<Object> Delete(const ResourceId& resource, const std::string& namespace_name,
                           const std::string& name, const DeleteOptions& options) override;
  std::unique_ptr<WatchHandle> Watch(const ResourceId& resource, WatchFrom from,
                                     std::function<void(const WatchEvent&)> on_event) override;
  std::vector<KindInfo> Kinds() override;
  std::unique_ptr<WatchHandle> WatchAll(
      WatchFrom from, std::function<void(const ResourceId&, const WatchEvent&)> on_event) override;

 private:
  ApiResult<RequestContext> Context(const ResourceId& resource, const std::string& namespace_name,
                                    const std::string& name, const WriteOptions& options) const;

  Registry& registry_;
  WatchHub hub_;
};

ApiResult<RequestContext> InProcessApi::Context(const ResourceId& resource,
                                                const std::string& namespace_name,
                                                const std::string& name,
                                                const WriteOptions& options) const {
  RequestContext context;
  context.table = registry_.table();
  context.resource = context.table->Find(resource);
  if (context.resource == nullptr) return UnknownPathStatus();
  if (context.resource->namespaced) context.namespace_name = namespace_name;
  context.name = name;
  context.subresource = options.subresource;
  if (!options.field_manager.empty()) context.manager = options.field_manager;
  context.dry_run = options.dry_run;
  if (options.wait == WriteWait::kSubmitted) context.wait_for = WaitFor::kSubmitted;
  return context;
}

ApiResult<Object> FromWrite(ApiResult<WriteResult> result) {
  if (!result) return result.error();
  return result->object;
}

ApiResult<Object> InProcessApi::Get(const ResourceId& resource, const std::string& namespace_name,
                                    const std::string& name) {
  auto context = Context(resource, namespace_name, name, {});
  if (!context) return context.error();
  auto stored = registry_.Get(*context);
  if (!stored) return stored.error();
  Object object = (*stored)->json();
  if (object == nullptr) return InternalStatus("the stored object cannot be read");
  return object;
}

ApiResult<ObjectList> InProcessApi::List(const ResourceId& resource,
                                         const std::string& namespace_name,
                                         const ListOptions& options) {
  auto context = Context(resource, namespace_name, "", {});
  if (!context) return context.error();
  ReadQuery query;
  auto labels = ParseLabelSelector(options.label_selector);
  if (!labels) return labels.error();
  query.labels = std::move(*labels);
  auto fields = ParseFieldSelector(options.field_selector);
  if (!fields) return fields.error();
  query.fields = std::move(*fields);
  auto found = registry_.List(*context, query);
  if (!found) return found.error();
  ObjectList list;
  list.resource_version = std::to_string(found->revision);
  for (const StoredPtr& item : found->items) {
    if (Object object = item->json()) list.items.push_back(std::move(object));
  }
  return list;
}

ApiResult<Object> InProcessApi::Create(const ResourceId& resource,
                                       const std::string& namespace_name, Json object,
                                       const WriteOptions& options) {
  const std::string name = options.subresource.empty() ? "" : NameOf(object);
  auto context = Context(resource, namespace_name, name, options);
  if (!context) return context.error();
  if (options.subresource.empty())
    return FromWrite(registry_.Create(*context, {std::move(object), {}}));
  auto done = registry_.CreateSubresource(*context, {std::move(object), {}});
  if (!done) return done.error();
  return Object(std::make_shared<const Json>(std::move(*done)));
}

ApiResult<Object> InProcessApi::Update(const ResourceId& resource,
                                       const std::string& namespace_name, const std::string& name,
                                       Json object, const WriteOptions& options) {
  auto context = Context(resource, namespace_name, name, options);
  if (!context) return context.error();
  return FromWrite(registry_.Update(*context, {std::move(object), {}}));
}

ApiResult<Object> InProcessApi::Patch(const ResourceId& resource, const std::string& namespace_name,
                                      const std::string& name, PatchType type, const Json& patch,
                                      const WriteOptions& options) {
  auto context = Context(resource, namespace_name, name, options);
  if (!context) return context.error();
  return FromWrite(registry_.Patch(*context, {type, {patch, {}}, options.force}));
}

ApiResult<Object> InProcessApi::Delete(const ResourceId& resource,
                                       const std::string& namespace_name, const std::string& name,
                                       const DeleteOptions& options) {
  auto context = Context(resource, namespace_name, name, {});
  if (!context) return context.error();
  auto deleted = registry_.Delete(*context, options);
  if (!deleted) return deleted.error();
  return deleted->object;
}

std::unique_ptr<WatchHandle> InProcessApi::Watch(const ResourceId& resource, WatchFrom from,
                                                 std::function<void(const WatchEvent&)> on_event) {
  const ResourcePtr known = registry_.table()->Find(resource);
  // The custom kind may be installed later: its storage name is derived from the group.
  const std::string storage = known == nullptr ? QualifiedResource(resource) : known->storage;
  return hub_.Add(storage, from,
                  [on_event = std::move(on_event)](const ObjectKey& /*key*/,
                                                   const WatchEvent& event) { on_event(event); });
}

std::vector<WholeApi::KindInfo> InProcessApi::Kinds() {
  std::vector<KindInfo> kinds;
  const auto table = registry_.table();
  for (const ResourcePtr& resource : table->all()) {
    if (!resource->Allows('l') || !resource->Allows('d')) continue;
    if (table->FindStored(resource->storage) != resource) continue;
    kinds.push_back({resource->id, resource->kind, resource->namespaced});
  }
  return kinds;
}

std::unique_ptr<WatchHandle> InProcessApi::WatchAll(
    WatchFrom from, std::function<void(const ResourceId&, const WatchEvent&)> on_event) {
  return hub_.Add(
      "", from,
      [this, on_event = std::move(on_event)](const ObjectKey& key, const WatchEvent& event) {
        const ResourcePtr resource = registry_.table()->FindStored(key.resource);
        if (resource != nullptr) on_event(resource->id, event);
      });
}

}  // namespace

std::unique_ptr<WholeApi> MakeInProcessApi(Registry& registry, Executor* deliver_on) {
  return std::make_unique<InProcessApi>(registry, deliver_on);
}

}  // namespace berth::local
