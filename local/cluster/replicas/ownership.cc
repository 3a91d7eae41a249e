#include "local/cluster/replicas/ownership.h"

#include "local/apiserver/schema/selector.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {

Json ControllerReferenceTo(const Json& owner) {
  return {{"apiVersion", StringAt(owner, {"apiVersion"})},
          {"kind", StringAt(owner, {"kind"})},
          {"name", NameOf(owner)},
          {"uid", UidOf(owner)},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

bool Selects(const Json* selector, const Json& object) {
  if (selector == nullptr) return false;
  const auto parsed = LabelSelectorFromJson(*selector);
  if (!parsed || parsed->empty()) return false;
  const Json* labels = Find(object, {"metadata", "labels"});
  return Matches(*parsed, labels == nullptr ? Json() : *labels);
}

Claims Claim(const Json& owner, const std::vector<Object>& objects) {
  Claims claims;
  const Json* selector = Find(owner, {"spec", "selector"});
  const std::string uid = UidOf(owner);
  for (std::size_t at = 0; at < objects.size(); ++at) {
    const Json& object = *objects[at];
    const Json* controller = ControllerRef(object);
    const bool is_selected = Selects(selector, object);
    if (controller == nullptr) {
      if (is_selected && !IsDeleting(owner) && !IsDeleting(object)) claims.adopt.push_back(at);
    } else if (StringAt(*controller, {"uid"}) == uid) {
      const bool stays = is_selected || IsDeleting(owner);
      (stays ? claims.mine : claims.release).push_back(at);
    }
  }
  return claims;
}

Json OwnersWith(const Json& object, const Json& owner) {
  Json owners = ArrayAt(object, {"metadata", "ownerReferences"});
  owners.push_back(ControllerReferenceTo(owner));
  return owners;
}

Json OwnersWithout(const Json& object, const std::string& owner_uid) {
  Json owners = Json::array();
  for (const Json& owner : ArrayAt(object, {"metadata", "ownerReferences"})) {
    if (StringAt(owner, {"uid"}) != owner_uid) owners.push_back(owner);
  }
  return owners;
}

void AddOwnerIndexes(ObjectCache& cache, const ResourceId& resource) {
  cache.AddIndex(resource, kByOwner, ControllerKeysOf);
  cache.AddIndex(resource, kOrphans, [](const Json& object) -> std::vector<std::string> {
    if (ControllerRef(object) != nullptr) return {};
    return {NamespaceOf(object)};
  });
}

std::vector<Object> OwnedAndOrphans(const ObjectCache& cache, const ResourceId& resource,
                                    const Json& owner) {
  std::vector<Object> found = cache.ByIndex(resource, kByOwner, OwnerKeyOf(owner));
  for (Object& orphan : cache.ByIndex(resource, kOrphans, NamespaceOf(owner))) {
    found.push_back(std::move(orphan));
  }
  return found;
}

}  // namespace berth::local::cluster
