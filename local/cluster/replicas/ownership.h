// local/cluster/replicas/ownership.h — which objects a controller owns, takes over or gives up, and
// the indexes that find them.
//
// Pure but for AddOwnerIndexes. Source: Kubernetes "Controllers", controllerRef manager.
#pragma once

#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/cluster/objects/object_cache.h"

namespace berth::local::cluster {

// The ownerReference of a controller; `owner` has apiVersion and kind.
Json ControllerReferenceTo(const Json& owner);

// `selector`: a metav1.LabelSelector; one that cannot be read selects nothing.
bool Selects(const Json* selector, const Json& object);

// Positions in the list of objects that were looked at.
struct Claims {
  std::vector<std::size_t> mine;
  std::vector<std::size_t> adopt;    // selected objects without a controller
  std::vector<std::size_t> release;  // objects of the owner that the selector no longer selects
};
Claims Claim(const Json& owner, const std::vector<Object>& objects);

// The merge patch of `object` that makes `owner` its controller, and the one that removes the
// owner.
Json OwnersWith(const Json& object, const Json& owner);
Json OwnersWithout(const Json& object, const std::string& owner_uid);

// The names of two indexes: objects by their controller, and objects without a controller by
// namespace.
inline constexpr char kByOwner[] = "controller";
inline constexpr char kOrphans[] = "orphans";
void AddOwnerIndexes(ObjectCache& cache, const ResourceId& resource);

// The objects of `owner`, then those of its namespace that have no controller.
std::vector<Object> OwnedAndOrphans(const ObjectCache& cache, const ResourceId& resource,
                                    const Json& owner);

}  // namespace berth::local::cluster
