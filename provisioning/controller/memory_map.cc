#include "provisioning/controller/memory_map.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "checks/controller_names.h"

namespace berth::provisioning {

std::string MemoryTextOf(const kube::Json& config_map, const char* key) {
  const auto data = config_map.find("data");
  if (data == config_map.end() || !data->is_object()) return "";
  const auto text = data->find(key);
  return text == data->end() || !text->is_string() ? "" : text->get<std::string>();
}

void WriteMemoryMap(kube::ApiClient& client, const api::ObjectKey& name,
                    const std::string& resource_version, kube::Json object,
                    std::function<void(const Result<kube::JsonPtr>&)> written) {
  const kube::WriteOptions as{.field_manager = checks::kProvisioningCheckController};
  if (resource_version.empty()) {
    object["apiVersion"] = "v1";
    object["kind"] = "ConfigMap";
    object["metadata"]["name"] = name.name;
    object["metadata"]["namespace"] = name.namespace_name;
    return client.Create(kMemoryMap, name.namespace_name, std::move(object), as,
                         std::move(written));
  }
  object["metadata"]["resourceVersion"] = resource_version;
  client.Patch(kMemoryMap, name, kube::PatchType::kMerge, std::move(object), as,
               std::move(written));
}

}  // namespace berth::provisioning
