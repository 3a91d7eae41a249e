#include "local/apiserver/patch/managers.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxUpdaters = 10;

std::string Text(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

std::optional<Managers> ReadManagers(const Json& managed_fields) {
  Managers managers;
  if (managed_fields.is_null()) return managers;
  if (!managed_fields.is_array()) return std::nullopt;
  for (const Json& entry : managed_fields) {
    if (!entry.is_object()) return std::nullopt;
    const std::string operation = Text(entry, "operation");
    if (operation != "Apply" && operation != "Update") return std::nullopt;
    ManagedSet set;
    set.api_version = Text(entry, "apiVersion");
    set.time = Text(entry, "time");
    if (set.api_version.empty() || Text(entry, "fieldsType") != "FieldsV1") return std::nullopt;
    const auto fields = entry.find("fieldsV1");
    if (fields != entry.end() && !fields->is_null()) {
      if (!fields->is_object()) return std::nullopt;
      set.fields = FieldSet::FromFieldsV1(*fields);
    }
    ManagerKey key{.manager = Text(entry, "manager"), .subresource = Text(entry, "subresource")};
    if (operation == "Apply") {
      key.operation = Operation::kApply;
    } else {
      key.api_version = set.api_version;
    }
    managers[key] = std::move(set);
  }
  return managers;
}

Json WriteManagers(const Managers& managers) {
  if (managers.empty()) return nullptr;
  std::vector<const Managers::value_type*> order;
  for (const auto& entry : managers) order.push_back(&entry);
  // RFC 3339 in UTC sorts as text.
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const auto rank = [](const Managers::value_type& entry) {
      return std::tie(entry.first.operation, entry.second.time, entry.first.manager,
                      entry.second.api_version, entry.first.subresource);
    };
    return rank(*a) < rank(*b);
  });
  Json out = Json::array();
  for (const auto* entry : order) {
    const auto& [key, set] = *entry;
    Json item{{"operation", key.operation == Operation::kApply ? "Apply" : "Update"},
              {"apiVersion", set.api_version},
              {"fieldsType", "FieldsV1"},
              {"fieldsV1", set.fields.ToFieldsV1()}};
    if (!key.manager.empty()) item["manager"] = key.manager;
    if (!set.time.empty()) item["time"] = set.time;
    if (!key.subresource.empty()) item["subresource"] = key.subresource;
    out.push_back(std::move(item));
  }
  return out;
}

void CapUpdaters(Managers& managers) {
  std::vector<ManagerKey> updaters;
  for (const auto& [key, set] : managers) {
    if (key.operation == Operation::kUpdate) updaters.push_back(key);
  }
  std::size_t count = updaters.size();
  std::stable_sort(updaters.begin(), updaters.end(), [&](const ManagerKey& a, const ManagerKey& b) {
    return managers[a].time < managers[b].time;
  });
  std::map<std::string, ManagerKey> first_by_version;
  for (const ManagerKey& key : updaters) {
    if (count <= kMaxUpdaters) return;
    const ManagedSet set = managers[key];
    const auto [first, fresh] = first_by_version.emplace(set.api_version, key);
    if (fresh) continue;
    const ManagerKey bucket{.manager = "ancient-changes", .api_version = set.api_version};
    if (managers.count(bucket) == 0) {
      managers[bucket] = managers[first->second];
      managers.erase(first->second);
    }
    managers[bucket].fields.Add(FieldSet(set.fields));
    managers[bucket].time = set.time;
    if (key != bucket) managers.erase(key);
    --count;
  }
}

std::string ManagerText(const ManagerKey& key) {
  std::string text = GoQuote(key.manager);
  if (!key.subresource.empty()) text += " with subresource " + GoQuote(key.subresource);
  if (key.operation == Operation::kUpdate) text += " using " + key.api_version;
  return text;
}

}  // namespace berth::local
