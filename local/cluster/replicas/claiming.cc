#include "local/cluster/replicas/claiming.h"

#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {

Status WriteOwners(Writer& writer, const ResourceId& resource, const Json& object,
                   const Json& owners) {
  return Settled(writer.Edit(resource, KeyOf(object), UidOf(object), "", [&](Json& one) {
    one["metadata"]["ownerReferences"] = owners;
    return true;
  }));
}

Status WriteRevision(Writer& writer, const ResourceId& owners, const Json& owner,
                     const std::optional<Json>& create, const std::optional<Json>& change) {
  if (change) return Settled(writer.Replace(kControllerRevisions, "", *change));
  if (!create) return OkStatus();
  const auto created = writer.Create(kControllerRevisions, NamespaceOf(owner), *create);
  if (created) return OkStatus();
  if (created.error().reason != "AlreadyExists") return ToError(created.error());
  BERTH_CHECK_OK(Settled(writer.EditStatus(owners, KeyOf(owner), UidOf(owner), [](Json& one) {
    one["status"]["collisionCount"] = IntAt(one, {"status", "collisionCount"}) + 1;
    return true;
  })));
  return Error{ErrorCode::kConflict, "revision " + NameOf(*create) + " exists"};
}

}  // namespace berth::local::cluster
