#include "integrations/env_names.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/result.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

// The member of an object; null: no object, or no such member.
Json* Member(Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// Returns true if a variable was dropped.
bool DropDuplicates(Json& container) {
  Json* env = Member(container, "env");
  if (env == nullptr || !env->is_array()) return false;
  std::map<std::string, std::size_t> places;  // in `kept`, by name
  Json kept = Json::array();
  for (Json& each : *env) {
    const Json* name = Member(each, "name");
    if (name == nullptr || !name->is_string()) {
      kept.push_back(std::move(each));
      continue;
    }
    const auto [place, added] = places.emplace(name->get<std::string>(), kept.size());
    if (added) {
      kept.push_back(std::move(each));
    } else {
      kept[place->second] = std::move(each);
    }
  }
  const bool dropped = kept.size() < env->size();
  *env = std::move(kept);
  return dropped;
}

}  // namespace

void DropDuplicateEnv(std::shared_ptr<const std::string>& pod_template) {
  if (pod_template == nullptr || pod_template->find("\"env\"") == std::string::npos) return;
  Result<Json> tree = api::ParseJson(*pod_template);
  Json* spec = tree ? Member(*tree, "spec") : nullptr;
  if (spec == nullptr) return;
  bool dropped = false;
  for (const char* list : {"initContainers", "containers"}) {
    Json* containers = Member(*spec, list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (Json& container : *containers) dropped |= DropDuplicates(container);
  }
  if (dropped) pod_template = std::make_shared<const std::string>(api::FormatJson(*tree));
}

}  // namespace berth::integrations
