#include "scenarios/world/embedded_api.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/yaml/yaml.h"
#include "local/apiserver/registry/in_process_api.h"
#include "program/embedded_manifests.h"
#include "scenarios/world/sim_executor.h"

namespace berth {
namespace {

using local::Json;

// The manifests that `berth up` applies, in their order.
Result<std::vector<Json>> OwnManifests() {
  std::vector<Json> all;
  for (const std::string_view text : {program::CloudManifests(), program::CrdManifests(),
                                      program::ClusterManifests(), program::WebhookManifests()}) {
    BERTH_TRY(auto documents, api::ParseYamlStream(text));
    for (api::YamlDocument& document : documents) all.push_back(std::move(document.value));
  }
  return all;
}

std::string NamespaceOf(const Json& object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return "";
  return metadata->value("namespace", "");
}

local::ApiResult<local::Object> ApplyTo(local::Registry& registry, local::Api& api,
                                        const Json& object) {
  if (!object.is_object()) return local::ApiError{400, "BadRequest", "not an object", Json()};
  const std::string api_version = object.value("apiVersion", "");
  const std::size_t slash = api_version.find('/');
  const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
  const auto resource = registry.table()->FindKind(
      group, slash == std::string::npos ? api_version : api_version.substr(slash + 1),
      object.value("kind", ""));
  if (resource == nullptr) {
    return local::ApiError{404, "NotFound",
                           "no matches for kind \"" + object.value("kind", "") +
                               "\" in version \"" + api_version + "\"",
                           Json()};
  }
  std::string namespace_name = NamespaceOf(object);
  if (resource->namespaced && namespace_name.empty()) namespace_name = "default";
  Json complete = object;
  if (resource->namespaced) complete["metadata"]["namespace"] = namespace_name;
  return api.Patch(resource->id, namespace_name, complete["metadata"].value("name", ""),
                   local::PatchType::kApply, complete, {.field_manager = "kubectl", .force = true});
}

// An API server after the setup of `berth up`. All others begin as a copy of it, since parsing and
// installing the kinds costs more than a short story.
class Ground {
 public:
  // Made on first use, for the whole process; constant afterwards.
  static const Result<std::unique_ptr<Ground>>& Get() {
    static const Result<std::unique_ptr<Ground>> ground = Make();
    return ground;
  }
  local::WatchCache::Snapshot content() const { return store_->cache().ListEverything(); }
  const local::Registry& registry() const { return *registry_; }

 private:
  static constexpr std::uint64_t kSeed = 0x61201D;  // used by no copy

  static Result<std::unique_ptr<Ground>> Make() {
    auto ground = std::make_unique<Ground>();
    BERTH_TRY(ground->store_, local::Store::Open({}));
    local::RegistryOptions options;
    options.clock = &ground->clock_;
    options.seed = kSeed;
    ground->registry_ = std::make_unique<local::Registry>(*ground->store_, std::move(options));
    const auto api = local::MakeInProcessApi(*ground->registry_, nullptr);
    BERTH_CHECK_OK(ground->registry_->Bootstrap());
    BERTH_TRY(const std::vector<Json> manifests, OwnManifests());
    for (const Json& object : manifests) {
      const auto applied = ApplyTo(*ground->registry_, *api, object);
      if (!applied) return Error{ErrorCode::kInternal, applied.error().message};
    }
    return ground;
  }

  FakeClock clock_;
  std::unique_ptr<local::Store> store_;
  std::unique_ptr<local::Registry> registry_;
};

bool IsWebhookConfiguration(const local::StoredPtr& object) {
  return object->key().resource.ends_with("webhookconfigurations.admissionregistration.k8s.io");
}

}  // namespace

EmbeddedApi::~EmbeddedApi() = default;

Result<std::unique_ptr<EmbeddedApi>> EmbeddedApi::Start(const Clock& clock,
                                                        EmbeddedApiOptions options) {
  if (!Ground::Get()) return Ground::Get().error();
  const Ground& ground = **Ground::Get();
  std::unique_ptr<EmbeddedApi> made(new EmbeddedApi);
  local::StoreOptions store;
  store.content = ground.content();
  if (options.webhooks == nullptr) std::erase_if(store.content.objects, IsWebhookConfiguration);
  BERTH_TRY(made->store_, local::Store::Open(std::move(store)));
  local::RegistryOptions registry;
  registry.clock = &clock;
  registry.seed = options.seed;
  registry.webhooks = options.webhooks;
  registry.sibling = &ground.registry();
  made->registry_ = std::make_unique<local::Registry>(*made->store_, std::move(registry));
  made->api_ = local::MakeInProcessApi(*made->registry_, options.deliver_on);
  return made;
}

local::ApiResult<local::Object> EmbeddedApi::Apply(const Json& object) {
  return ApplyTo(*registry_, *api_, object);
}

}  // namespace berth
