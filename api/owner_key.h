// api/owner_key.h — joins objects with their owners by namespace and UID.
//
// An owner reference is the text of the author of the object: a reference in one namespace may name
// the UID of an object in another one. Kubernetes lets an object have owners of its own namespace
// alone (https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/), so
// a join by UID without the namespace would let a tenant pass objects off as those of another
// tenant.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "api/object_meta.h"

namespace berth::api {

// The value of an index of objects by owner: for an object, its namespace and the UID that its
// reference names; for the owner, its namespace and its UID.
inline std::string OwnerKey(std::string_view namespace_name, std::string_view uid) {
  std::string key(namespace_name);
  return key.append("/").append(uid);
}

inline std::string OwnerKey(const ObjectMeta& owner) {
  return OwnerKey(owner.namespace_name, owner.uid);
}

// Whether one of the references of `object` names `owner`, which has a namespace.
inline bool IsOwnedBy(const ObjectMeta& object, const ObjectMeta& owner) {
  return object.namespace_name == owner.namespace_name && !owner.uid.empty() &&
         std::any_of(object.owner_references.begin(), object.owner_references.end(),
                     [&owner](const OwnerReference& each) { return each.uid == owner.uid; });
}

}  // namespace berth::api
