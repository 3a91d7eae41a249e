#include "local/cluster/kubelet/data_objects.h"

#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {

Json ReadData(Api& api, const std::string& namespace_name, DataKind kind, const std::string& name,
              Entries entries) {
  const bool is_map = kind == DataKind::kConfigMap;
  const auto read = api.Get(is_map ? kConfigMaps : kSecrets, namespace_name, name);
  if (!read) return nullptr;
  Json data = (*read)->value("data", Json::object());
  if (is_map && entries == Entries::kAll) {
    const Json binary = (*read)->value("binaryData", Json::object());
    for (const auto& [key, value] : binary.items()) {
      data[key] = Base64Decode(StringAt(value, {})).value_or("");
    }
  }
  if (is_map) return data;
  for (auto& [key, value] : data.items()) {
    value = Base64Decode(StringAt(value, {})).value_or("");
  }
  return data;
}

}  // namespace berth::local::cluster
