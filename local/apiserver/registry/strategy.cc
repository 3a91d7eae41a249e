#include "local/apiserver/registry/strategy.h"

#include <map>
#include <memory>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/schema/decode.h"

namespace berth::local {
namespace {

// Whether the objects differ in their specification.
bool SpecDiffers(const ResourceInfo& resource, const Json& a, const Json& b) {
  const auto counts = [&](const std::string& key) {
    if (key == "metadata" || key == "apiVersion" || key == "kind") return false;
    return key != "status" || (resource.crd != nullptr && !resource.has_status);
  };
  for (const auto& [key, value] : a.items()) {
    if (!counts(key)) continue;
    const auto other = b.find(key);
    if (other == b.end() || *other != value) return true;
  }
  for (const auto& [key, value] : b.items()) {
    if (counts(key) && !a.contains(key)) return true;
  }
  return false;
}

// Returns the status of a new object. It has no conditions, and only those counters that Kubernetes
// never omits.
Json EmptyStatus(const ResourceInfo& resource) {
  Json status = Json::object();
  const Field* field = FindField(*resource.type, "status");
  if (field != nullptr) NormalizeBuiltin(*field->type, status);
  return status;
}

void CopyMember(Json& to, const Json& from, const char* key) {
  if (const auto it = from.find(key); it != from.end()) {
    to[key] = *it;
  } else {
    to.erase(key);
  }
}

// Gives a custom object that nobody has reported on the schema's default status, or none.
void ResetStatus(const ResourceInfo& resource, Json& object) {
  Json defaulted = Json::object();
  resource.crd_version->schema->Default(defaulted);
  CopyMember(object, defaulted, "status");
}

}  // namespace

void Strategy::PrepareForCreate(const ResourceInfo& resource, Json& object,
                                WallTime /*now*/) const {
  if (resource.has_status) {
    if (resource.crd == nullptr) {
      object["status"] = EmptyStatus(resource);
    } else {
      ResetStatus(resource, object);
    }
  }
  if (resource.tracks_generation) object["metadata"]["generation"] = 1;
}

std::vector<Cause> Strategy::Validate(const ResourceInfo& resource, const Json& object) const {
  std::vector<Cause> causes =
      ValidateMetadata(object.at("metadata"),
                       resource.namespaced ? Scope::kNamespaced : Scope::kCluster, name_rule());
  if (resource.crd_version != nullptr) {
    AppendCauses(causes, resource.crd_version->schema->Validate(object, nullptr));
  }
  return causes;
}

void Strategy::PrepareForUpdate(const ResourceInfo& resource, Json& object, const Json& old_object,
                                std::string_view subresource, WallTime /*now*/) const {
  if (subresource == "status") {
    Json status = Json();
    if (const Json* given = Member(object, "status")) status = *given;
    Json metadata = object["metadata"];
    object = old_object;
    if (resource.crd == nullptr) {
      object["metadata"] = std::move(metadata);
    } else if (const Json* managers = Member(metadata, "managedFields")) {
      object["metadata"]["managedFields"] = *managers;
    }
    if (status.is_null()) {
      object.erase("status");
    } else {
      object["status"] = std::move(status);
    }
    return;
  }
  if (resource.has_status) CopyMember(object, old_object, "status");
  if (resource.tracks_generation && SpecDiffers(resource, object, old_object)) {
    object["metadata"]["generation"] = IntAt(old_object, {"metadata", "generation"}, 0) + 1;
  }
}

std::vector<Cause> Strategy::ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                            const Json& old_object,
                                            std::string_view /*subresource*/) const {
  std::vector<Cause> causes =
      ValidateMetadata(object.at("metadata"),
                       resource.namespaced ? Scope::kNamespaced : Scope::kCluster, name_rule());
  AppendCauses(causes, ValidateMetadataUpdate(object.at("metadata"), old_object.at("metadata")));
  if (resource.crd_version != nullptr) {
    AppendCauses(causes, resource.crd_version->schema->Validate(object, &old_object));
  }
  return causes;
}

const Strategy& StrategyOf(const ResourceInfo& resource) {
  static const Strategy kPlain;
  static const std::map<std::string, std::unique_ptr<const Strategy>> kByStorage = MakeStrategies();
  const auto it = kByStorage.find(resource.storage);
  return it == kByStorage.end() ? kPlain : *it->second;
}

}  // namespace berth::local
