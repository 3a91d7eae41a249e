#include "tests/faults/limit_ranges.h"

#include "local/cluster/objects/fields.h"

namespace berth::sim {
namespace {

// A default limit, or the most or least of a container, is the request where none is named.
std::set<std::string> Read(const nlohmann::json& object) {
  std::set<std::string> resources;
  for (const auto& limit : local::cluster::ArrayAt(object, {"spec", "limits"})) {
    for (const char* field : {"defaultRequest", "default", "max", "min"}) {
      const nlohmann::json* amounts = local::cluster::Find(limit, {field});
      if (amounts == nullptr) continue;
      for (const auto& [resource, amount] : amounts->items()) resources.insert(resource);
    }
  }
  return resources;
}

}  // namespace

void LimitRanges::See(const Key& key, const nlohmann::json* object) {
  ranges_.erase(key);
  if (object == nullptr) return;
  const auto& resources = ranges_[key] = Read(*object);
  ever_[key.first].insert(resources.begin(), resources.end());
}

std::set<std::string> LimitRanges::Resources(const std::string& namespace_name) const {
  std::set<std::string> all;
  for (const auto& [key, resources] : ranges_) {
    if (key.first == namespace_name) all.insert(resources.begin(), resources.end());
  }
  return all;
}

bool LimitRanges::EverNamed(const std::string& namespace_name, const std::string& resource) const {
  const auto found = ever_.find(namespace_name);
  return found != ever_.end() && found->second.contains(resource);
}

}  // namespace berth::sim
